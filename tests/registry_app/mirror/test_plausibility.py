"""How little a response may show, and what counts as shown."""

import pytest

from providers.registries.encryption import encrypt_labels_text
from providers.wire.endpoint import Endpoint
from registry_app.mirror.baseline import ImplausibleResponse, compare_with_known, raise_if_implausible
from registry_app.mirror.plausibility import Counts, Thresholds, count_endpoints
from registry_app.models import Provider
from tests.factories import make_provider, make_record_set
from tests.reference_server import make_claim, make_record

_KEY = b"0123456789abcdef0123456789abcdef"
_TOKEN = f'"{encrypt_labels_text("a token that is no claim, and long enough to look like one", _KEY)}"'


@pytest.mark.parametrize(
    ("known", "shown", "is_implausible"),
    [
        (0, 0, False),
        (1, 0, True),
        (9, 1, False),
        (9, 0, True),
        (10, 7, False),
        (10, 6, True),
        (100, 70, False),
        (100, 69, True),
        (-1, 0, False),
    ],
)
def test_fewer_than_seven_tenths_of_ten_or_more_are_too_few(
    known: int, shown: int, is_implausible: bool
) -> None:
    assert Thresholds().is_too_few(shown, known) is is_implausible


def test_claims_and_endpoints_of_one_record_set_are_told_apart_from_record_sets() -> None:
    www = "www.example.org"
    mixed = make_record("mixed.example.org", "TXT", (*make_claim(www).targets, '"v=spf1 -all"'))
    endpoints = [
        make_record(www),
        make_record(www, targets=("192.0.2.2",)),
        make_record(www, "AAAA", ("2001:db8::1",)),
        make_claim(www),
        mixed,
        make_record("spf.example.org", "TXT", ('"v=spf1 -all"',)),
        make_record("token.example.org", "TXT", (_TOKEN,)),
    ]

    assert count_endpoints(endpoints) == Counts(typed=2, texts=2, claims=2)


@pytest.mark.django_db
def test_texts_that_look_encrypted_are_not_missed_where_all_else_is_there() -> None:
    provider = make_provider(record_set_count=20)
    for number in range(10):
        make_record_set(provider, f"app-{number}.example.org")
    zone = [make_record(f"app-{number}.example.org") for number in range(10)]
    tokens = [make_record(f"token-{number}.example.org", "TXT", (_TOKEN,)) for number in range(10)]

    _read(provider, [*zone, *tokens])
    with pytest.raises(ImplausibleResponse, match="Only 6 of 20 known record sets are still there"):
        _read(provider, [*zone[:6], *tokens])


def _read(provider: Provider, endpoints: list[Endpoint]) -> None:
    found = compare_with_known(provider, count_endpoints(endpoints), len(endpoints))
    raise_if_implausible(provider, found)
