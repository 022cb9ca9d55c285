"""What an instance posted through the guard decides the verdict of a transfer, not what a person states."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from providers.wire.endpoint import Endpoint
from registry_app.errors import ConfirmationNeeded
from registry_app.guard.desired_set import store_desired_set
from registry_app.models import DesiredSet, Freeze, GuardEndpoint, Instance, Transfer, TransferItem
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_instance
from tests.reference_server import make_record, make_zone
from tests.registry_app.transfer.world import (
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    register_owner,
    request,
)

pytestmark = pytest.mark.django_db(transaction=True)
VERDICT, INTENT, STATUS = TransferItem.Verdict, Transfer.TargetIntent, Transfer.Status
MINE = "app-00000.example.org"
CURRENT, *OTHERS = [each for each in make_zone("blue-cluster", 10) if each.record_type != "TXT"]


@pytest.fixture
def world() -> Iterator[World]:
    with open_world() as opened:
        yield opened


def _guard(world: World, policy: str = "sync") -> GuardEndpoint:
    """A guard endpoint for the only instance of green-cluster."""
    instance = make_instance(register_owner(GREEN), "green", policy=policy)
    return GuardEndpoint.objects.create(slug="green", provider=world.provider, instance=instance)


def _want(endpoint: GuardEndpoint, *endpoints: Endpoint) -> None:
    store_desired_set(endpoint, endpoints, 0)


def _preview(intent: str = INTENT.SAME) -> tuple[str, str]:
    (plan,) = preview_transfer(make_alice(), ask(target_intent=intent))
    (item,) = [item for item in plan.items if item.name == MINE]
    return item.verdict, item.verdict_reason


def _another(record_type: str = "A", targets: Iterable[str] = ("192.0.2.99",)) -> Endpoint:
    return make_record(MINE, record_type, tuple(targets))


@pytest.mark.parametrize(
    ("policy", "wanted", "verdict", "reason"),
    [
        ("sync", [CURRENT], VERDICT.NO_OP, "wants it with the same values"),
        ("sync", [_another()], VERDICT.RETARGET, "from 192.0.2.1 to 192.0.2.99"),
        ("sync", [], VERDICT.DELETE, "does not want it: its next sync deletes it"),
        ("unknown", [], VERDICT.DELETE, "does not want it: its next sync deletes it"),
        ("sync", [_another("CNAME", ["lb.example.net"])], VERDICT.RETARGET, "wants CNAME at this name"),
        ("upsert-only", [], VERDICT.NO_OP, "never deletes"),
        ("create-only", [_another()], VERDICT.NO_OP, "changes nothing"),
    ],
)
def test_the_desired_set_decides_whatever_a_person_states(
    world: World, policy: str, wanted: list[Endpoint], verdict: str, reason: str
) -> None:
    _want(_guard(world, policy), *wanted)

    found = {_preview(intent) for intent in INTENT.values}

    assert {value for value, _ in found} == {verdict}
    assert all(reason in text for _, text in found)


def test_a_stale_desired_set_is_not_believed(world: World) -> None:
    endpoint = _guard(world)
    _want(endpoint)
    row = DesiredSet.objects.get()
    DesiredSet.objects.update(last_seen_at=row.last_seen_at - timedelta(hours=1))

    assert _preview(INTENT.SAME)[0] == VERDICT.NO_OP


def test_an_instance_without_a_guard_endpoint_is_judged_by_what_a_person_states(world: World) -> None:
    _want(_guard(world), CURRENT)
    other = make_instance(register_owner(GREEN), "green-2", policy="sync", cluster=None)
    Instance.objects.filter(pk=other.pk).update(domain_include=["example.org"])

    assert _preview(INTENT.NOT_WANTED)[0] == VERDICT.DELETE


def _request() -> Transfer:
    """The provider asks for no other person's approval: it is approved at once."""
    return request(make_alice(), ask(target_intent=INTENT.SAME))


def test_a_verdict_that_changed_after_the_review_ends_the_transfer_unsent(world: World) -> None:
    endpoint = _guard(world)
    _want(endpoint, CURRENT, *OTHERS)
    transfer = _request()
    _want(endpoint, _another(), *OTHERS)

    run_transfer(transfer.pk)

    transfer.refresh_from_db()
    assert transfer.status == STATUS.STALE
    assert "What the instance green of green-cluster wants changed" in transfer.status_reason
    assert world.change_sets() == []


def test_another_desired_set_with_the_same_verdicts_changes_nothing(world: World) -> None:
    endpoint = _guard(world)
    _want(endpoint, CURRENT, *OTHERS)
    transfer = _request()
    _want(endpoint, CURRENT, *OTHERS, make_record("elsewhere.example.org"))

    run_transfer(transfer.pk)

    transfer.refresh_from_db()
    assert transfer.status == STATUS.VERIFIED


def _pin(**values: Any) -> Freeze:
    now = timezone.now()
    return Freeze.objects.create(
        **{"kind": "pin", "names": [MINE], "reason": "Stop.", "starts_at": now, "created_by": "al", **values}
    )


@pytest.mark.parametrize(
    ("mode", "wanted", "verdict"),
    [
        ("enforce", [], VERDICT.KEPT),
        ("enforce", [_another()], VERDICT.KEPT),
        ("enforce", [CURRENT], VERDICT.NO_OP),
        ("observe", [], VERDICT.DELETE),
    ],
)
def test_what_is_pinned_is_kept_by_a_guard_that_enforces(
    world: World, mode: str, wanted: list[Endpoint], verdict: str
) -> None:
    endpoint = _guard(world)
    GuardEndpoint.objects.update(mode=mode)
    _want(endpoint, *wanted)
    _pin()

    found, reason = _preview()

    assert found == verdict
    if verdict == VERDICT.KEPT:
        assert f"The guard keeps it from the instance green of green-cluster: {MINE} is pinned" in reason
        assert "When that is over: The instance green of green-cluster" in reason


def test_what_is_kept_only_while_it_is_pinned_is_confirmed_by_typing_and_ends_unsent_without_the_pin(
    world: World,
) -> None:
    _guard(world)
    GuardEndpoint.objects.update(mode="enforce")
    pin = _pin()
    asked = ask(selection=Selection(owner_id="blue-cluster", names=(MINE,)), target_intent=INTENT.OTHER)

    with pytest.raises(ConfirmationNeeded):
        request(make_alice(), asked)
    transfer = request(make_alice(), replace(asked, confirmation="transfer 1 record set to green-cluster"))
    pin.delete()
    run_transfer(transfer.pk)

    transfer.refresh_from_db()
    assert transfer.items.get().verdict == VERDICT.KEPT
    assert transfer.status == STATUS.STALE
    assert "frozen or pinned, changed after this was reviewed" in transfer.status_reason
    assert world.change_sets() == []
