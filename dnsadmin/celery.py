"""The Celery application, and which task runs when. What is due is in rows, as is the work itself."""

import gc
import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, before_task_publish, heartbeat_sent, worker_init, worker_ready

# `expires`: messages that pile up while no worker listens are dropped, not worked off one by one.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {"task": "registry_app.tasks.tick", "schedule": 3.0, "options": {"expires": 3}},
    "sweep": {"task": "registry_app.tasks.sweep", "schedule": 15.0, "options": {"expires": 15}},
    "expire-transfers": {
        "task": "registry_app.tasks.expire_transfers",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "purge-deleted": {
        "task": "registry_app.tasks.purge_deleted",
        "schedule": 15.0,
        "options": {"expires": 15},
    },
    "checkpoint-audit": {
        "task": "registry_app.tasks.checkpoint_audit",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "export-registries": {
        "task": "registry_app.tasks.export_registries",
        "schedule": 600.0,
        "options": {"expires": 600},
    },
    "check-invariants": {
        "task": "registry_app.tasks.check_invariants",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "purge": {"task": "registry_app.tasks.purge", "schedule": 3600.0, "options": {"expires": 3600}},
}

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")

app = Celery("dnsadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = BEAT_SCHEDULE
app.autodiscover_tasks(["registry_app"])


@worker_init.connect
def _check_before_first_task(**_options: Any) -> None:
    """Before the first task: was the database restored while no worker ran, and is the clock right?"""
    from django.db import connections

    from registry_app.reconcile.clock_check import note_clock
    from registry_app.restore.note_restore import note_restore_if_any

    note_clock()
    note_restore_if_any()
    connections.close_all()  # the processes that are forked next must not share one
    # What is loaded now stays: to walk it at a collection takes a tenth of a second, in the middle of a sync.
    gc.collect()
    gc.freeze()


@worker_ready.connect
def _serve_beside_a_worker(**_options: Any) -> None:
    """After its processes are forked."""
    _serve_operations("DNSADMIN_WORKER_OPERATIONS_PORT")


@heartbeat_sent.connect
def _note_worker(**_options: Any) -> None:
    """Celery sends one every two seconds, from the parent of a worker's processes."""
    from registry_app.queries.heartbeat import note_heartbeat

    note_heartbeat("worker")


@beat_init.connect
def _serve_beside_the_scheduler(**_options: Any) -> None:
    _serve_operations("DNSADMIN_BEAT_OPERATIONS_PORT")
    # Others send tasks, too: here it is the schedule that goes on.
    before_task_publish.connect(_note_scheduler)


def _note_scheduler(**_options: Any) -> None:
    from registry_app.queries.heartbeat import note_heartbeat

    note_heartbeat("beat")


def _serve_operations(setting: str) -> None:
    from django.conf import settings

    from dnsadmin.operations import OperationsApplication, serve_operations

    if port := getattr(settings, setting):
        application = OperationsApplication(is_private=True)
        serve_operations(settings.DNSADMIN_OPERATIONS_LISTEN, port, application)
