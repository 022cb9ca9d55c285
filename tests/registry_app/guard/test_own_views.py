"""A guard endpoint with a view of its own: its instance reads and manages the names of its owner alone."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from registry_app.guard.negotiation import NegotiationCopies, remember_all
from registry_app.models import Freeze, GuardEndpoint, Owner, Provider, RegistryProfile
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.faults import read_faults
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.serving import Guarded, guarded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
MODE = GuardEndpoint.Mode
APEX = [make_record("blue.example.org"), make_claim("blue.example.org")]
OWN = [*APEX, make_record("www.blue.example.org"), make_claim("www.blue.example.org")]
OTHERS = [
    *(make_record("www.example.org"), make_claim("www.example.org", owner="green-cluster")),
    *(make_record("mail.example.org"), make_claim("mail.example.org")),
]
ZONE = [*OTHERS[:2], *OWN, *OTHERS[2:]]


@contextmanager
def _guarded(
    tmp_path: Path,
    zone: Iterable[Endpoint] = ZONE,
    patterns: Iterable[str] = ("blue.example.org",),
    **values: Any,
) -> Iterator[Guarded]:
    """A guard endpoint with a view, of an owner with these name patterns."""
    with guarded(tmp_path, zone, **{"has_own_view": True, **values}) as guard:
        Owner.objects.filter(owner_id="blue-cluster").update(name_patterns=list(patterns))
        yield guard


def _negotiate(guard: Guarded) -> DomainFilter:
    return parse_domain_filter(guard.get().content).filter


def test_it_reads_the_names_of_its_owner_with_their_claims_byte_for_byte(tmp_path: Path) -> None:
    with _guarded(tmp_path) as guard:
        answer = guard.get("/records")
        compressed = guard.get("/records", headers={"Accept-Encoding": "gzip"}, stream=True)
        raw = compressed.raw.read(decode_content=False)

    assert answer.content == encode_endpoints(OWN)
    assert gzip.decompress(raw) == encode_endpoints(OWN)


def test_the_negotiation_gives_the_filter_of_the_provider_cut_to_its_names(tmp_path: Path) -> None:
    lists = DomainFilter(include=("example.org",), exclude=("x.blue.example.org",))
    with _guarded(tmp_path, domain_filter=lists) as guard:
        assert guard.get().json() == {"include": ["blue.example.org"], "exclude": ["x.blue.example.org"]}


def test_a_provider_with_patterns_gets_patterns_alone(tmp_path: Path) -> None:
    with _guarded(tmp_path, domain_filter=DomainFilter(regex_include="^w")) as guard:
        found = _negotiate(guard)
        shown = guard.read()

    assert (found.include, found.exclude, found.regex_include) == ((), (), "^w")
    assert found.matches("www.blue.example.org")
    assert not any(map(found.matches, ("www.example.org", "blue.example.org")))
    assert shown == OWN[2:]


def test_names_the_provider_does_not_manage_are_a_filter_that_nothing_matches(tmp_path: Path) -> None:
    managed = DomainFilter(include=("example.org",))
    with (
        _guarded(tmp_path, patterns=["example.net"], domain_filter=managed) as guard,
        Instance(Settings(guard.url, "blue-cluster"), [make_record("www.example.net")]) as instance,
    ):
        found = _negotiate(guard)
        assert instance.run_once().outcome is Outcome.QUIET
        assert guard.read() == []

    assert not found.matches_everything
    assert not any(map(found.matches, ("www.example.org", "www.example.net")))


def test_an_instance_with_its_view_does_what_it_does_without(tmp_path: Path) -> None:
    desired = [make_record("new.blue.example.org"), make_record("blue.example.org", targets=["192.0.2.9"])]
    with _guarded(tmp_path, mode=MODE.DRY_RUN) as guard:
        straight = Settings(
            guard.reference.url, "blue-cluster", domain_filter=DomainFilter(include=("blue.example.org",))
        )
        with Instance(Settings(guard.url, "blue-cluster"), desired) as behind:
            sent = behind.run_once().sent
        with Instance(straight, desired) as instance:
            expected = instance.run_once().sent

    assert sent == expected
    assert [each.dns_name for each in sent.create] == ["new.blue.example.org", "a-new.blue.example.org"]
    assert [each.dns_name for each in sent.delete] == ["www.blue.example.org", "a-www.blue.example.org"]


@pytest.mark.parametrize("mode", [MODE.OBSERVE, MODE.ENFORCE])
def test_its_changes_reach_the_provider(tmp_path: Path, mode: str) -> None:
    desired = [make_record("new.blue.example.org"), *OWN[::2]]
    with (
        _guarded(tmp_path, mode=mode) as guard,
        Instance(Settings(guard.url, "blue-cluster"), desired) as instance,
    ):
        outcomes = [instance.run_once().outcome for _ in range(2)]
        names = {each.dns_name for each in guard.reference.endpoints()}

    assert outcomes == [Outcome.CHANGED, Outcome.QUIET]
    assert {"new.blue.example.org", "a-new.blue.example.org"} <= names


@pytest.mark.parametrize("mode", [MODE.OBSERVE, MODE.ENFORCE])
def test_an_instance_that_started_before_its_view_changes_nothing_outside_of_it(
    tmp_path: Path, mode: str
) -> None:
    desired = [*OWN[::2], make_record("mail.example.org", targets=["192.0.2.9"])]
    with _guarded(tmp_path, mode=mode, has_own_view=False) as guard:
        with Instance(Settings(guard.url, "blue-cluster"), desired) as instance:
            GuardEndpoint.objects.update(has_own_view=True)
            before = guard.reference.zone_bytes()
            outcome = instance.run_once().outcome

        assert outcome is Outcome.QUIET
        assert guard.reference.zone_bytes() == before


def test_an_instance_with_old_records_in_its_cache_changes_nothing_outside_of_its_view(
    tmp_path: Path,
) -> None:
    with _guarded(tmp_path, mode=MODE.OBSERVE, has_own_view=False) as guard:
        settings = Settings(guard.url, "blue-cluster", txt_cache_seconds=3600)
        with Instance(settings, [*OWN[::2], OTHERS[2]]) as instance:
            assert instance.run_once().outcome is Outcome.QUIET
            GuardEndpoint.objects.update(has_own_view=True)
            before = guard.reference.zone_bytes()
            result = instance.run_once()

        assert (result.outcome, guard.reference.zone_bytes()) == (Outcome.SOFT_ERROR, before)


def test_claims_under_a_profile_of_the_provider_follow_their_record_sets(tmp_path: Path) -> None:
    profile = RegistryProfile(name="prefixed", kind="txt", prefix="txt-")
    claim = make_claim("blue.example.org", profile=Settings("", "x", txt_prefix="txt-").profile)
    with _guarded(tmp_path, [APEX[0], claim]) as guard:
        without = guard.read()
        profile.save()
        found = guard.read()

    assert (without, found) == ([APEX[0]], [APEX[0], claim])


def test_what_changes_in_the_zone_shows_in_the_view(tmp_path: Path) -> None:
    with _guarded(tmp_path) as guard:
        before = guard.read()
        guard.reference.backend.apply(ChangeSet(create=(make_record("new.blue.example.org"),)))
        Provider.objects.get().save()  # as whoever writes does: an older reading is not used again
        after = guard.read()
        Owner.objects.update(name_patterns=["mail.example.org"])
        narrowed = guard.read()

    assert before == OWN
    assert make_record("new.blue.example.org") in after
    assert narrowed == OTHERS[2:]


def test_the_largest_body_is_that_of_the_view(tmp_path: Path) -> None:
    size = len(encode_endpoints(OWN))
    with _guarded(tmp_path, max_body_bytes=size) as guard:
        fits = guard.get("/records")
        GuardEndpoint.objects.update(max_body_bytes=size - 1)
        too_large = guard.get("/records")

    assert (fits.status_code, too_large.status_code) == (200, 503)
    assert "--webhook-provider-max-body-size" in too_large.text


def test_a_zone_that_lost_other_names_is_implausible_for_the_view_too(tmp_path: Path) -> None:
    many = [make_record(f"{number}.example.org") for number in range(20)]
    with _guarded(tmp_path, [*OWN, *many]) as guard:
        guard.reference.faults.plan("GET /records", read_faults.body(encode_endpoints(OWN)))
        answer = guard.get("/records")

    assert answer.status_code == 503


def test_the_copies_keep_the_filter_of_the_view(tmp_path: Path) -> None:
    with _guarded(tmp_path, domain_filter=DomainFilter(include=("example.org",))):
        copies = NegotiationCopies(tmp_path / "others.json")
        remember_all(copies)
        found = NegotiationCopies(tmp_path / "others.json").find("blue")

    assert found is not None
    assert found.domain_filter == DomainFilter(include=("blue.example.org",))


def test_names_that_make_no_filter_are_said_and_do_not_stop_the_guard(tmp_path: Path) -> None:
    names = [f"{number:060}.example.org" for number in range(100)]
    with _guarded(tmp_path, patterns=names, domain_filter=DomainFilter(regex_include="a")) as guard:
        remember_all(NegotiationCopies(tmp_path / "others.json"))
        answer = guard.get()

    assert answer.status_code == 503
    assert "blue-cluster" in answer.text


def test_the_view_of_an_owner_that_lost_its_name_patterns_is_everything(tmp_path: Path) -> None:
    with _guarded(tmp_path) as guard:
        Owner.objects.update(name_patterns=[])

        assert guard.read() == ZONE
        assert _negotiate(guard).matches_everything


def test_what_is_frozen_is_given_back_within_the_view(tmp_path: Path) -> None:
    with _guarded(tmp_path, mode=MODE.ENFORCE) as guard:
        Freeze.objects.create(
            provider=guard.endpoint.provider,
            reason="Change stop.",
            starts_at=timezone.now(),
            created_by="alice",
        )
        answer = guard.adjust([])

    assert {each["dnsName"] for each in answer.json()} == {"blue.example.org", "www.blue.example.org"}
