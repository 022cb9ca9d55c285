"""What a zone file cannot hold is refused in words, and nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.reference_server import make_record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    ZoneFileBackend(path).apply(ChangeSet(create=(make_record(),)))
    return path


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        (make_record("eu.example.org", set_identifier="eu"), "no place for a set identifier"),
        (
            Endpoint(
                "p.example.org",
                ("192.0.2.1",),
                "A",
                provider_specific=(ProviderSpecificProperty("alias", "true"),),
            ),
            r"no place for provider-specific properties \(alias\)",
        ),
        (make_record("x.example.org", "SPF", ("x",)), "type SPF is not served"),
        (make_record("x.example.org", "SOA", ("x",)), "type SOA is not served"),
        (make_record("x.example.org", targets=()), "no targets"),
        (make_record("x.example.org", targets=("nowhere",)), "cannot be written into a zone file"),
        (make_record("x.example.org", targets=("192.0.2.1 ; comment",)), "semicolon"),
        (make_record("x.example.org", "MX", ("10 mail.example.org\nx IN A 192.0.2.1",)), "control character"),
        (make_record("x.example.org", "CNAME", ("a.example.org", "b.example.org")), "exactly one target"),
        (make_record("x.example.org", ttl=2**31), "outside 0 to"),
        (make_record("x.example.org", ttl=-1), "outside 0 to"),
        (make_record("www.example.com"), "in none of the zones"),
        (make_record("badexample.org"), "in none of the zones"),
        (make_record(r"\097.example.org"), "another spelling"),
        (make_record(r"\999.example.org"), "is not a name"),
    ],
)
def test_it_calls_impossible_what_no_zone_file_can_hold(path: Path, endpoint: Endpoint, reason: str) -> None:
    before = path.read_bytes()
    backend = ZoneFileBackend(path)
    held, good = backend.records(), make_record("good.example.org")

    with pytest.raises(ChangeImpossible, match=reason):
        backend.apply(ChangeSet(create=(endpoint,)))
    assert path.read_bytes() == before
    with pytest.raises(ChangeRefused, match="1 of 2 changes were not applied, the others were"):
        backend.apply(ChangeSet(create=(good, endpoint)))

    assert set(map(repr, ZoneFileBackend(path).records())) == set(map(repr, [*held, good]))


@pytest.mark.parametrize(
    "change_set",
    [
        ChangeSet(create=(make_record(),)),
        ChangeSet(delete=(make_record("missing.example.org"),)),
        ChangeSet(delete=(make_record(ttl=299),)),
        ChangeSet(create=(make_record("www.example.org", "CNAME", ("lb.example.org",)),)),
        ChangeSet(
            create=(
                make_record("new.example.org", "CNAME", ("lb.example.org",)),
                make_record("new.example.org", "TXT", ('"x"',)),
            )
        ),
    ],
    ids=["exists", "missing", "old is not held", "cname beside a", "cname beside txt"],
)
def test_it_refuses_what_does_not_fit_what_the_file_holds(path: Path, change_set: ChangeSet) -> None:
    backend = ZoneFileBackend(path)
    held, before = backend.records(), path.read_bytes()

    with pytest.raises(ChangeRefused):
        backend.apply(change_set)

    assert path.read_bytes() == before
    assert backend.records() == held


def test_a_record_may_become_a_cname_in_one_request(path: Path) -> None:
    alias = make_record("www.example.org", "CNAME", ("lb.example.org",))

    ZoneFileBackend(path).apply(ChangeSet(create=(alias,), delete=(make_record(),)))

    assert alias in ZoneFileBackend(path).records()
    assert make_record() not in ZoneFileBackend(path).records()


def test_it_does_not_leave_a_zone_without_name_servers(path: Path) -> None:
    backend = ZoneFileBackend(path)
    servers = make_record("example.org", "NS", ("ns1.example.org",))

    with pytest.raises(ChangeImpossible, match="without name servers"):
        backend.apply(ChangeSet(delete=(servers,)))

    assert servers in backend.records()


def test_a_given_domain_filter_narrows_what_may_change(path: Path) -> None:
    backend = ZoneFileBackend(path, domain_filter=DomainFilter(include=("team.example.org",)))

    with pytest.raises(ChangeImpossible, match="in none of the zones"):
        backend.apply(ChangeSet(delete=(make_record(),)))

    assert backend.domain_filter().include == ("team.example.org",)


_SOA = "@ IN SOA ns1 host 1 2 3 4 5\n"


def _missing(path: Path) -> None:
    path.unlink()


def _writing(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_missing, "cannot be read"),
        (_writing("not a zone"), r"example\.org\.zone: Not a zone"),
        (_writing("$TTL 300\n@ IN NS ns1\n"), "no SOA record"),
        (_writing(f"$TTL 300\n{_SOA}$INCLUDE /etc/hostname\n"), "Not a zone"),
        (_writing(f"$TTL 300\n{_SOA}$GENERATE 1-1000000 h$ A 192.0.2.1\n"), "Not a zone"),
        (_writing(f"$TTL 300\n{_SOA}a CNAME b\na A 192.0.2.1\n"), "Not a zone"),
        (_writing(f"$TTL never\n{_SOA}"), "Not a"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_never_an_empty_zone(
    path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    backend = ZoneFileBackend(path)
    damage(path)

    with pytest.raises(BackendError, match=reason):
        backend.records()
    with pytest.raises(BackendError, match=reason):
        ZoneFileBackend(path)


def test_a_folder_without_zones_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="holds no zone"):
        ZoneFileBackend(tmp_path)


def test_two_files_of_one_zone_are_an_error(path: Path) -> None:
    (path.parent / "copy.zone").write_bytes(path.read_bytes())

    with pytest.raises(BackendError, match="have the same zone"):
        ZoneFileBackend(path.parent)
