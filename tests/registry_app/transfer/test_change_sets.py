"""What a change set may hold, and what no change set ever may."""

import msgspec
import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.models import TransferStep
from registry_app.transfer.plan.claim_key import ZONE, build_claim_dict, build_txt_key
from registry_app.transfer.send.change_sets import ChangeBuilder, list_allowed_claims, zone_changes_in
from registry_app.transfer.send.item_plan import ItemPlan, StepTarget, build_item_plan
from registry_app.transfer.send.live_zone import Unsendable, build_live_zone
from registry_app.writes.allowed_changes import raise_if_not_allowed
from registry_app.writes.read_back import is_as_written
from tests.reference_server import make_claim, make_record

A_WWW = build_txt_key("a-www.example.org")
WRITE = StepTarget(TransferStep.Phase.WRITE, ZONE)
BLUE = make_claim().targets[0]
GREEN = make_claim(owner="green-cluster").targets[0]
SPF = '"v=spf1 -all"'


def plan_of(before: list[str], after: list[str]) -> ItemPlan:
    return build_item_plan(
        [build_claim_dict(A_WWW, before)] if before else [],
        [build_claim_dict(A_WWW, after)] if after else [],
        is_exact=False,
    )


def build(live: list[Endpoint], plan: ItemPlan) -> ChangeSet:
    builder = ChangeBuilder(build_live_zone(live, {A_WWW.name}), {}, WRITE)
    builder.add(plan)
    return builder.change_set()


def test_old_is_what_was_read_and_new_differs_in_the_claim_alone() -> None:
    odd = Endpoint(
        dns_name="A-www.Example.org.",
        targets=(SPF, BLUE),
        record_type="TXT",
        record_ttl=77,
        labels={"kept": "yes"},
        provider_specific=(ProviderSpecificProperty("weight", "1"),),
    )

    change_set = build([odd], plan_of([BLUE, SPF], [GREEN, SPF]))

    assert change_set.update_old == (odd,)
    assert change_set.update_new == (msgspec.structs.replace(odd, targets=(SPF, GREEN)),)
    assert not change_set.create
    assert not change_set.delete


@pytest.mark.parametrize(
    "live",
    [
        [],
        [make_claim(owner="red-cluster")],
        [msgspec.structs.replace(make_claim(), targets=(BLUE, SPF))],
    ],
)
def test_what_is_not_as_reviewed_is_not_written(live: list[Endpoint]) -> None:
    with pytest.raises(Unsendable):
        build(live, plan_of([BLUE], [GREEN]))


def test_two_endpoints_of_one_claim_are_each_changed_as_they_were_read() -> None:
    live = [make_claim(), make_claim(ttl=1)]

    change_set = build(live, plan_of([BLUE], [GREEN]))

    assert change_set.update_old == tuple(live)
    assert change_set.update_new == (MOVED, msgspec.structs.replace(MOVED, record_ttl=1))


def test_a_new_claim_is_not_written_over_what_stands_there() -> None:
    with pytest.raises(Unsendable):
        build([make_record(A_WWW.name, "TXT", (SPF,))], plan_of([], [GREEN]))


CLAIM = make_claim()
MOVED = msgspec.structs.replace(CLAIM, targets=(GREEN,))


@pytest.mark.parametrize(
    "change_set",
    [
        ChangeSet(delete=(make_record(),)),
        ChangeSet(create=(make_record("b.example.org"),)),
        ChangeSet(update_old=(make_record(),), update_new=(make_record(ttl=1),)),
        ChangeSet(delete=(CLAIM,)),
        ChangeSet(delete=(make_claim("other.example.org"),)),
        ChangeSet(update_old=(CLAIM,), update_new=(msgspec.structs.replace(MOVED, record_ttl=1),)),
        ChangeSet(update_old=(CLAIM,), update_new=(msgspec.structs.replace(MOVED, labels={"x": "y"}),)),
        ChangeSet(update_old=(CLAIM,), update_new=(msgspec.structs.replace(MOVED, record_type="A"),)),
        ChangeSet(
            update_old=(msgspec.structs.replace(CLAIM, targets=(BLUE, SPF)),),
            update_new=(MOVED,),
        ),
    ],
)
def test_the_guard_lets_nothing_through_but_the_reviewed_claim(change_set: ChangeSet) -> None:
    with pytest.raises(ValueError, match="change set"):
        raise_if_not_allowed(zone_changes_in(change_set), list_allowed_claims([plan_of([BLUE], [GREEN])]))


def test_the_guard_lets_the_reviewed_claim_through() -> None:
    plan = plan_of([BLUE], [GREEN])
    change_set = ChangeSet(update_old=(CLAIM,), update_new=(MOVED,))

    raise_if_not_allowed(zone_changes_in(change_set), list_allowed_claims([plan]))

    assert zone_changes_in(change_set)[A_WWW].new == MOVED


@pytest.mark.parametrize(
    ("live", "is_written"),
    [
        (MOVED, True),
        (msgspec.structs.replace(MOVED, targets=(GREEN.strip('"'),)), True),
        (msgspec.structs.replace(MOVED, record_ttl=1), False),
        (msgspec.structs.replace(MOVED, targets=(GREEN.upper(),)), False),
        (msgspec.structs.replace(MOVED, targets=(GREEN, SPF)), False),
        (CLAIM, False),
        (None, False),
    ],
)
def test_written_is_exactly_what_was_sent(live: Endpoint | None, is_written: bool) -> None:
    assert is_as_written(live, MOVED) is is_written


def test_a_ttl_that_the_provider_does_not_show_may_be_any() -> None:
    assert is_as_written(msgspec.structs.replace(MOVED, record_ttl=0), MOVED)


def test_a_ttl_that_was_left_to_the_provider_may_be_any() -> None:
    assert is_as_written(MOVED, msgspec.structs.replace(MOVED, record_ttl=0))
