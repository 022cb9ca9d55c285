"""What is frozen or pinned stays as it is, whatever an instance wants, and the instance becomes quiet."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from providers.wire.endpoint import Endpoint
from registry_app.models import Freeze, GuardDecision, GuardEndpoint, GuardRule, Owner
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.guard.serving import Guarded, guarded

pytestmark = pytest.mark.django_db(transaction=True)
ENFORCE = GuardEndpoint.Mode.ENFORCE
ZONE = make_zone("blue-cluster", 5)
DESIRED = [each for each in ZONE if each.record_type != "TXT"]
PINNED, OTHER = (each.dns_name for each in DESIRED[:2])
ELSEWHERE = ("192.0.2.77",)


def _freeze(**values: Any) -> Freeze:
    now = timezone.now()
    return Freeze.objects.create(
        **{"kind": "pin", "reason": "Change stop.", "starts_at": now, "created_by": "alice", **values}
    )


def _records(guard: Guarded) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(each.dns_name, each.record_type): each.targets for each in guard.reference.backend.records()}


def _moved(*names: str) -> list[Endpoint]:
    """What the instance has, with other targets at these names."""
    return [
        make_record(each.dns_name, targets=ELSEWHERE, ttl=each.record_ttl) if each.dns_name in names else each
        for each in DESIRED
    ]


def _loops(guard: Guarded, desired: list[Endpoint], count: int = 2) -> list[Outcome]:
    with Instance(Settings(guard.url, "blue-cluster"), desired) as instance:
        return [instance.run_once().outcome for _ in range(count)]


@pytest.mark.parametrize("kind", ["pin", "freeze"])
def test_a_pinned_name_keeps_its_values_and_the_instance_is_quiet_after_one_loop(
    tmp_path: Path, kind: str
) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        _freeze(kind=kind, names=[PINNED])
        outcomes = _loops(guard, _moved(PINNED, OTHER))
        found = _records(guard)

    assert outcomes == [Outcome.CHANGED, Outcome.QUIET]
    assert found[PINNED, "A"] == DESIRED[0].targets
    assert found[OTHER, "A"] == ELSEWHERE
    assert not GuardDecision.objects.exists()


def test_a_pinned_name_is_not_deleted_and_none_is_created_there(tmp_path: Path) -> None:
    new = make_record("new.example.org", ttl=0)
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        _freeze(names=[PINNED, new.dns_name])
        before = guard.reference.zone_bytes()
        outcomes = _loops(guard, [*DESIRED[1:], new], 1)

        assert guard.reference.zone_bytes() == before
    assert outcomes == [Outcome.QUIET]


def test_a_pin_is_of_every_type_at_the_name(tmp_path: Path) -> None:
    beside = make_record(PINNED, "AAAA", ("2001:db8::1",), ttl=0)
    instead = make_record(OTHER, "CNAME", ("lb.example.net",), ttl=0)
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        _freeze(names=[PINNED, OTHER])
        before = guard.reference.zone_bytes()
        outcomes = _loops(guard, [DESIRED[0], beside, instead, *DESIRED[2:]], 1)

        assert guard.reference.zone_bytes() == before
    assert outcomes == [Outcome.QUIET]


def test_a_suffix_with_a_dot_is_of_what_is_below_it_alone(tmp_path: Path) -> None:
    zone = [
        each
        for name in ("shop.example.org", "www.shop.example.org")
        for each in (make_record(name), make_claim(name))
    ]
    wanted = [
        make_record(name, targets=ELSEWHERE, ttl=0) for name in ("shop.example.org", "www.shop.example.org")
    ]
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _freeze(name_suffixes=[".shop.example.org"])
        outcomes = _loops(guard, wanted)
        found = _records(guard)

    assert outcomes == [Outcome.CHANGED, Outcome.QUIET]
    assert found["shop.example.org", "A"] == ELSEWHERE
    assert found["www.shop.example.org", "A"] == zone[2].targets


def test_all_that_is_given_must_match(tmp_path: Path) -> None:
    green = Owner.objects.create(owner_id="green-cluster")
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        _freeze(owner=green)
        _freeze(owner=green, names=[PINNED])
        _freeze(owner=guard.endpoint.instance.owner, names=["else.example.org"])
        outcomes = _loops(guard, _moved(PINNED))

    assert outcomes == [Outcome.CHANGED, Outcome.QUIET]


def test_a_pin_of_the_owner_is_of_all_that_its_instance_wants(tmp_path: Path) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        pin = _freeze(owner=guard.endpoint.instance.owner)
        stays = _loops(guard, _moved(PINNED), 1)
        pin.delete()
        moves = _loops(guard, _moved(PINNED), 1)

    assert (stays, moves) == ([Outcome.QUIET], [Outcome.CHANGED])


def test_a_change_that_was_planned_before_is_refused_with_the_reason(tmp_path: Path) -> None:
    old, claim = ZONE[0], make_claim(PINNED)
    with guarded(tmp_path, [old, claim], mode=ENFORCE) as guard:
        _freeze(names=[PINNED])
        answer = guard.apply(
            update_old=(old, claim), update_new=(make_record(PINNED, targets=ELSEWHERE), claim)
        )
        found = _records(guard)

    decision = GuardDecision.objects.get()
    assert answer.status_code == 204
    assert found[PINNED, "A"] == old.targets
    assert (decision.name, decision.rule) == (PINNED, GuardRule.FROZEN)
    assert decision.reason == f"{PINNED} is pinned (Change stop.)."
