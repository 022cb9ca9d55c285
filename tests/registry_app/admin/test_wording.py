"""Values as people read them."""

import json
import unicodedata
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_app.admin.wording import (
    claim_change,
    describe_claim_change,
    format_ago,
    format_claim_endpoints,
    format_foreign,
    format_json,
    format_span,
    format_targets,
)
from registry_app.models import TransferItem

pytestmark = pytest.mark.one_database


def _make_claim(name: str, owner: str) -> dict[str, object]:
    target = f'"heritage=external-dns,external-dns/owner={owner},external-dns/resource=ingress/shop/www"'
    return {"dnsName": name, "recordType": "TXT", "targets": [target]}


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=0), "0 s"),
        (timedelta(seconds=119), "119 s"),
        (timedelta(minutes=2), "2 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(days=3), "3 d"),
    ],
)
def test_a_span_is_said_in_its_largest_unit(span: timedelta, words: str) -> None:
    assert format_span(span) == words


def test_a_time_is_relative_with_the_exact_one_on_hover() -> None:
    past = format_ago(timezone.now() - timedelta(minutes=12))
    future = format_ago(timezone.now() + timedelta(hours=3, minutes=1))

    assert "12 min ago</time>" in past
    assert 'title="20' in past
    assert "in 3 h</time>" in future
    assert format_ago(None) == "<span>never</span>"


def test_a_change_of_owner_is_one_line() -> None:
    before = [_make_claim("a-www.example.org", "blue-cluster")]
    after = [_make_claim("a-www.example.org", "green-cluster")]

    lines = describe_claim_change(before, after)

    assert lines == ['~ TXT a-www.example.org "…owner=blue-cluster…" → "…owner=green-cluster…"']


def test_a_line_breaks_between_the_name_the_old_owner_and_the_new_one() -> None:
    item = TransferItem(
        before=[_make_claim("a-www.example.org", "blue-cluster")],
        after=[_make_claim("a-www.example.org", "green-cluster")],
    )

    (parts,) = claim_change(item)

    assert parts == ["~ TXT a-www.example.org", '"…owner=blue-cluster…"', '→ "…owner=green-cluster…"']


def test_a_claim_that_moves_to_another_name_is_one_gone_and_one_new() -> None:
    before, after = [_make_claim("www.example.org", "a")], [_make_claim("a-www.example.org", "a")]

    lines = describe_claim_change(before, after)

    assert lines == ['- TXT www.example.org "…owner=a…"', '+ TXT a-www.example.org "…owner=a…"']


def test_a_claim_that_crosses_registries_is_a_txt_record_gone_and_a_row_new() -> None:
    before = [_make_claim("a-www.example.org", "blue-cluster")]
    row = {**_make_claim("www.example.org", "green-cluster"), "recordType": "A", "store": "7"}

    lines = describe_claim_change(before, [row])

    assert lines == [
        '- TXT a-www.example.org "…owner=blue-cluster…"',
        '+ row www.example.org A "…owner=green-cluster…"',
    ]
    assert format_claim_endpoints([row])[0].startswith("row of registry profile 7: www.example.org A ")


def test_what_cannot_be_read_is_said_to_be_so() -> None:
    sealed = {"dnsName": "a-www.example.org", "targets": ['"c2VhbGVk"']}

    assert describe_claim_change([sealed], []) == ["- TXT a-www.example.org (encrypted or not a plain claim)"]


def test_many_targets_are_counted_and_long_ones_cut() -> None:
    line = format_targets(["x" * 300, "b", "c", "d", "e"])

    assert line == f"{'x' * 79}…, b, c and 2 more"


@settings(deadline=None)
@given(st.text())
def test_foreign_text_holds_nothing_that_cannot_be_seen(text: str) -> None:
    shown = format_foreign(text)

    assert not [character for character in shown if unicodedata.category(character)[0] == "C"]
    shown.encode()


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_json_is_shown_whole_and_safe_to_send(value: object) -> None:
    shown = format_json(value)

    assert not [each for each in shown if unicodedata.category(each)[0] == "C" and each != "\n"]
    shown.encode()
    if _is_plain(value):
        assert json.loads(shown) == value


def _is_plain(value: object) -> bool:
    """Whether no text in it holds what is shown as something else."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, str) or format_foreign(value) == value
