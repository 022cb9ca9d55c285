"""Deletes that look like an accident wait for a person (rule G10)."""

from pathlib import Path

import msgspec
import pytest

from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.guard.decide_held_deletes import (
    HeldSelection,
    keep_held_deletes,
    release_held_deletes,
)
from registry_app.models import GuardDecision, GuardEndpoint, GuardRule, HeldDelete
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import make_administrator
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.transfer.world import make_actor

pytestmark = pytest.mark.django_db(transaction=True)
ENFORCE = GuardEndpoint.Mode.ENFORCE
STATUS = HeldDelete.Status
RULE = GuardRule


def _known(guard: Guarded, **values: object) -> None:
    """Its first change set was taken before."""
    GuardEndpoint.objects.filter(pk=guard.endpoint.pk).update(first_changes_at=fetch_now(), **values)


def _records(zone: list[Endpoint]) -> list[Endpoint]:
    return [each for each in zone if each.record_type != "TXT"]


def _held() -> dict[str, int]:
    rows = HeldDelete.objects.filter(status=STATUS.HELD)
    return {rule: rows.filter(rule=rule).count() for rule in rows.values_list("rule", flat=True)}


def test_deletes_above_the_share_are_held_and_the_instance_becomes_quiet(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 20)
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard)
        before = guard.reference.zone_bytes()
        with Instance(Settings(guard.url, "blue-cluster"), _records(zone)[:13]) as instance:
            results = [instance.run_once() for _ in range(3)]

        assert guard.reference.zone_bytes() == before
    assert [result.outcome for result in results] == [Outcome.CHANGED, Outcome.QUIET, Outcome.QUIET]
    assert _held() == {RULE.DELETE_SHARE: 7}
    assert set(GuardDecision.objects.values_list("outcome", flat=True)) == {"held"}


def test_deletes_below_the_share_go_through_until_the_window_is_full(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 20)
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard)
        with Instance(Settings(guard.url, "blue-cluster"), _records(zone)[:16]) as instance:
            instance.run_once()
            after_four = len(list(guard.reference.backend.records()))
            instance.desired = _records(zone)[:13]
            instance.run_once()
            after_seven = len(list(guard.reference.backend.records()))

    assert (after_four, after_seven) == (32, 32)
    assert _held() == {RULE.DELETE_SHARE: 3}


def test_a_released_delete_happens_and_a_kept_one_does_not(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 20)
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard)
        with Instance(Settings(guard.url, "blue-cluster"), _records(zone)[2:]) as instance:
            GuardEndpoint.objects.update(most_deletes=1)
            instance.run_once()
            HeldDelete.objects.filter(name="app-00000.example.org").update(status=STATUS.RELEASED)
            HeldDelete.objects.filter(name="app-00001.example.org").update(status=STATUS.KEPT)
            results = [instance.run_once() for _ in range(2)]
        left = {each.dns_name for each in guard.reference.backend.records()}

    assert [result.outcome for result in results] == [Outcome.CHANGED, Outcome.QUIET]
    assert "app-00000.example.org" not in left
    assert {"app-00001.example.org", "a-app-00001.example.org"} <= left
    assert sorted(HeldDelete.objects.values_list("status", flat=True)) == [STATUS.DELETED, STATUS.KEPT]


def test_what_was_released_by_mistake_can_be_kept_until_the_instance_deletes_it(tmp_path: Path) -> None:
    zone, root = make_zone("blue-cluster", 20), make_actor(make_administrator())
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard, most_deletes=1)
        before = guard.reference.zone_bytes()
        selection = HeldSelection(guard_endpoint=guard.endpoint)
        with Instance(Settings(guard.url, "blue-cluster"), _records(zone)[2:]) as instance:
            instance.run_once()
            release_held_deletes(root, selection, reason="The shop is closed.")
            kept = keep_held_deletes(root, selection, reason="It is not.")
            result = instance.run_once()

        assert guard.reference.zone_bytes() == before
    assert (kept.count, result.outcome) == (2, Outcome.QUIET)
    assert set(HeldDelete.objects.values_list("status", flat=True)) == {STATUS.KEPT}


def test_a_held_delete_ends_when_the_instance_wants_the_name_again(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 20)
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard, most_deletes=1)
        with Instance(Settings(guard.url, "blue-cluster"), _records(zone)[2:]) as instance:
            instance.run_once()
            instance.desired = _records(zone)[1:]
            result = instance.run_once()

    assert result.outcome is Outcome.QUIET
    rows = dict(HeldDelete.objects.values_list("name", "status"))
    assert rows == {"app-00000.example.org": STATUS.HELD, "app-00001.example.org": STATUS.WANTED}


@pytest.mark.parametrize(
    ("kept", "is_known", "rule"),
    [(19, False, RULE.FIRST_CONTACT), (0, True, RULE.EMPTY_SET)],
)
def test_deletes_at_first_contact_and_after_an_empty_desired_set_are_held(
    tmp_path: Path, kept: int, is_known: bool, rule: str
) -> None:
    zone = make_zone("blue-cluster", 20)
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        if is_known:
            _known(guard)
        before = guard.reference.zone_bytes()
        with Instance(Settings(guard.url, "blue-cluster"), _records(zone)[:kept]) as instance:
            instance.run_once()
            quiet = instance.run_once()

        assert guard.reference.zone_bytes() == before
    assert quiet.outcome is Outcome.QUIET
    assert _held() == {rule: 20 - kept}


def test_the_delete_of_everything_is_held_however_little_it_is(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 3)
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard)
        new = make_record("new.example.org")
        with Instance(Settings(guard.url, "blue-cluster"), [new]) as instance:
            instance.run_once()
        names = {each.dns_name for each in guard.reference.backend.records()}

    assert _held() == {RULE.DELETE_ALL: 3}
    assert {"new.example.org", "app-00000.example.org"} <= names


def test_a_replaced_type_is_no_delete(tmp_path: Path) -> None:
    names = [f"app-{number}.example.org" for number in range(12)]
    zone = [each for name in names for each in (make_record(name), make_claim(name))]
    desired = [make_record(name, "CNAME", ("lb.example.net",)) for name in names]
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard)
        with Instance(Settings(guard.url, "blue-cluster"), desired) as instance:
            results = [instance.run_once() for _ in range(2)]
        kinds = {each.record_type for each in guard.reference.backend.records()}

    assert [result.outcome for result in results] == [Outcome.CHANGED, Outcome.QUIET]
    assert kinds == {"CNAME", "TXT"}
    assert not HeldDelete.objects.exists()


def test_an_instance_that_is_refused_whole_batches_gets_503_and_lives(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 20)
    new = make_record("new.example.org")
    with guarded(tmp_path, zone, mode=ENFORCE, refuses_batch=True) as guard:
        before = guard.reference.zone_bytes()
        with Instance(Settings(guard.url, "blue-cluster"), [*_records(zone)[:10], new]) as instance:
            first = instance.run_once()
            unchanged = guard.reference.zone_bytes() == before
            second = instance.run_once()
        names = {each.dns_name for each in guard.reference.backend.records()}

    # The held names come back as they are, so that the rest can go.
    assert (first.outcome, second.outcome) == (Outcome.SOFT_ERROR, Outcome.CHANGED)
    assert unchanged
    assert {"new.example.org", "app-00019.example.org"} <= names


def test_what_has_a_claim_of_the_old_format_alone_is_given_back_so_that_it_stays(tmp_path: Path) -> None:
    names = [f"app-{number}.example.org" for number in range(3)]
    claims = [msgspec.structs.replace(make_claim(name), dns_name=name) for name in names]
    zone = [*(make_record(name) for name in names), *claims]
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        _known(guard)
        before = guard.reference.zone_bytes()
        with Instance(Settings(guard.url, "blue-cluster"), []) as instance:
            outcomes = [instance.run_once().outcome for _ in range(3)]

        assert guard.reference.zone_bytes() == before
    assert outcomes == [Outcome.CHANGED, Outcome.QUIET, Outcome.QUIET]
