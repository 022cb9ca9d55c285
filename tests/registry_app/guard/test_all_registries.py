"""Whose a record set is says its registry, whichever that is."""

from pathlib import Path

import msgspec
import pytest
import requests

from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_change_set
from registry_app.clock import fetch_now
from registry_app.models import GuardDecision, GuardEndpoint, GuardRule, Instance, Owner
from tests.registry_app.guard.serving import serve_guard
from tests.registry_app.transfer.two_registries import KINDS, RECORDS, Two, open_two
from tests.registry_app.transfer.world import BLUE, GREEN

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True), pytest.mark.one_database]
_TYPED = {"Content-Type": WEBHOOK_MEDIA_TYPE}


def _register(two: Two, owner_id: str) -> str:
    owner = Owner.objects.get(owner_id=owner_id)
    instance = owner.instances.first() or Instance.objects.create(owner=owner, name=owner_id)
    GuardEndpoint.objects.create(
        slug=owner_id,
        provider=two.world.provider,
        instance=instance,
        mode=GuardEndpoint.Mode.ENFORCE,
        first_changes_at=fetch_now(),
    )
    return owner_id


@pytest.mark.parametrize("kind", KINDS)
def test_its_owner_may_change_it_and_another_may_not(tmp_path: Path, kind: str) -> None:
    with open_two(kind, "txt") as two, serve_guard(tmp_path / "copies.json") as url:
        old = next(each for each in two.world.reference.endpoints() if each.record_type == "A")
        new = msgspec.structs.replace(old, targets=("203.0.113.7",))
        body = encode_change_set(ChangeSet(update_old=(old,), update_new=(new,)))
        before = two.world.reference.endpoints()

        green = requests.post(f"{url}/{_register(two, GREEN)}/records", body, headers=_TYPED, timeout=60)
        stayed = two.world.reference.endpoints() == before
        blue = requests.post(f"{url}/{_register(two, BLUE)}/records", body, headers=_TYPED, timeout=60)
        now = {(each.dns_name, each.record_type): each.targets for each in two.world.reference.endpoints()}

        assert (green.status_code, blue.status_code) == (204, 204)
        assert stayed
        assert now[old.dns_name, "A"] == ("203.0.113.7",)
        assert two.claims().keys() == {
            (each.dns_name, each.record_type, each.set_identifier) for each in RECORDS
        }
    rules = GuardDecision.objects.values_list("guard_endpoint__slug", "rule")
    assert list(rules) == [(GREEN, GuardRule.NOT_OWNER)]
