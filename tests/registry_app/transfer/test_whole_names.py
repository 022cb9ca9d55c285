"""A transfer moves whole names: what is picked takes the other types of its owner at the name with it.

An instance that owns only a part of a name deletes it where it wants another type there, and creates nothing.
"""

from collections.abc import Iterable

import pytest

from providers.planning.plan import PlanSettings, compute_plan
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.pairing import pair
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.errors import ConfirmationNeeded
from registry_app.models import RecordSet, Transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    plan,
    register_owner,
    request,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

WWW = "www.example.org"
INTENT = Transfer.TargetIntent


def _zone(*kinds: str, owner: str = BLUE, name: str = WWW, set_identifier: str = "") -> list[Endpoint]:
    targets = {
        "A": "192.0.2.1",
        "AAAA": "2001:db8::1",
        "MX": "10 mail.example.org",
        "CNAME": "lb.example.org",
    }
    zone: list[Endpoint] = []
    for kind in kinds:
        zone += [
            make_record(name, kind, (targets[kind],), set_identifier=set_identifier),
            make_claim(name, kind, owner, set_identifier=set_identifier),
        ]
    return zone


def _pick(world: World, *kinds: str, name: str = WWW) -> Selection:
    rows = RecordSet.objects.filter(provider=world.provider, name=name, record_type__in=kinds)
    return Selection(record_set_ids=tuple(rows.values_list("pk", flat=True)))


def _types(found: ProviderPlan) -> list[tuple[str, bool]]:
    return [(item.record_type, item.is_added) for item in found.included]


def _verdicts(found: ProviderPlan) -> dict[str, str]:
    return {item.record_type: item.verdict for item in found.included}


def test_picking_one_type_of_a_name_takes_the_other_types_of_its_owner() -> None:
    with open_world([*_zone("A", "AAAA", "MX"), *_zone("A", name="api.example.org")]) as world:
        alice = make_alice()

        found = plan(alice, ask(selection=_pick(world, "A")))
        transfer = request(alice, ask(selection=_pick(world, "A")))
        run_transfer(transfer.pk)

        assert _types(found) == [("A", False), ("AAAA", True), ("MX", True)]
        assert found.confirmation_text == ""
        assert {world.owner_of(WWW, kind) for kind in ("A", "AAAA", "MX")} == {GREEN}
        assert world.owner_of("api.example.org") == BLUE
        assert list(transfer.items.filter(is_added=True).values_list("record_type", flat=True)) == [
            "AAAA",
            "MX",
        ]


def test_a_filter_by_type_picks_and_does_not_split_names() -> None:
    with open_world(_zone("A", "AAAA")):
        found = plan(make_alice(), ask(selection=Selection(owner_id=BLUE, record_types=("A",))))

        assert _types(found) == [("A", False), ("AAAA", True)]


def test_another_owners_types_and_other_set_identifiers_stay() -> None:
    zone = [
        *_zone("A", "AAAA", set_identifier="one"),
        *_zone("A", set_identifier="two"),
        *_zone("MX", owner="red-cluster", set_identifier="one"),
    ]
    with open_world(zone) as world:
        rows = RecordSet.objects.filter(name=WWW, record_type="A", set_identifier="one")
        picked = Selection(record_set_ids=tuple(rows.values_list("pk", flat=True)))

        found = plan(make_alice(), ask(selection=picked))

        assert [(item.record_type, item.set_identifier) for item in found.included] == [
            ("A", "one"),
            ("AAAA", "one"),
        ]
        assert world.owner_of(WWW, "MX") == "red-cluster"


def test_leaving_other_types_behind_is_confirmed_by_typing() -> None:
    with open_world(_zone("A", "AAAA", "MX")) as world:
        alice = make_alice()
        asked = ask(selection=_pick(world, "A"), whole_names=False)

        found = plan(alice, asked)
        with pytest.raises(ConfirmationNeeded):
            request(alice, asked)
        said = ask(selection=_pick(world, "A"), whole_names=False, confirmation=found.confirmation_text)
        transfer = request(alice, said)

        assert _types(found) == [("A", False)]
        assert found.confirmation_text == "transfer 1 record set to green-cluster and leave 2 behind"
        assert [(item.record_type, item.problem_code) for item in found.left_out] == [
            ("AAAA", "left_behind"),
            ("MX", "left_behind"),
        ]
        assert [each["type"] for each in transfer.left_out] == ["AAAA", "MX"]
        assert transfer.items.count() == 1


@pytest.mark.parametrize(
    ("policy", "intent", "expected"),
    [
        ("sync", "other", "not_replaced"),
        ("unknown", "other", "not_replaced"),
        ("upsert-only", "other", "retarget"),
        ("create-only", "other", "no_op"),
        ("sync", "same", "no_op"),
        ("sync", "not_wanted", "delete"),
        ("sync", "unknown", "unknown"),
    ],
)
def test_a_part_of_a_name_may_be_deleted_and_not_replaced(policy: str, intent: str, expected: str) -> None:
    with open_world(_zone("A", "AAAA")) as world:
        register_owner(GREEN, policy=policy)
        alice = make_alice()

        part = plan(alice, ask(selection=_pick(world, "A"), whole_names=False, target_intent=intent))
        whole = plan(alice, ask(selection=_pick(world, "A"), target_intent=intent))

        assert _verdicts(part) == {"A": expected}
        assert "not_replaced" not in _verdicts(whole).values()
        if expected == "not_replaced":
            assert "creates nothing" in part.included[0].verdict_reason
            assert "the AAAA of blue-cluster" in part.included[0].verdict_reason


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ([make_record(WWW, "AAAA", ("2001:db8::1",))], "not_replaced"),  # nobody's
        (_zone("AAAA", owner="red-cluster"), "not_replaced"),
        (_zone("AAAA", owner=GREEN), "retarget"),
        ([make_record(WWW, "TXT", ('"v=spf1 -all"',))], "retarget"),  # of no type that instances manage
        (_zone("AAAA", owner="red-cluster", set_identifier="two"), "retarget"),  # another row
    ],
)
def test_whoever_owns_what_stays_at_the_name_keeps_the_other_type_from_being_created(
    beside: Iterable[Endpoint], expected: str
) -> None:
    with open_world([*_zone("A"), *beside]) as world:
        register_owner(GREEN, policy="sync")

        found = plan(make_alice(), ask(selection=_pick(world, "A"), target_intent=INTENT.OTHER))

        assert _verdicts(found) == {"A": expected}


def test_the_accident_is_what_external_dns_does_and_what_our_own_plan_does() -> None:
    """plan.go: the delete of what is owned goes through, the create beside another owner's is suppressed."""
    standing = [*_zone("A", owner=GREEN), *_zone("AAAA", owner=BLUE)]
    settings = PlanSettings(owner_id=GREEN)

    planned = compute_plan(
        [make_record(WWW, "CNAME", ("lb.example.org",))], pair(standing, [DEFAULT_PROFILE]), settings
    )

    assert [record.key.record_type for record in planned.deletes] == ["A"]
    assert (planned.creates, planned.updates) == ((), ())
    assert [(each.key.record_type, each.reason) for each in planned.left_alone] == [
        ("CNAME", "A record set at its name is not ours: blue-cluster owns it.")
    ]


def test_an_undo_that_splits_a_name_says_so_and_asks() -> None:
    with open_world(_zone("A")) as world:
        alice = make_alice()
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        register_owner(BLUE, policy="sync")
        world.reference.backend.apply(ChangeSet(create=tuple(_zone("AAAA", owner=GREEN))))
        world.sync()

        found = preview_undo(alice, transfer.public_id)

        assert found.confirmation_text == "undo 1 record set and leave 1 behind"
        assert "is not created beside the AAAA of green-cluster" in found.included[0].verdict_reason
