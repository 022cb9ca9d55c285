"""Findings about instances behind the guard: one owner id twice, claims of another id, changes outside."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from providers.wire.change_set import ChangeSet
from registry_app import tasks
from registry_app.models import (
    ContentionCheck,
    DesiredSet,
    Finding,
    GuardDecision,
    GuardEndpoint,
    Owner,
    Provider,
)
from tests.factories import make_instance
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.guard.test_contention import two_instances
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db(transaction=True)
WWW, CLAIM = make_record(), make_claim()
MOVED = make_record(targets=("192.0.2.9",))
KIND = Finding.Kind
ENFORCE = GuardEndpoint.Mode.ENFORCE


def _note(provider: Provider) -> None:
    """What the sweep has done for a provider."""
    ContentionCheck.objects.update(milliseconds=0)
    tasks.check_contention(provider.pk)


def _list_open(kind: str) -> list[Finding]:
    rows = Finding.objects.filter(kind=kind).exclude(state=Finding.State.RESOLVED)
    return list(rows.order_by("name", "pk"))


def test_two_instances_with_one_owner_id_that_want_different_targets_are_named(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, CLAIM), second_owner="blue-cluster") as two:
        two.blue.adjust([WWW])
        two.green.adjust([MOVED])
        _note(two.provider)
        (found,) = _list_open(KIND.DUPLICATE_OWNER)
        two.green.adjust([WWW])
        _note(two.provider)
        agreed = _list_open(KIND.DUPLICATE_OWNER)

    assert "blue (guard endpoint blue) and west (guard endpoint green)" in found.explanation
    assert found.details == {"guard_endpoints": ["blue", "green"], "names": ["www.example.org"], "count": 1}
    assert (found.owner, agreed) == (Owner.objects.get(owner_id="blue-cluster"), [])


def test_one_owner_id_with_disjoint_names_or_a_stale_set_is_no_finding(tmp_path: Path) -> None:
    with two_instances(tmp_path, second_owner="blue-cluster") as two:
        two.blue.adjust([WWW])
        two.green.adjust([make_record("other.example.org")])
        _note(two.provider)
        disjoint = _list_open(KIND.DUPLICATE_OWNER)
        two.green.adjust([MOVED])
        DesiredSet.objects.filter(guard_endpoint__slug="green").update(
            last_seen_at=timezone.now() - timedelta(days=1)
        )
        _note(two.provider)

    assert (disjoint, _list_open(KIND.DUPLICATE_OWNER)) == ([], [])


@pytest.mark.parametrize(
    ("mode", "effect"), [("enforce", "The guard refuses them."), ("observe", "they are sent all the same")]
)
def test_claims_of_another_owner_id_name_the_guard_endpoint(tmp_path: Path, mode: str, effect: str) -> None:
    with guarded(tmp_path, mode=mode) as guard:
        guard.adjust([WWW])
        guard.apply(create=(WWW, make_claim(owner="green-cluster")))
        _note(guard.endpoint.provider)
        (found,) = _list_open(KIND.FOREIGN_CLAIM)
        GuardDecision.objects.update(last_at=timezone.now() - timedelta(days=2))
        _note(guard.endpoint.provider)

    assert "guard endpoint blue signs with another owner id than blue-cluster" in found.explanation
    assert "Its claim names green-cluster, not blue-cluster." in found.explanation
    assert effect in found.explanation
    assert _list_open(KIND.FOREIGN_CLAIM) == []


def test_another_fault_of_a_claim_is_not_another_owner_id(tmp_path: Path) -> None:
    with guarded(tmp_path, mode=ENFORCE) as guard:
        guard.apply(create=(make_claim("nothing.example.org"),))
        _note(guard.endpoint.provider)

    assert GuardDecision.objects.filter(rule="claim").exists()
    assert _list_open(KIND.FOREIGN_CLAIM) == []


def _change_outside(guard: Guarded) -> None:
    guard.reference.backend.apply(ChangeSet(update_old=(WWW,), update_new=(MOVED,)))
    sync(guard.endpoint.provider)
    _note(guard.endpoint.provider)


def test_a_change_that_did_not_pass_the_guard_is_found(tmp_path: Path) -> None:
    with guarded(tmp_path, (WWW, CLAIM), mode=ENFORCE) as guard:
        guard.adjust([WWW])
        guard.apply(create=(make_record("new.example.org"), make_claim("new.example.org")))
        sync(guard.endpoint.provider)
        _note(guard.endpoint.provider)
        through = _list_open(KIND.CHANGED_OUTSIDE)
        _change_outside(guard)
        (found,) = _list_open(KIND.CHANGED_OUTSIDE)
        Finding.objects.update(last_seen_at=timezone.now() - timedelta(days=8))
        _note(guard.endpoint.provider)

    assert through == []
    assert (found.name, found.record_type) == ("www.example.org", "A")
    assert "www.example.org A of blue-cluster was changed" in found.explanation
    assert _list_open(KIND.CHANGED_OUTSIDE) == []


def test_what_appears_and_disappears_outside_is_found_too(tmp_path: Path) -> None:
    new = (make_record("new.example.org"), make_claim("new.example.org"))
    zone = [WWW, CLAIM, *(make_record(f"{n}.example.org") for n in range(12))]
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        guard.adjust([WWW])
        guard.reference.backend.apply(ChangeSet(create=new, delete=(WWW, CLAIM)))
        sync(guard.endpoint.provider)
        _note(guard.endpoint.provider)

    found = [(each.name, each.details["change"]) for each in _list_open(KIND.CHANGED_OUTSIDE)]
    assert found == [("new.example.org", "appeared"), ("www.example.org", "vanished")]


def test_it_is_no_finding_while_an_instance_of_the_owner_is_not_behind_the_guard(tmp_path: Path) -> None:
    with guarded(tmp_path, (WWW, CLAIM), mode=ENFORCE) as guard:
        guard.adjust([WWW])
        make_instance(Owner.objects.get(owner_id="blue-cluster"), "beside")
        _change_outside(guard)

    assert _list_open(KIND.CHANGED_OUTSIDE) == []


def test_it_is_no_finding_while_the_guard_sends_nothing(tmp_path: Path) -> None:
    with guarded(tmp_path, (WWW, CLAIM), mode=GuardEndpoint.Mode.DRY_RUN) as guard:
        guard.adjust([WWW])
        _change_outside(guard)

    assert _list_open(KIND.CHANGED_OUTSIDE) == []


def test_what_changed_before_the_guard_was_in_front_is_no_finding(tmp_path: Path) -> None:
    with guarded(tmp_path, (WWW, CLAIM), mode=GuardEndpoint.Mode.DRY_RUN) as guard:
        guard.adjust([WWW])
        guard.reference.backend.apply(ChangeSet(update_old=(WWW,), update_new=(MOVED,)))
        sync(guard.endpoint.provider)
        guard.endpoint.mode = ENFORCE
        guard.endpoint.save()
        _note(guard.endpoint.provider)

    assert _list_open(KIND.CHANGED_OUTSIDE) == []


def test_findings_of_a_deleted_guard_endpoint_are_resolved(tmp_path: Path) -> None:
    with guarded(tmp_path, (WWW, CLAIM), mode=ENFORCE) as guard:
        guard.adjust([WWW])
        guard.apply(create=(make_record("x.example.org"), make_claim("x.example.org", owner="green-cluster")))
        _change_outside(guard)
        kinds = {each.kind for each in Finding.objects.filter(state="open")}
        GuardEndpoint.objects.all().delete()
        _note(guard.endpoint.provider)

    assert kinds >= {KIND.FOREIGN_CLAIM, KIND.CHANGED_OUTSIDE}
    assert _list_open(KIND.FOREIGN_CLAIM) == _list_open(KIND.CHANGED_OUTSIDE) == []
