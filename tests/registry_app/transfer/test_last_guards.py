"""The lines that stand between a review and a wrong byte, each shown to matter."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from providers.planning.planned_changes import Policy
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.models import TransferItem
from registry_app.transfer.plan.claim_key import ClaimKey, build_claim_dict, build_txt_key
from registry_app.transfer.plan.provider_plan import PlanHead, PlannedItem, compute_fingerprint
from registry_app.transfer.send.change_sets import list_allowed_claims
from registry_app.transfer.send.item_plan import ItemPlan, build_item_plan
from registry_app.transfer.send.live_zone import is_as_reviewed
from registry_app.transfer.send.review import find_record_difference
from registry_app.writes.allowed_changes import Allowed, raise_if_not_allowed
from registry_app.writes.read_back import Change, is_as_written
from tests.providers.planning.planned import plan, reasons, wanted
from tests.reference_server import make_claim, make_record

TXT = "a-www.example.org"
KEY = build_txt_key(TXT)
OLD = '"heritage=external-dns,external-dns/owner=blue-cluster"'
NEW = '"heritage=external-dns,external-dns/owner=green-cluster"'
OTHER = '"v=spf1 -all"'
HEAD = PlanHead("transfer", 1, "blue-cluster", "green-cluster", "same", {"url": "http://a"})
ITEM = PlannedItem(
    name="www.example.org",
    record_type="A",
    set_identifier="",
    record_before={"ttl": 300},
    before=[build_claim_dict(KEY, [OLD])],
    after=[build_claim_dict(KEY, [NEW])],
    verdict="no_op",
    verdict_reason="",
)


def test_every_part_of_a_plan_is_part_of_its_fingerprint() -> None:
    whole = compute_fingerprint(HEAD, [ITEM])
    items: tuple[dict[str, Any], ...] = (
        {"name": "api.example.org"},
        {"record_type": "AAAA"},
        {"set_identifier": "one"},
        {"record_before": {"ttl": 60}},
        {"before": []},
        {"after": []},
        {"verdict": "delete"},
        {"batch": 1},
    )
    heads: tuple[dict[str, Any], ...] = (
        {"kind": "adopt"},
        {"provider_id": 2},
        {"source_owner_id": "red-cluster"},
        {"target_owner_id": "red-cluster"},
        {"target_intent": "other"},
        {"preconditions": {"url": "http://b"}},
    )

    others = [compute_fingerprint(HEAD, [replace(ITEM, **each)]) for each in items]
    others += [compute_fingerprint(replace(HEAD, **each), [ITEM]) for each in heads]
    others += [compute_fingerprint(HEAD, []), compute_fingerprint(HEAD, [ITEM, ITEM])]

    assert len({whole, *others}) == 1 + len(others)


def test_the_order_of_items_is_part_of_the_fingerprint() -> None:
    other = replace(ITEM, name="api.example.org")

    assert compute_fingerprint(HEAD, [ITEM, other]) != compute_fingerprint(HEAD, [other, ITEM])


def _txt(*targets: str, **values: Any) -> Endpoint:
    return msgspec.structs.replace(make_record(TXT, "TXT", targets), **values)


@pytest.mark.parametrize(
    ("live", "reviewed", "expected"),
    [
        (_txt(OLD), build_claim_dict(KEY, [OLD]), True),
        (_txt(OTHER, OLD), build_claim_dict(KEY, [OLD, OTHER]), True),
        (_txt(OLD.upper()), build_claim_dict(KEY, [OLD]), False),
        (_txt(OLD.replace("blue-cluster", "Blue-cluster")), build_claim_dict(KEY, [OLD]), False),
        (_txt(OLD.strip('"')), build_claim_dict(KEY, [OLD]), False),
        (_txt(OLD, OLD), build_claim_dict(KEY, [OLD]), False),
        (_txt(OLD), None, False),
        (None, build_claim_dict(KEY, [OLD]), False),
        (None, None, True),
    ],
)
def test_what_was_reviewed_is_compared_byte_for_byte(
    live: Endpoint | None, reviewed: dict[str, Any] | None, expected: bool
) -> None:
    assert is_as_reviewed(live, reviewed) is expected


def _plan(before: list[str], after: list[str]) -> ItemPlan:
    return build_item_plan(
        [build_claim_dict(KEY, before)] if before else [],
        [build_claim_dict(KEY, after)] if after else [],
        is_exact=False,
    )


_ALIAS = (ProviderSpecificProperty("alias", "true"),)
_UPDATE, _CREATE, _DELETE = _plan([OLD], [NEW]), _plan([], [NEW]), _plan([OLD], [])


@pytest.mark.parametrize(
    ("change", "reviewed"),
    [
        (Change(_txt(OLD), _txt(NEW)), _UPDATE),
        (Change(None, _txt(NEW)), _CREATE),
        (Change(_txt(OLD), None), _DELETE),
        (Change(_txt(OLD, OTHER), _txt(NEW, OTHER)), _plan([OLD, OTHER], [NEW, OTHER])),
    ],
)
def test_what_was_reviewed_passes_the_last_guard(change: Change, reviewed: ItemPlan) -> None:
    raise_if_not_allowed({KEY: change}, list_allowed_claims([reviewed]))


@pytest.mark.parametrize(
    ("key", "change", "reviewed", "said"),
    [
        (build_txt_key("else.example.org"), Change(_txt(OLD), _txt(NEW)), _UPDATE, "not part of the plan"),
        (KEY, Change(_txt(OLD, record_type="A"), _txt(NEW)), _UPDATE, "no TXT record"),
        (KEY, Change(_txt(OLD), _txt(NEW, record_type="A")), _UPDATE, "no TXT record"),
        (KEY, Change(None, _txt(NEW, record_type="A")), _CREATE, "no TXT record"),
        (KEY, Change(_txt(OLD, record_type="A"), None), _DELETE, "no TXT record"),
        (KEY, Change(_txt(OLD), None), _UPDATE, "otherwise than reviewed"),
        (KEY, Change(_txt(OLD), _txt(NEW)), _DELETE, "otherwise than reviewed"),
        (KEY, Change(_txt(OLD, OTHER), _txt(NEW)), _UPDATE, "lose more"),
        (KEY, Change(_txt(OLD, OTHER), None), _DELETE, "lose more"),
        (KEY, Change(_txt(OLD), _txt(NEW, record_ttl=60)), _UPDATE, "beyond its targets"),
        (KEY, Change(_txt(OLD), _txt(NEW, dns_name="b.example.org")), _UPDATE, "beyond its targets"),
        (KEY, Change(_txt(OLD), _txt(NEW, set_identifier="one")), _UPDATE, "beyond its targets"),
        (KEY, Change(_txt(OLD, OTHER), _txt(NEW)), _plan([OLD, OTHER], [NEW, OTHER]), "lose more"),
        (KEY, Change(_txt(OLD), _txt(NEW, provider_specific=_ALIAS)), _UPDATE, "beyond its targets"),
        (KEY, Change(_txt(OLD), _txt(NEW, labels={"owner": "x"})), _UPDATE, "beyond its targets"),
    ],
)
def test_what_was_not_reviewed_is_never_stored(
    key: ClaimKey, change: Change, reviewed: ItemPlan, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        raise_if_not_allowed({key: change}, list_allowed_claims([reviewed]))


@pytest.mark.parametrize(("most_added", "is_allowed"), [(None, True), (2, True), (1, False), (0, False)])
def test_a_place_gains_as_many_targets_as_allowed_and_no_more(
    most_added: int | None, is_allowed: bool
) -> None:
    change, allowed = Change(_txt(OLD), _txt(NEW, OTHER)), Allowed(most_added=most_added)

    with nullcontext() if is_allowed else pytest.raises(ValueError, match="gain more"):
        raise_if_not_allowed({KEY: change}, {KEY: allowed})


def test_a_policy_that_never_deletes_creates_no_cname_in_the_place_of_what_stands() -> None:
    name = "www.example.org"
    standing = [make_record(name), make_claim(name)]
    desired = [wanted(name, "CNAME", ("lb.example.org",))]

    upsert = plan(standing, desired, policy=Policy.UPSERT_ONLY)
    sync = plan(standing, desired)

    assert (upsert.creates, upsert.deletes) == ((), ())
    assert reasons(upsert)[f"{name} CNAME"] == "A CNAME cannot exist beside A."
    assert [each.record_type for each in sync.creates] == ["CNAME"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"targets": ("192.0.2.9",)}, "other targets"),
        ({"record_ttl": 60}, "another TTL"),
    ],
)
def test_a_record_set_that_changed_since_the_review_is_reported(change: dict[str, Any], said: str) -> None:
    before = {"targets": ["192.0.2.1"], "ttl": 300, "provider_specific": [], "state": "owned"}
    item = TransferItem(name="www.example.org", record_type="A", record_before=before)

    told = find_record_difference(item, msgspec.structs.replace(make_record(), **change))

    assert said in told if said else told == ""
    assert "gone" in find_record_difference(item, None)


def test_what_was_written_is_compared_by_targets_ttl_and_properties() -> None:
    wrote = _txt(NEW)

    assert is_as_written(wrote, wrote)
    assert not is_as_written(_txt(OLD), wrote)
    assert not is_as_written(_txt(NEW, record_ttl=60), wrote)
    assert not is_as_written(None, wrote)
