"""A guard killed with -9 at every named point.

What it sent is settled by reading, and the instance's repeated request is safe.
"""

from pathlib import Path

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import decode_change_set_strict, encode_change_set
from registry_app.clock import fetch_now
from registry_app.guard.session import finish_guard_steps
from registry_app.models import GuardEndpoint, GuardStep
from registry_app.queries.guard_endpoint import list_providers_with_steps_left
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.loop.world import let_time_pass
from tests.registry_app.transfer.forking import Forks

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = GuardStep.Status
BEFORE_SENDING = ["guard.stored", "guard.marked"]
AFTER_SENDING = ["guard.sent", "guard.answered", "guard.read_back", "guard.settled"]
OLD = (make_record(), make_claim())
NEW = (make_record(targets=("192.0.2.9",)), make_claim())
CHANGES = ChangeSet(
    create=(make_record("new.example.org"), make_claim("new.example.org")),
    update_old=OLD,
    update_new=NEW,
)


def _sent(guard: Guarded) -> list[ChangeSet]:
    found = guard.reference.history.requests("POST /records")
    return [decode_change_set_strict(each.body, max_items=100) for each in found]


def _raise_if_not_as_asked(guard: Guarded) -> None:
    found = {(each.dns_name, each.record_type): each.targets for each in guard.reference.backend.records()}
    assert found["www.example.org", "A"] == ("192.0.2.9",)
    assert ("new.example.org", "A") in found
    assert len(found) == 4


@pytest.mark.parametrize("crash_at", [*BEFORE_SENDING, *AFTER_SENDING])
def test_the_instances_repeated_request_is_safe(forks: Forks, tmp_path: Path, crash_at: str) -> None:
    with guarded(tmp_path, OLD, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        body = encode_change_set(CHANGES)

        assert forks.act("guard_changes", "blue", body.decode(), crash_at=crash_at).was_killed
        let_time_pass()
        answer = guard.post("/records", body)

        assert answer.status_code == 204
        assert len(_sent(guard)) == 1
        _raise_if_not_as_asked(guard)
    assert not GuardStep.objects.filter(status__in=("stored", "sending", "answered", "unknown")).exists()


@pytest.mark.parametrize(
    ("crash_at", "status"),
    [
        ("guard.stored", STATUS.NOT_SENT),
        ("guard.marked", STATUS.INCOMPLETE),
        *((each, STATUS.VERIFIED) for each in AFTER_SENDING[:-1]),
    ],
)
def test_where_the_instance_never_comes_again_a_worker_settles_it(
    forks: Forks, tmp_path: Path, crash_at: str, status: str
) -> None:
    with guarded(tmp_path, OLD, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        body = encode_change_set(CHANGES).decode()

        assert forks.act("guard_changes", "blue", body, crash_at=crash_at).was_killed
        let_time_pass()
        left = list_providers_with_steps_left(fetch_now())
        finish_guard_steps(guard.endpoint.provider_id)

        assert left == [guard.endpoint.provider_id]
        assert list_providers_with_steps_left(fetch_now()) == []
        assert len(_sent(guard)) == (crash_at in AFTER_SENDING)
    assert GuardStep.objects.get().status == status
