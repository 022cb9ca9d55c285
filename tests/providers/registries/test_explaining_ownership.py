"""Why this owner: one plain sentence for the record's page."""

import pytest

from providers.registries.ownership import explain_ownership
from providers.wire.endpoint import Endpoint
from tests.providers.registries.zone import BLUE, GREEN, make_record, make_txt, pair_zone

_WWW = make_record("www.example.org")


@pytest.mark.parametrize(
    ("endpoints", "sentence"),
    [
        ([_WWW], "www.example.org A is unmanaged, because no claim speaks for it."),
        (
            [_WWW, make_txt("a-www.example.org", BLUE)],
            "blue-cluster owns www.example.org A, because the TXT record a-www.example.org names it.",
        ),
        (
            [_WWW, make_txt("www.example.org", BLUE)],
            (
                "blue-cluster owns www.example.org A, because the TXT record www.example.org names it, "
                "in the legacy format that speaks for every type but AAAA."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", BLUE), make_txt("www.example.org", BLUE)],
            (
                "blue-cluster owns www.example.org A, because the TXT record a-www.example.org names it; "
                "1 more say the same."
            ),
        ),
        (
            [make_record("www.example.org", is_alias=True), make_txt("cname-www.example.org", BLUE)],
            (
                "blue-cluster owns www.example.org A, because the TXT record cname-www.example.org names it, "
                "in the `cname-` form once written for alias records."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", GREEN), make_txt("www.example.org", BLUE)],
            (
                "Nobody is taken as the owner of www.example.org A, because its claims disagree: "
                "a-www.example.org names green-cluster, www.example.org names blue-cluster."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", "heritage=external-dns")],
            (
                "The owner of www.example.org A is unknown, because of its claim at a-www.example.org: "
                "The claim names no owner."
            ),
        ),
    ],
)
def test_it_says_in_one_sentence_why(endpoints: list[Endpoint], sentence: str) -> None:
    pairing = pair_zone(*endpoints)
    (record,) = pairing.records

    explained = explain_ownership(record.key, [pairing.claims[number] for number in record.claims])

    assert explained == sentence
