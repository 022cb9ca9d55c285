"""Which rows of an owner's map are its claims, and what they say."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.registry import read_claim
from providers.registries.configmap.rows import Row, group_rows, parse_rows
from providers.registries.errors import ForeignText, UnwritableLabel
from providers.registries.labels import OWNER, format_labels, parse_stored_labels
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey
from tests.providers.registries.configmap.values import BLUE, GREEN, WRITABLE

TEXT = f"heritage=external-dns,external-dns/owner={BLUE}"
WWW = EndpointKey("www.example.org", "A", "")


def rows_of(*rows: dict[str, object]) -> list[Row]:
    return parse_rows(json.dumps(rows), max_items=10)


def row(name: str = "www.example.org", owner: object = BLUE, **more: object) -> dict[str, object]:
    return {"dnsname": name, "owner": owner, "target": "192.0.2.1", "type": "A", **more}


def claims_of(rows: Sequence[Row], intents: Sequence[Row] = ()) -> list[StoredClaim]:
    found = [read_claim(BLUE, key, entry) for key, entry in group_rows(rows, intents).items()]
    return [claim for claim in found if claim is not None]


def test_an_own_row_is_a_claim_and_what_is_said_of_others_is_none() -> None:
    rows = rows_of(row(), row("green.example.org", GREEN), row("free.example.org", ""))

    claims = claims_of(rows)

    assert claims == [StoredClaim(WWW, TEXT)]


def test_labels_are_told_as_every_heritage_text_tells_them() -> None:
    labels = {"resource": "ingress/shop/www", "custom": "kept"}

    (claim,) = claims_of(rows_of(row(labels=labels)))

    assert claim.text == (
        "heritage=external-dns,external-dns/custom=kept,"
        f"external-dns/owner={BLUE},external-dns/resource=ingress/shop/www"
    )


def test_an_intent_is_a_claim_on_just_the_targets_it_means() -> None:
    intents = rows_of(row(target="192.0.2.7", targets=["192.0.2.7", "192.0.2.8"]))

    claims = claims_of((), intents)

    assert claims == [StoredClaim(WWW, TEXT, meant_targets=("192.0.2.7", "192.0.2.8"))]


def test_a_row_speaks_and_the_intent_beside_it_does_not() -> None:
    assert claims_of(rows_of(row()), rows_of(row(target="192.0.2.9"))) == [StoredClaim(WWW, TEXT)]


def test_an_intent_stands_beside_the_row_of_somebody_else() -> None:
    (claim,) = claims_of(rows_of(row(owner=GREEN)), rows_of(row()))

    assert (claim.text, claim.problem, claim.meant_targets) == (TEXT, "", ("192.0.2.1",))


@pytest.mark.parametrize(
    ("rows", "intents"),
    [
        ([row(), row(target="192.0.2.2")], []),
        ([row(), row(owner=GREEN)], []),
        ([row(), row("WWW.example.org")], []),
        ([row(owner=5)], []),
        ([row(targets=5)], []),
        ([row(note="by hand")], []),
        ([row(Owner=GREEN)], []),
        ([row(labels={"owner": GREEN})], []),
        ([row(labels={"resource": "a,b"})], []),
        ([], [row(), row()]),
        ([], [row(owner=GREEN)]),
        ([], [row(target="")]),
    ],
)
def test_what_cannot_be_believed_is_one_claim_with_its_problem(
    rows: list[dict[str, object]], intents: list[dict[str, object]]
) -> None:
    (claim,) = claims_of(rows_of(*rows), rows_of(*intents))

    assert claim.key == WWW
    assert claim.problem
    assert claim.meant_targets is None


@settings(deadline=None)
@given(labels=st.dictionaries(WRITABLE.filter(lambda key: key != "owner"), WRITABLE, max_size=4))
def test_a_text_is_read_into_labels_and_back(labels: dict[str, str]) -> None:
    text = format_labels({**labels, OWNER: BLUE}, quoted=False)

    assert parse_stored_labels(text, "a row") == {**labels, OWNER: BLUE}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("made by hand", ForeignText),
        ("heritage=external-dns", UnwritableLabel),
        (f'"{TEXT}"', UnwritableLabel),
        (f"{TEXT},somebody=else", UnwritableLabel),
        (f"external-dns/owner={BLUE},heritage=external-dns", UnwritableLabel),
    ],
)
def test_a_text_a_row_cannot_say_word_for_word_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_stored_labels(text, "a row")
