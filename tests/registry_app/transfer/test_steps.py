"""In which order claims are written and removed, over the zone and registry stores: never one too early."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.models import TransferStep
from registry_app.transfer.plan.claim_key import (
    ZONE,
    ClaimKey,
    build_claim_dict,
    build_row,
    build_row_key,
    build_txt_key,
    claim_key_of,
    endpoint_key_of,
)
from registry_app.transfer.send.change_sets import (
    ChangeBuilder,
    Earlier,
    encode_store_changes,
    list_allowed_claims,
    list_changes_to_make,
    store_changes_in,
)
from registry_app.transfer.send.item_plan import ItemPlan, StepTarget, build_item_plan
from registry_app.transfer.send.live_zone import LiveZone, Unsendable, build_live_zone
from registry_app.writes.allowed_changes import raise_if_not_allowed
from registry_app.writes.read_back import Change
from tests.reference_server import make_claim, make_record

WRITE, REMOVE = TransferStep.Phase.WRITE, TransferStep.Phase.REMOVE
WWW = EndpointKey("www.example.org", "A", "")
TXT = build_txt_key("a-www.example.org")
ROW, OTHER_ROW = build_row_key("7", WWW), build_row_key("8", WWW)
BLUE = "heritage=external-dns,external-dns/owner=blue-cluster"
GREEN = "heritage=external-dns,external-dns/owner=green-cluster"
RECORD = make_record()


def plan_of(before: dict[ClaimKey, list[str]], after: dict[ClaimKey, list[str]]) -> ItemPlan:
    return build_item_plan(
        [build_claim_dict(key, texts) for key, texts in before.items()],
        [build_claim_dict(key, texts) for key, texts in after.items()],
        is_exact=False,
    )


def zone_of(*endpoints: Endpoint, rows: dict[str, list[StoredClaim]] | None = None) -> LiveZone:
    zone = build_live_zone([RECORD, *endpoints], {WWW.name, TXT.name})
    for store, claims in (rows or {}).items():
        zone = zone.with_store(store, f"store {store}", claims)
    return zone


def test_a_claim_that_crosses_is_written_before_the_old_one_is_removed() -> None:
    to_store = plan_of({TXT: [f'"{BLUE}"']}, {ROW: [GREEN]})
    to_zone = plan_of({ROW: [BLUE]}, {TXT: [f'"{GREEN}"']})
    between = plan_of({ROW: [BLUE]}, {OTHER_ROW: [GREEN]})

    assert to_store.step_targets == (StepTarget(WRITE, "7"), StepTarget(REMOVE, ZONE))
    assert to_zone.step_targets == (StepTarget(WRITE, ZONE), StepTarget(REMOVE, "7"))
    assert between.step_targets == (StepTarget(WRITE, "8"), StepTarget(REMOVE, "7"))


def test_a_claim_that_only_goes_from_a_place_that_stays_is_removed_last() -> None:
    spf = '"v=spf1 -all"'
    mixed = plan_of({TXT: [f'"{BLUE}"', spf]}, {TXT: [spf], ROW: [GREEN]})
    conflict = plan_of({ROW: [BLUE, GREEN]}, {ROW: [GREEN]})

    assert mixed.step_targets == (StepTarget(WRITE, "7"), StepTarget(REMOVE, ZONE))
    assert conflict.step_targets == (StepTarget(REMOVE, "7"),)


def test_nothing_is_removed_while_the_claim_that_is_to_stay_does_not_stand() -> None:
    plan = plan_of({TXT: [f'"{BLUE}"']}, {ROW: [GREEN]})
    sent = Earlier({ROW: build_row(ROW, [GREEN])}, frozenset({ROW}))
    standing = zone_of(make_claim(), rows={"7": [StoredClaim(WWW, GREEN)]})
    taken = zone_of(make_claim(), rows={"7": [StoredClaim(WWW, BLUE)]})
    gone = zone_of(make_claim(), rows={"7": []})

    builder = ChangeBuilder(standing, {}, StepTarget(REMOVE, ZONE), sent)
    builder.add(plan)

    assert builder.change_set().delete == (make_claim(),)
    for zone in (taken, gone):
        with pytest.raises(Unsendable, match="store 7"):
            ChangeBuilder(zone, {}, StepTarget(REMOVE, ZONE), sent).add(plan)


def test_what_was_verified_and_reverted_is_not_sent_again() -> None:
    plan = plan_of({ROW: [BLUE], TXT: [f'"{BLUE}"']}, {ROW: [GREEN]})
    reverted = zone_of(make_claim(), rows={"7": [StoredClaim(WWW, BLUE)]})
    sent = Earlier({ROW: build_row(ROW, [GREEN])}, frozenset({ROW}))

    with pytest.raises(Unsendable, match="read back"):
        ChangeBuilder(reverted, {}, StepTarget(WRITE, "7"), sent).add(plan, is_under_way=True)


def test_an_unreliable_row_is_never_written() -> None:
    plan = plan_of({ROW: [BLUE]}, {ROW: [GREEN]})
    zone = zone_of(rows={"7": [StoredClaim(WWW, BLUE, "Its owner label is missing.")]})

    with pytest.raises(Unsendable, match="owner label"):
        ChangeBuilder(zone, {}, StepTarget(WRITE, "7")).add(plan)


def test_a_row_is_read_whatever_order_its_claims_come_in() -> None:
    claims = [StoredClaim(WWW, GREEN), StoredClaim(WWW, BLUE)]

    assert zone_of(rows={"7": claims}).find(ROW) == zone_of(rows={"7": claims[::-1]}).find(ROW)


def test_the_guard_lets_no_row_through_that_was_not_reviewed() -> None:
    plan = plan_of({ROW: [BLUE]}, {ROW: [GREEN]})
    wanted = Change(build_row(ROW, [BLUE]), build_row(ROW, [GREEN]))

    raise_if_not_allowed({ROW: wanted}, list_allowed_claims([plan]))

    for key, change in (
        (OTHER_ROW, wanted),
        (ROW, Change(build_row(ROW, [BLUE]), None)),
        (ROW, Change(build_row(ROW, [BLUE, "another"]), build_row(ROW, [GREEN]))),
        (build_row_key(ZONE, WWW), wanted),
    ):
        with pytest.raises(ValueError, match="change set"):
            raise_if_not_allowed({key: change}, list_allowed_claims([plan]))


texts = st.lists(
    st.sampled_from([BLUE, GREEN, f"{BLUE},external-dns/resource=ingress/shop/www"]), unique=True
)
keys = st.builds(
    build_row_key,
    st.just("7"),
    st.builds(EndpointKey, st.sampled_from(["www.example.org", "b.example.org"]), st.just("A"), st.text()),
)


@settings(deadline=None)
@given(st.dictionaries(keys, st.tuples(texts, texts).filter(lambda pair: pair[0] or pair[1])))
def test_a_stored_body_says_what_stands_before_and_after(
    wanted: dict[ClaimKey, tuple[list[str], list[str]]],
) -> None:
    changes = {
        key: Change(build_row(key, old) if old else None, build_row(key, new) if new else None)
        for key, (old, new) in wanted.items()
    }

    body = encode_store_changes(changes, LiveZone())

    found = store_changes_in(body, "7")
    assert {key: _texts(change) for key, change in found.items()} == {
        key: _texts(change) for key, change in changes.items()
    }
    for made in list_changes_to_make(body):
        key = ClaimKey("7", made.record.dns_name, made.record.record_type, made.record.set_identifier)
        old, new = wanted[key]
        assert made.old is None or (made.old in old and made.old not in new)
        assert made.new is None or (made.new in new and made.new not in old)
        assert (made.old, made.new) != (None, None)


@given(keys, texts)
def test_a_place_is_found_again_in_its_text(key: ClaimKey, said: list[str]) -> None:
    for each in (key, build_txt_key(key.name, key.set_identifier)):
        assert claim_key_of(build_claim_dict(each, said)) == each
        assert build_row_key(each.store, endpoint_key_of(each)) == each


def _texts(change: Change) -> tuple[list[str], list[str]]:
    return (
        sorted(change.old.targets) if change.old else [],
        sorted(change.new.targets) if change.new else [],
    )
