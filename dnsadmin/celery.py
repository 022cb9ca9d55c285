"""The Celery application. The work itself is in database rows."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_init

from dnsadmin.beat_schedule import BEAT_SCHEDULE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")

app = Celery("dnsadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = BEAT_SCHEDULE
app.autodiscover_tasks(["registry_app"])


@worker_init.connect
def _look_first(**_options: Any) -> None:
    """Before the first task: was the database restored while no worker ran, and is the clock right?"""
    from django.db import connections

    from registry_app.reconcile.clock_check import note_clock
    from registry_app.restore.note_restore import note_restore_if_any

    note_clock()
    note_restore_if_any()
    connections.close_all()  # the processes that are forked next must not share one
