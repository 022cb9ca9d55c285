"""A record set and its claims are made together or not at all; all else is apart."""

from pathlib import Path

import msgspec
import pytest

from providers.backends.errors import BackendError, Reason
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.registries.claim import TxtProfile
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from tests.reference_server import make_claim, make_record

GOOD = make_record("good.example.org")
BAD = make_record("bad.example.org", targets=("not an address",))


@pytest.fixture
def backend(tmp_path: Path) -> ZoneFileBackend:
    write_new_zone(tmp_path / "example.org.zone", "example.org")
    return ZoneFileBackend(tmp_path)


def _names(backend: ZoneFileBackend) -> set[tuple[str, str]]:
    return {(each.dns_name, each.record_type) for each in backend.records() if each.record_type != "NS"}


def _apply(backend: ZoneFileBackend, change_set: ChangeSet) -> dict[tuple[str, str], Reason]:
    """The reasons of what was left out."""
    with pytest.raises(BackendError) as caught:
        backend.apply(change_set)
    return {(each.key.name, each.key.record_type): each.error.reason for each in caught.value.refused}


@pytest.mark.parametrize(
    "profile",
    [
        TxtProfile(),
        TxtProfile(prefix="own."),
        TxtProfile(suffix="-own"),
        TxtProfile(prefix="x-%{record_type}-"),
    ],
)
def test_a_claim_stays_away_with_the_record_that_cannot_be_made(
    backend: ZoneFileBackend, profile: TxtProfile
) -> None:
    claim = make_claim("bad.example.org", profile=profile)

    reasons = _apply(backend, ChangeSet(create=(BAD, claim, GOOD, make_claim("good.example.org"))))

    assert reasons == {
        ("bad.example.org", "A"): Reason.CANNOT_HOLD,
        (claim.dns_name, "TXT"): Reason.BELONGS_TOGETHER,
    }
    assert _names(backend) == {("good.example.org", "A"), ("a-good.example.org", "TXT")}


def test_a_record_stays_away_with_its_claim_where_another_owner_has_one(backend: ZoneFileBackend) -> None:
    backend.apply(ChangeSet(create=(make_claim(owner="green-cluster"),)))

    reasons = _apply(backend, ChangeSet(create=(make_record(), make_claim(), GOOD)))

    assert reasons[("www.example.org", "A")] is Reason.BELONGS_TOGETHER
    assert reasons[("a-www.example.org", "TXT")] is Reason.EXISTS
    assert ("www.example.org", "A") not in _names(backend)
    assert ("good.example.org", "A") in _names(backend)


def test_a_record_whose_claim_has_moved_to_another_owner_is_not_deleted(backend: ZoneFileBackend) -> None:
    legacy = msgspec.structs.replace(make_claim(), dns_name="www.example.org")
    moved = make_claim(owner="green-cluster")
    backend.apply(ChangeSet(create=(make_record(), legacy, moved)))
    before = _names(backend)

    reasons = _apply(backend, ChangeSet(delete=(make_record(ttl=0), legacy, make_claim())))

    assert _names(backend) == before
    assert reasons[("a-www.example.org", "TXT")] is Reason.OLD_VALUE


def test_a_claim_that_cannot_stand_is_left_out_alone_where_another_one_can(backend: ZoneFileBackend) -> None:
    alias = make_record("www.example.org", "CNAME", ("lb.example.net",))
    legacy = msgspec.structs.replace(make_claim(record_type="CNAME"), dns_name="www.example.org")

    reasons = _apply(backend, ChangeSet(create=(legacy, alias, make_claim(record_type="CNAME"))))

    assert reasons == {("www.example.org", "TXT"): Reason.CNAME_CONFLICT}
    assert _names(backend) == {("www.example.org", "CNAME"), ("cname-www.example.org", "TXT")}


def test_a_record_that_gives_way_to_another_type_stays_if_that_cannot_be_made(
    backend: ZoneFileBackend,
) -> None:
    backend.apply(ChangeSet(create=(make_record(), make_claim())))
    bad = make_record("www.example.org", "CNAME", ("a.example.net", "b.example.net"))

    _apply(
        backend,
        ChangeSet(create=(bad, make_claim(record_type="CNAME")), delete=(make_record(), make_claim())),
    )

    assert _names(backend) == {("www.example.org", "A"), ("a-www.example.org", "TXT")}


@pytest.mark.parametrize(
    "change_set",
    [
        ChangeSet(create=(make_record("two words.example.org"),)),
        ChangeSet(create=(make_record(), make_record("WWW.example.org"))),
        ChangeSet(update_old=(make_record(),)),
        ChangeSet(update_old=(make_record(),), update_new=(make_record(),), delete=(make_record(),)),
        ChangeSet(create=(make_record("www.example.net"),)),
        ChangeSet(delete=(make_record("absent.example.org"),)),
    ],
    ids=["no name", "twice", "half an update", "updated and deleted", "elsewhere", "absent"],
)
def test_whatever_is_wrong_with_one_change_the_others_are_made(
    backend: ZoneFileBackend, change_set: ChangeSet
) -> None:
    made: tuple[Endpoint, ...] = (GOOD, make_claim("good.example.org"))

    _apply(backend, msgspec.structs.replace(change_set, create=(*change_set.create, *made)))

    assert _names(backend) == {("good.example.org", "A"), ("a-good.example.org", "TXT")}


def test_other_texts_keep_the_very_strings_they_are_split_into(tmp_path: Path) -> None:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    claim = make_claim()
    path.write_text(path.read_text() + f'a-www IN TXT {claim.targets[0]}\na-www IN TXT "some" "thing else"\n')

    ZoneFileBackend(path).apply(ChangeSet(delete=(msgspec.structs.replace(claim, record_ttl=0),)))

    assert 'a-www.example.org. 300 IN TXT "some" "thing else"' in path.read_text()
    assert "heritage" not in path.read_text()
