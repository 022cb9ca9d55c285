"""A freeze of some names: a loop leaves these alone and does the rest."""

from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from registry_app.models import Finding, Freeze, LoopRun, Owner
from tests.faults import write_faults
from tests.registry_app.loop.world import (
    API,
    OLD,
    PARKED,
    WWW,
    names_changed,
    open_parking,
    owned,
    run,
    wanted,
)

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status


def _freeze_meanwhile(name: str) -> None:
    _freeze(names=[name])


def _freeze(**values: Any) -> Freeze:
    now = timezone.now()
    return Freeze.objects.create(
        **{"reason": "Change stop.", "starts_at": now, "created_by": "alice", **values}
    )


def test_what_is_frozen_is_left_alone_with_the_reason_and_the_rest_is_done() -> None:
    with open_parking([*owned(WWW), *owned(OLD)]) as world:
        _freeze(names=[OLD])

        ended = run(world, [wanted(WWW, "192.0.2.9"), wanted(OLD, "192.0.2.9"), wanted(API)])

        assert ended.status == STATUS.VERIFIED
        assert world.zone()[WWW, "A"].targets == ("192.0.2.9",)
        assert world.zone()[OLD, "A"].targets == ("192.0.2.1",)
        assert [(each["name"], each["reason"]) for each in ended.left_alone] == [
            (OLD, f"{OLD} is frozen (Change stop.).")
        ]
        assert Finding.objects.get(kind=Finding.Kind.LOOP_STUCK).severity == Finding.Severity.INFO


def test_a_frozen_name_is_neither_created_nor_deleted() -> None:
    with open_parking(owned(OLD)) as world:
        _freeze(name_suffixes=["example.org"])

        ended = run(world, [wanted(API)])

        assert (ended.status, ended.left_alone_count) == (STATUS.UNCHANGED, 2)
        assert world.change_sets() == []


def test_a_freeze_of_the_owner_refuses_the_run() -> None:
    with open_parking() as world:
        _freeze(owner=Owner.objects.get(owner_id=PARKED))

        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.REFUSED
        assert "Everything of parked is frozen" in ended.reason
        assert world.change_sets() == []


@pytest.mark.parametrize(
    "values", [{"owner": "blue-cluster"}, {"kind": "pin"}, {"kind": "pin", "names": [WWW]}]
)
def test_a_pin_and_what_is_of_another_owner_stop_nothing(values: dict[str, Any]) -> None:
    with open_parking() as world:
        if "owner" in values:
            values = {**values, "owner": Owner.objects.get(owner_id=values["owner"])}
        _freeze(**values)

        ended = run(world, [wanted(WWW)])

        assert (ended.status, ended.left_alone) == (STATUS.VERIFIED, [])


def test_what_is_frozen_while_it_runs_is_left_alone_from_the_next_batch_on() -> None:
    with open_parking(batch_size=1) as world:
        world.reference.faults.plan("POST /records", write_faults.meanwhile(partial(_freeze_meanwhile, WWW)))

        ended = run(world, [wanted(API), wanted(WWW)])

        assert [names_changed(each) for each in world.change_sets()] == [{(API, "A"), (f"a-{API}", "TXT")}]
        assert [each["name"] for each in ended.left_alone] == [WWW]
