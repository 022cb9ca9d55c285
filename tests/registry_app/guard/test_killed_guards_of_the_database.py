"""A guard killed at every named point, where the claims are in the database: no record set is without its
owner then, and no owner without a record set."""

from pathlib import Path

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_change_set
from registry_app.clock import fetch_now
from registry_app.guard.session import finish_guard_steps
from registry_app.models import DatabaseClaim, GuardStep
from registry_app.queries.guard_endpoint import list_providers_with_steps_left
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.providers.planning.planned import wanted
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.keeping import kept, list_rows
from tests.registry_app.guard.serving import Guarded
from tests.registry_app.loop.world import let_time_pass
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.transfer.forking import Forks

pytestmark = [pytest.mark.django_db(transaction=True)]
BLUE = "blue-cluster"
POINTS = [f"guard.{each}" for each in ("stored", "marked", "sent", "answered", "read_back", "settled")]
OLD = ("old.example.org", "A")
WWW = ("www.example.org", "A")
NEW = ("new.example.org", "A")
_CHANGES = ChangeSet(
    create=(make_record(NEW[0]), make_claim(NEW[0])),
    update_old=(make_record(WWW[0]), make_claim(WWW[0])),
    update_new=(make_record(WWW[0], targets=("192.0.2.9",)), make_claim(WWW[0])),
    delete=(make_record(OLD[0]), make_claim(OLD[0])),
)


def _begin(guard: Guarded) -> None:
    """Two record sets of the instance."""
    with Instance(Settings(guard.url, BLUE), [wanted(WWW[0]), wanted(OLD[0])]) as blue:
        assert blue.run_once().outcome is Outcome.CHANGED


def _owners(guard: Guarded) -> dict[tuple[str, str], str]:
    """Whose each record set of the zone is, by a sync."""
    sync(guard.endpoint.provider)
    rows = guard.endpoint.provider.record_sets.filter(missing_since__isnull=True).select_related("owner")
    return {(row.name, row.record_type): row.owner.owner_id if row.owner else "" for row in rows}


def _raise_if_one_is_without_the_other(guard: Guarded) -> None:
    zone = {(each.dns_name, each.record_type) for each in guard.reference.backend.records()}
    owners = _owners(guard)

    assert owners == dict.fromkeys(zone, BLUE)
    settled = {key for key, (_, is_claim) in list_rows().items() if is_claim}
    assert settled - zone == set()


@pytest.mark.parametrize("crash_at", POINTS)
def test_each_record_set_has_its_owner_at_once_and_the_repeated_request_is_safe(
    forks: Forks, tmp_path: Path, crash_at: str
) -> None:
    with kept(tmp_path, []) as guard:
        _begin(guard)
        body = encode_change_set(_CHANGES)

        assert forks.act("guard_changes", "blue", body.decode(), crash_at=crash_at).was_killed
        rows = list_rows()
        zone = {(each.dns_name, each.record_type) for each in guard.reference.backend.records()}
        let_time_pass()
        answer = guard.post("/records", body)

        assert zone <= rows.keys()
        assert rows.keys() - zone <= {NEW, OLD}
        assert answer.status_code == 204
        assert len(guard.reference.history.requests("POST /records")) == 2
        assert list_rows() == {WWW: (BLUE, True), NEW: (BLUE, True)}
        _raise_if_one_is_without_the_other(guard)


@pytest.mark.parametrize("crash_at", POINTS[:-1])
def test_where_the_instance_never_comes_again_a_worker_settles_it(
    forks: Forks, tmp_path: Path, crash_at: str
) -> None:
    with kept(tmp_path, []) as guard:
        _begin(guard)
        body = encode_change_set(_CHANGES).decode()

        assert forks.act("guard_changes", "blue", body, crash_at=crash_at).was_killed
        let_time_pass()
        finish_guard_steps(guard.endpoint.provider_id)

        assert list_providers_with_steps_left(fetch_now()) == []
        was_sent = crash_at not in POINTS[:2]
        assert len(guard.reference.history.requests("POST /records")) == 1 + was_sent
        _raise_if_one_is_without_the_other(guard)
    intents = DatabaseClaim.objects.filter(meant_targets__isnull=False).count()
    # Marked as being sent, it may arrive yet: then it has its owner.
    assert intents == (crash_at == "guard.marked")
    assert not GuardStep.objects.filter(status__in=("stored", "sending", "answered", "unknown")).exists()
