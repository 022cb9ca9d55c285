"""What is refused before anybody is asked to approve it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry_app.errors import InvalidRequest, NotFound, RefusedBySafety
from registry_app.models import Owner, Provider, RecordSet, RegistryProfile, Transfer
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.transfer_request import Selection
from tests.factories import make_provider
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_alice,
    open_world,
    plan,
    register_owner,
    request,
    request_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_request_that_makes_no_sense_names_the_field() -> None:
    alice = make_alice()
    rows: list[tuple[dict[str, Any], str]] = [
        ({"kind": "steal"}, "kind"),
        ({"kind": "undo"}, "kind"),
        ({"target_owner_id": ""}, "target_owner_id"),
        ({"target_owner_id": "nobody"}, "target_owner_id"),
        ({"target_owner_id": BLUE}, "target_owner_id"),
        ({"target_intent": "maybe"}, "target_intent"),
        ({"selection": Selection()}, "selection"),
        ({"selection": Selection(names=("no name",))}, "names"),
        ({"selection": Selection(names=tuple(f"n{n}.example.org" for n in range(10_001)))}, "names"),
        ({"selection": Selection(claim_ids=(1,))}, "claim_ids"),
        ({"kind": "clean_up", "selection": Selection(record_set_ids=(1,))}, "record_set_ids"),
        ({"kind": "release", "target_owner_id": GREEN}, "target_owner_id"),
        ({"reason": "  "}, "reason"),
    ]
    with open_world():
        for values, field in rows:
            with pytest.raises(InvalidRequest) as refused:
                request_reviewed(alice, ask(**values))

            assert field in refused.value.fields, values

        assert not Transfer.objects.exists()


def test_what_is_not_there_is_not_found() -> None:
    alice = make_alice()
    with open_world():
        for selection in (Selection(record_set_ids=(999_999,)), Selection(names=("not.example.org",))):
            with pytest.raises(NotFound):
                preview_transfer(alice, ask(selection=selection))


def test_a_provider_may_say_no() -> None:
    alice = make_alice()
    rows: list[tuple[dict[str, Any], str]] = [
        ({"is_enabled": False}, "provider_disabled"),
        ({"status": Provider.Status.HELD}, "snapshot_held"),
        ({"status": Provider.Status.FAILING}, "provider_failing"),
        ({"max_transfer_count": 9}, "too_many"),
        ({"max_transfer_percent": 99}, "too_large_a_share"),
    ]
    with open_world() as world:
        for values, code in rows:
            before = {name: getattr(world.provider, name) for name in values}
            Provider.objects.filter(pk=world.provider.pk).update(**values)

            with pytest.raises(RefusedBySafety) as refused:
                request_reviewed(alice, ask())

            assert refused.value.code == code
            assert refused.value.todo, code
            Provider.objects.filter(pk=world.provider.pk).update(**before)


def test_what_just_reaches_its_limits_is_asked_for() -> None:
    alice = make_alice()
    with open_world() as world:
        limits = {"max_transfer_count": 10, "max_transfer_percent": 100}
        Provider.objects.filter(pk=world.provider.pk).update(**limits)

        transfer = request(alice, ask())

        assert transfer.item_count == 10


def test_a_mirror_that_is_too_old_is_no_ground_for_a_plan() -> None:
    alice = make_alice()
    with open_world() as world:
        long_ago = timezone.now() - timedelta(days=1)
        Provider.objects.filter(pk=world.provider.pk).update(accepted_at=long_ago, last_sync_at=long_ago)

        assert [each.code for each in plan(alice, ask()).refusals] == ["mirror_stale"]


def test_a_decommissioned_owner_gets_nothing() -> None:
    alice = make_alice()
    with open_world():
        register_owner(GREEN, status=Owner.Status.DECOMMISSIONED)

        assert [each.code for each in plan(alice, ask()).refusals] == ["target_decommissioned"]


def test_a_target_whose_claims_could_not_be_read_back_gets_nothing() -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="elsewhere", prefix="x-")
    profile.providers.add(make_provider("another"))
    with open_world():
        register_owner(GREEN, registry_profile=profile)

        assert [each.code for each in plan(alice, ask()).refusals] == ["profile_not_here"]


def test_a_key_that_is_not_available_is_a_refusal() -> None:
    alice = make_alice()
    with open_world():
        profile = RegistryProfile.objects.create(name="sealed", encryption_key="env:DNSADMIN_CREDENTIAL_NONE")
        register_owner(GREEN, registry_profile=profile)

        assert [each.code for each in plan(alice, ask()).refusals] == ["secret_unavailable"]


@pytest.mark.parametrize("intent", ["unknown", "not_wanted"])
def test_a_risky_verdict_needs_the_exact_text(intent: str) -> None:
    alice = make_alice()
    with open_world():
        register_owner(GREEN, policy="sync")
        found = plan(alice, ask(target_intent=intent))
        assert found.confirmation_text == "transfer 10 record sets to green-cluster"

        with pytest.raises(RefusedBySafety) as refused:
            request_reviewed(alice, ask(target_intent=intent, confirmation="yes"))

        assert refused.value.code == "confirmation_needed"
        assert found.confirmation_text in refused.value.todo
        request(alice, ask(target_intent=intent, confirmation=f" {found.confirmation_text} "))


def test_record_sets_picked_by_id_must_all_be_fit() -> None:
    alice = make_alice()
    with open_world([*make_zone(BLUE, 3), make_record("free.example.org")]):
        every = tuple(RecordSet.objects.values_list("pk", flat=True))

        found = plan(alice, ask(selection=Selection(record_set_ids=every)))

        assert [each.code for each in found.refusals] == ["unmanaged"]


def test_a_sweep_leaves_out_what_is_not_fit_and_says_so() -> None:
    alice = make_alice()
    with open_world([*make_zone(BLUE, 3), make_record("free.example.org")]):
        transfer = request(alice, ask(selection=Selection(name_suffix="example.org")))

        assert transfer.item_count == 3
        assert [each["name"] for each in transfer.left_out] == ["free.example.org"]


def test_what_is_unknown_is_never_written() -> None:
    alice = make_alice()
    zone = [
        make_record("www.example.org"),
        make_record("a-www.example.org", "TXT", ('"heritage=external-dns,external-dns/resource=x"',)),
    ]
    with open_world(zone) as world:
        assert world.owner_of("www.example.org") == "unknown"

        for kind in ("transfer", "adopt", "release", "reformat"):
            found = plan(alice, ask(kind, Selection(names=("www.example.org",))))
            assert [each.code for each in found.refusals] == ["unknown_owner"], kind


def test_a_name_is_part_of_one_open_transfer_at_a_time() -> None:
    alice = make_alice()
    with open_world(approval_policy="other_person"):
        request(alice, ask(selection=Selection(names=("app-00001.example.org",))))

        one = plan(alice, ask(selection=Selection(names=("APP-00001.example.org.",))))
        rest = request(alice, ask())

        assert [each.code for each in one.refusals] == ["in_open_transfer"]
        assert rest.item_count == 9


def test_one_request_makes_one_transfer_for_each_provider() -> None:
    alice = make_alice()
    with open_world(), open_world(make_zone(BLUE, 2, domain="example.net"), name="second-zone"):
        found = preview_transfer(alice, ask(target_intent="unknown"))
        text = "transfer 12 record sets to green-cluster"
        assert {each.confirmation_text for each in found} == {text}

        transfers = request_reviewed(alice, ask(target_intent="unknown", confirmation=text))

        assert sorted(each.item_count for each in transfers) == [2, 10]
        assert len({each.group for each in transfers}) == 1


def test_one_refusal_at_one_provider_stores_nothing_anywhere() -> None:
    alice = make_alice()
    with open_world(), open_world(make_zone(BLUE, 2, domain="example.net"), name="second-zone") as second:
        Provider.objects.filter(pk=second.provider.pk).update(status=Provider.Status.HELD)

        with pytest.raises(RefusedBySafety):
            request_reviewed(alice, ask())

        assert not Transfer.objects.exists()


def test_record_sets_of_the_target_are_left_out_without_a_refusal() -> None:
    alice = make_alice()
    zone = [*make_zone(BLUE, 2), make_record("g.example.org"), make_claim("g.example.org", owner=GREEN)]
    with open_world(zone):
        every = tuple(RecordSet.objects.values_list("pk", flat=True))

        found = plan(alice, ask(selection=Selection(record_set_ids=every)))

        assert found.refusals == ()
        assert [each.problem_code for each in found.left_out] == ["already_there"]


def test_what_externaldns_cannot_own_is_not_adopted() -> None:
    alice = make_alice()
    with open_world([make_record("www.example.org", "CAA", ('0 issue "ca.example.net"',))]):
        found = plan(alice, ask("adopt", Selection(names=("www.example.org",))))

        assert [item.problem_code for item in found.left_out] == ["unclaimable_type"]


def test_what_the_provider_no_longer_shows_is_not_written() -> None:
    alice = make_alice()
    with open_world():
        row = RecordSet.objects.get(name="app-00000.example.org")
        RecordSet.objects.filter(pk=row.pk).update(missing_since=timezone.now(), missing_snapshots=1)

        found = plan(alice, ask(selection=Selection(record_set_ids=(row.pk,))))

        assert [item.problem_code for item in found.left_out] == ["missing"]
