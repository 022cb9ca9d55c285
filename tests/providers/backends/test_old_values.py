"""Old values as ExternalDNS sends them: by meaning, and never by bytes."""

import msgspec
import pytest

from providers.backends.errors import ChangeRefused, Reason
from providers.backends.old_value import OldValues
from providers.backends.single_change import SingleChange, key_of
from providers.registries.encryption import encrypt_labels_text
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.reference_server import make_record

KEY = b"0123456789abcdef0123456789abcdef"
PLAIN = "heritage=external-dns,external-dns/owner=a,external-dns/resource=ingress/x/w"
CLAIM = f'"{PLAIN}"'
OTHER_OWNER = CLAIM.replace("owner=a", "owner=b")
OTHER_LABELS = CLAIM.replace("x/w", "x/other")
TEXT = '"something else"'


def _txt(*targets: str, ttl: int = 0, forced: bool = False) -> Endpoint:
    endpoint = make_record("a-www.example.org", "TXT", targets, ttl=ttl)
    properties = (ProviderSpecificProperty("txt/force-update", "true"),) if forced else ()
    return msgspec.structs.replace(endpoint, provider_specific=properties)


def _settle(
    old: Endpoint | None, new: Endpoint | None, held: Endpoint | None, *keys: bytes
) -> Endpoint | None:
    endpoint = new or old
    assert endpoint is not None
    return OldValues(keys).settle(SingleChange(key_of(endpoint), old, new), held)


@pytest.mark.parametrize(
    "held",
    [
        CLAIM,
        '"heritage=external-dns,external-dns/resource=ingress/x/w,external-dns/owner=a"',
        f'"{PLAIN[:20]}" "{PLAIN[20:]}"',
        PLAIN,
        f'"{encrypt_labels_text(PLAIN, KEY)}"',
    ],
    ids=["the same", "other order", "two strings", "no quotes", "encrypted"],
)
def test_a_claim_is_compared_by_what_it_says(held: str) -> None:
    old = _txt(CLAIM)

    assert _settle(old, None, _txt(held, ttl=300), KEY) is None
    kept = _settle(old, _txt(OTHER_OWNER), _txt(TEXT, held, ttl=300), KEY)

    assert kept is not None
    assert (kept.targets, kept.record_ttl) == ((TEXT, OTHER_OWNER), 300)
    with pytest.raises(ChangeRefused):
        _settle(_txt(OTHER_OWNER), None, _txt(held, ttl=300), KEY)


@pytest.mark.parametrize("held", [OTHER_OWNER, OTHER_LABELS, TEXT], ids=["owner", "labels", "no claim"])
def test_another_owner_or_other_labels_are_refused(held: str) -> None:
    for new in (None, _txt(CLAIM)):
        with pytest.raises(ChangeRefused) as caught:
            _settle(_txt(CLAIM), new, _txt(held, ttl=300))
        assert caught.value.reason is Reason.OLD_VALUE


def test_what_no_key_opens_is_the_same_only_byte_for_byte() -> None:
    sealed, again = (f'"{encrypt_labels_text(PLAIN, KEY)}"' for _ in range(2))

    assert _settle(_txt(sealed), None, _txt(sealed, ttl=300)) is None
    with pytest.raises(ChangeRefused):
        _settle(_txt(again), None, _txt(sealed, ttl=300))
    assert _settle(_txt(again), None, _txt(sealed, ttl=300), KEY) is None


def test_texts_beside_a_claim_stay_with_their_ttl() -> None:
    held = _txt(CLAIM, TEXT, '"third"', ttl=60)

    deleted = _settle(_txt(CLAIM), None, held)
    updated = _settle(_txt(CLAIM), _txt(OTHER_OWNER, ttl=300), held)

    assert deleted is not None
    assert (deleted.targets, deleted.record_ttl) == ((TEXT, '"third"'), 60)
    assert updated is not None
    assert (updated.targets, updated.record_ttl) == ((OTHER_OWNER, TEXT, '"third"'), 60)


def test_a_forced_update_of_a_claim_that_is_not_there_creates_it() -> None:
    old, new = _txt(CLAIM, forced=True), _txt(CLAIM)

    assert _settle(old, new, None) == new
    beside = _settle(old, new, _txt(TEXT, ttl=60))
    assert beside is not None
    assert beside.targets == (CLAIM, TEXT)
    assert _settle(old, None, None) is None
    with pytest.raises(ChangeRefused):
        _settle(old, new, _txt(OTHER_OWNER))
    with pytest.raises(ChangeRefused) as caught:
        _settle(_txt(CLAIM), new, None)
    assert caught.value.reason is Reason.ABSENT


def test_a_new_claim_goes_beside_other_texts_and_never_over_a_claim() -> None:
    beside = _settle(None, _txt(CLAIM), _txt(TEXT, ttl=60))

    assert beside is not None
    assert beside.targets == (CLAIM, TEXT)
    assert _settle(None, _txt(CLAIM), _txt(CLAIM, ttl=60)) == _txt(CLAIM, ttl=60)
    with pytest.raises(ChangeRefused):
        _settle(None, _txt(CLAIM), _txt(OTHER_OWNER))


def test_a_ttl_that_is_not_stated_matches_any_and_leaves_it_to_the_backend() -> None:
    held = make_record(ttl=60)
    unstated = make_record(ttl=0)

    after = _settle(unstated, make_record(targets=("192.0.2.9",), ttl=0), held)
    claim = _settle(_txt(CLAIM), _txt(OTHER_OWNER), _txt(CLAIM, ttl=60))

    assert after is not None
    assert after.record_ttl == 0
    assert claim is not None
    assert claim.record_ttl == 60
    with pytest.raises(ChangeRefused):
        _settle(make_record(ttl=300), None, held)


@pytest.mark.parametrize(
    ("record_type", "held", "old", "is_same"),
    [
        ("CNAME", "lb.example.net", "LB.Example.net.", True),
        ("AAAA", "2001:db8::1", "2001:DB8:0::1", True),
        ("A", "192.0.2.1", "192.0.2.2", False),
        ("TXT", '"v=spf1 -all"', "v=spf1 -all", True),
        ("TXT", '"Token"', '"token"', False),
    ],
)
def test_other_values_compare_as_values(record_type: str, held: str, old: str, is_same: bool) -> None:
    held_endpoint = make_record("www.example.org", record_type, (held,))
    old_endpoint = make_record("www.example.org", record_type, (old,), ttl=0)

    if is_same:
        assert _settle(old_endpoint, None, held_endpoint) is None
    else:
        with pytest.raises(ChangeRefused):
            _settle(old_endpoint, None, held_endpoint)
