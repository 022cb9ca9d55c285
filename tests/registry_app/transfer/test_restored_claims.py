"""Which record sets a claim that comes back would speak for, as claims are paired with them."""

from typing import NamedTuple

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.transfer.send.live_zone import ExistingRecord
from registry_app.transfer.send.review import find_reason_not_to_restore
from tests.registry_app.transfer.world import BLUE, GREEN

WWW = "www.example.org"


class CleanedUp(NamedTuple):
    """An item of a clean-up."""

    record_type: str
    set_identifier: str = ""
    name: str = WWW


def _object(
    item: CleanedUp, record: ExistingRecord, *, places: tuple[str, ...] = ("a-www.example.org",)
) -> str:
    return find_reason_not_to_restore(item, BLUE, places, [record])


def _endpoints(
    record_type: str, owner_id: str = "", *, label: str = "", is_alias: bool = False
) -> ExistingRecord:
    return ExistingRecord(EndpointKey(WWW, record_type, label), owner_id, is_alias)


@pytest.mark.parametrize(
    ("item", "record"),
    [
        (CleanedUp("A"), _endpoints("A")),
        (CleanedUp("A", "eu"), _endpoints("A", label="eu")),
        (CleanedUp(""), _endpoints("A")),
        (CleanedUp(""), _endpoints("MX")),
        (CleanedUp("CNAME"), _endpoints("A", is_alias=True)),
        (CleanedUp("A"), _endpoints("A", GREEN)),
        (CleanedUp(""), _endpoints("TXT")),
    ],
)
def test_it_may_not_come_back_where_it_would_decide_or_dispute(
    item: CleanedUp, record: ExistingRecord
) -> None:
    assert _object(item, record).startswith(f"{WWW} {record.key.record_type}")


@pytest.mark.parametrize(
    ("item", "record"),
    [
        (CleanedUp("A"), _endpoints("AAAA")),
        (CleanedUp("A"), _endpoints("A", BLUE)),
        (CleanedUp("A"), _endpoints("A", label="eu")),
        (CleanedUp(""), _endpoints("AAAA")),
        (CleanedUp("CNAME"), _endpoints("A")),
    ],
)
def test_it_may_where_it_speaks_for_nothing_but_its_owners(item: CleanedUp, record: ExistingRecord) -> None:
    assert _object(item, record) == ""


def test_a_text_record_that_holds_the_claim_among_others_is_not_claimed_by_it() -> None:
    assert _object(CleanedUp(""), _endpoints("TXT"), places=(WWW,)) == ""
