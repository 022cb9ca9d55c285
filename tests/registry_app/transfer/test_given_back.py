"""Which record sets a claim that comes back would speak for, as claims are paired with them."""

from typing import NamedTuple

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.transfer.send.live_zone import Standing
from registry_app.transfer.send.review import find_objection
from tests.registry_app.transfer.world import BLUE, GREEN

WWW = "www.example.org"


class Cleaned(NamedTuple):
    """An item of a clean-up."""

    record_type: str
    set_identifier: str = ""
    name: str = WWW


def _object(item: Cleaned, record: Standing, *, places: tuple[str, ...] = ("a-www.example.org",)) -> str:
    return find_objection(item, BLUE, places, [record])


def _standing(record_type: str, owner_id: str = "", *, label: str = "", is_alias: bool = False) -> Standing:
    return Standing(EndpointKey(WWW, record_type, label), owner_id, is_alias)


@pytest.mark.parametrize(
    ("item", "record"),
    [
        (Cleaned("A"), _standing("A")),
        (Cleaned("A", "eu"), _standing("A", label="eu")),
        (Cleaned(""), _standing("A")),
        (Cleaned(""), _standing("MX")),
        (Cleaned("CNAME"), _standing("A", is_alias=True)),
        (Cleaned("A"), _standing("A", GREEN)),
        (Cleaned(""), _standing("TXT")),
    ],
)
def test_it_may_not_come_back_where_it_would_decide_or_dispute(item: Cleaned, record: Standing) -> None:
    assert _object(item, record).startswith(f"{WWW} {record.key.record_type}")


@pytest.mark.parametrize(
    ("item", "record"),
    [
        (Cleaned("A"), _standing("AAAA")),
        (Cleaned("A"), _standing("A", BLUE)),
        (Cleaned("A"), _standing("A", label="eu")),
        (Cleaned(""), _standing("AAAA")),
        (Cleaned("CNAME"), _standing("A")),
    ],
)
def test_it_may_where_it_speaks_for_nothing_but_its_owners(item: Cleaned, record: Standing) -> None:
    assert _object(item, record) == ""


def test_a_text_record_that_holds_the_claim_among_others_is_not_claimed_by_it() -> None:
    assert _object(Cleaned(""), _standing("TXT"), places=(WWW,)) == ""
