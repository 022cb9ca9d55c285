"""Which record sets a claim that comes back would be for, as claims are paired with them."""

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.transfer.send.live_zone import ExistingRecord
from registry_app.transfer.send.review import find_reason_not_to_restore
from tests.registry_app.transfer.world import BLUE, GREEN

WWW = "www.example.org"


def _make_claimed(record_type: str, label: str = "") -> EndpointKey:
    return EndpointKey(WWW, record_type, label)


def _find_reason(
    claimed: EndpointKey, record: ExistingRecord, *, places: tuple[str, ...] = ("a-www.example.org",)
) -> str:
    return find_reason_not_to_restore(claimed, BLUE, places, [record])


def _make_record(
    record_type: str, owner_id: str = "", *, label: str = "", is_alias: bool = False
) -> ExistingRecord:
    return ExistingRecord(EndpointKey(WWW, record_type, label), owner_id, is_alias)


@pytest.mark.parametrize(
    ("claimed", "record"),
    [
        (_make_claimed("A"), _make_record("A")),
        (_make_claimed("A", "eu"), _make_record("A", label="eu")),
        (_make_claimed(""), _make_record("A")),
        (_make_claimed(""), _make_record("MX")),
        (_make_claimed("CNAME"), _make_record("A", is_alias=True)),
        (_make_claimed("A"), _make_record("A", GREEN)),
        (_make_claimed(""), _make_record("TXT")),
    ],
)
def test_it_may_not_come_back_where_it_would_decide_or_dispute(
    claimed: EndpointKey, record: ExistingRecord
) -> None:
    assert _find_reason(claimed, record).startswith(f"{WWW} {record.key.record_type}")


@pytest.mark.parametrize(
    ("claimed", "record"),
    [
        (_make_claimed("A"), _make_record("AAAA")),
        (_make_claimed("A"), _make_record("A", BLUE)),
        (_make_claimed("A"), _make_record("A", label="eu")),
        (_make_claimed(""), _make_record("AAAA")),
        (_make_claimed("CNAME"), _make_record("A")),
    ],
)
def test_it_may_where_it_is_for_nothing_but_its_owners(claimed: EndpointKey, record: ExistingRecord) -> None:
    assert _find_reason(claimed, record) == ""


def test_a_text_record_that_holds_the_claim_among_others_is_not_claimed_by_it() -> None:
    assert _find_reason(_make_claimed(""), _make_record("TXT"), places=(WWW,)) == ""
