"""Loops that run by themselves: found by the tick when they are due, and only then."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from celery import current_app
from django.conf import settings
from django.db import connection
from django.utils import timezone

from providers.wire.change_set import ChangeSet
from registry_app import tasks
from registry_app.inventory.declared import declare_endpoint
from registry_app.loop.loop_run import purge_loop_runs
from registry_app.loop.run_loop import run_loop
from registry_app.models import Freeze, Loop, LoopRun, Provider
from registry_app.queries.loop import due_loops
from registry_app.reconcile.lease import take_lease
from tests.factories import make_administrator
from tests.faults import write_faults
from tests.registry_app.loop.world import (
    API,
    PARKED,
    WWW,
    declare,
    let_time_pass,
    open_parking,
    run_declared,
    wanted,
)
from tests.registry_app.transfer.world import make_actor

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status


@pytest.fixture
def _at_once() -> Iterator[None]:
    """Celery works off what rings at once, in this process."""
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.mark.usefixtures("_at_once")
def test_a_tick_runs_what_is_due_and_the_next_one_leaves_it_alone() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])

        tasks.tick()
        tasks.tick()

        assert world.zone()[WWW, "A"].targets == ("192.0.2.1",)
        run = loop.runs.get()
        assert (run.status, run.trigger, run.requested_by) == (STATUS.VERIFIED, "schedule", "dnsadmin")
        assert world.owner_of(WWW) == PARKED
        assert len(world.change_sets()) == 1


@pytest.mark.usefixtures("_at_once")
def test_what_somebody_else_changed_is_put_right_by_the_next_run() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        tasks.tick()
        mine = tuple(each for each in world.reference.endpoints() if each.dns_name.endswith(WWW))
        world.reference.backend.apply(ChangeSet(delete=mine))

        let_time_pass()
        tasks.tick()

        assert world.zone()[WWW, "A"].targets == ("192.0.2.1",)
        assert [each.created for each in loop.runs.order_by("pk")] == [1, 1]


def test_a_task_that_starts_before_its_time_runs_nothing() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)], next_run_at=timezone.now() + timedelta(hours=1))

        run_loop(loop.pk)

        assert not loop.runs.exists()
        assert world.change_sets() == []


def test_what_is_declared_while_it_runs_is_made_by_the_next_run_at_once() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        alice = make_actor(make_administrator("alice"))
        endpoint = {"name": API, "record_type": "A", "targets": ["192.0.2.1"]}

        def declare_more() -> None:
            declare_endpoint(alice, loop.pk, endpoint)
            connection.close()  # the provider's thread has its own

        world.reference.faults.plan("POST /records", write_faults.meanwhile(declare_more))

        run_loop(loop.pk)
        assert due_loops() == [loop.pk]
        run_loop(loop.pk)

        assert {(WWW, "A"), (API, "A")} <= set(world.zone())
        assert due_loops() == []


def test_a_loop_is_due_only_where_it_may_run() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        assert due_loops() == [loop.pk]

        Loop.objects.update(is_enabled=False)
        switched_off = due_loops()
        Loop.objects.update(is_enabled=True, next_run_at=timezone.now() + timedelta(minutes=1))
        waiting = due_loops()
        Loop.objects.update(next_run_at=timezone.now() + timedelta(days=400))
        put_off_by_a_wrong_clock = due_loops()
        Provider.objects.update(is_enabled=False)
        unsynced = due_loops()
        Provider.objects.update(is_enabled=True)
        take_lease(world.provider.pk, "a sync")
        busy = due_loops()

        assert (switched_off, waiting, unsynced, busy) == ([], [], [], [])
        assert put_off_by_a_wrong_clock == [loop.pk]


def test_a_loop_that_fails_runs_more_and_more_seldom_and_then_as_before() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)], interval_seconds=60)
        Freeze.objects.create(reason="change stop", starts_at=timezone.now(), created_by="dora")

        waits: list[timedelta] = []
        for _ in range(3):
            assert run_declared(loop).status == STATUS.REFUSED
            loop.refresh_from_db()
            assert loop.next_run_at is not None
            waits.append(loop.next_run_at - timezone.now())
        Freeze.objects.all().delete()
        assert run_declared(loop).status == STATUS.VERIFIED
        loop.refresh_from_db()

        assert waits[0] < waits[1] < waits[2]
        assert loop.consecutive_failures == 0
        assert loop.next_run_at is not None
        assert loop.next_run_at - timezone.now() < timedelta(seconds=70)


def test_old_runs_go_but_the_last_of_each_loop_and_what_is_not_over() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        for _ in range(3):
            run_declared(loop)
        open_run = loop.runs.order_by("pk")[0]
        LoopRun.objects.filter(pk=open_run.pk).update(status=STATUS.RUNNING)
        LoopRun.objects.update(started_at=timezone.now() - settings.DNSADMIN_RETENTION_RUNS * 2)
        last = loop.runs.order_by("-pk")[0]

        purged = purge_loop_runs()

        assert purged == 1
        assert set(LoopRun.objects.values_list("pk", flat=True)) == {open_run.pk, last.pk}
