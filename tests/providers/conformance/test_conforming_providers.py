"""A provider that keeps the protocol passes, and holds afterwards what it held before."""

import pytest

from providers.backends.errors import ChangeImpossible
from providers.backends.memory import ApplyMode
from providers.conformance.run import run_conformance
from providers.conformance.subject import Report, Subject, Verdict
from providers.http.address_policy import AddressPolicy
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import KNOWN_RECORD_TYPES
from providers.wire.json_codec import decode_change_set_strict
from tests.depth import deep_after
from tests.faults import read_faults
from tests.providers.conformance.by_meaning import ByMeaning, ByMeaningProvider
from tests.reference_server import ReferenceProvider, make_zone
from tests.servers.provider_server import PluginServer

pytestmark = pytest.mark.deep

_AS_SENT = "as ExternalDNS sends"


def ask(url: str, *, zone: str = "", patience: float = 0.0, protocol: str = "webhook") -> Report:
    """Everything that can be asked of the provider at `url`."""
    subject = Subject(url, protocol=protocol, policy=AddressPolicy(allow_loopback=True))
    return run_conformance(subject, zone=zone, patience=patience)


def told(report: Report, title: str) -> tuple[Verdict, str]:
    """The one observation whose title begins so: its verdict, its detail and its advice."""
    (found,) = [each for each in report.observations if each.title.startswith(title)]
    return found.verdict, f"{found.detail} {found.advice}"


def test_reading_only_sends_no_change() -> None:
    with ReferenceProvider(make_zone(count=20)) as provider:
        report = ask(provider.url)

        assert report.is_conformant, report
        assert not report.wrote
        assert provider.history.requests("POST /records") == ()


@pytest.mark.parametrize("mode", deep_after(1, ApplyMode))
def test_writing_leaves_the_zone_as_it_was(mode: ApplyMode) -> None:
    with ByMeaningProvider(make_zone(count=20), mode=mode) as provider:
        before = provider.zone_bytes()

        report = ask(provider.url, zone="example.org")

        assert report.is_conformant, [each for each in report.observations if each.verdict == "failed"]
        assert report.wrote
        assert provider.zone_bytes() == before
        assert provider.history.requests("POST /records")


@pytest.mark.parametrize(
    ("mode", "advice"),
    deep_after(
        1,
        [
            (ApplyMode.ATOMIC, "all or nothing"),
            (ApplyMode.SEQUENTIAL, "Nothing is applied"),
            (ApplyMode.SKIP_UNMATCHED, "The good one is applied"),
        ],
    ),
)
def test_it_tells_how_one_bad_change_is_taken(mode: ApplyMode, advice: str) -> None:
    with ReferenceProvider(make_zone(count=5), mode=mode) as provider:
        report = ask(provider.url, zone="example.org")

    assert advice in told(report, "One bad change in a change set")[1]


@pytest.mark.deep
def test_it_tells_that_old_values_are_not_compared() -> None:
    with ByMeaningProvider(make_zone(count=5), value_exact=False) as provider:
        report = ask(provider.url, zone="example.org")

    assert report.is_conformant
    assert told(report, "An update whose old value")[0] == Verdict.NOTED
    assert told(report, "A delete whose value")[0] == Verdict.NOTED


@pytest.mark.deep
def test_a_provider_that_shows_changes_late_passes_with_patience() -> None:
    with ByMeaningProvider(make_zone(count=5), reads_until_visible=2) as provider:
        before = provider.zone_bytes()

        report = ask(provider.url, zone="example.org", patience=0.5)

        assert report.is_conformant, [each for each in report.observations if each.verdict == "failed"]
        assert provider.zone_bytes() == before


def test_names_outside_the_domain_filter_are_noted() -> None:
    elsewhere = make_zone(count=1, domain="example.net")
    with ReferenceProvider(elsewhere, domain_filter=DomainFilter(include=("example.org",))) as provider:
        report = ask(provider.url)

    assert told(report, "All names lie within")[0] == Verdict.NOTED


def test_a_plugin_is_asked_about_property_values_too() -> None:
    with ReferenceProvider(make_zone(count=5), server_type=PluginServer) as provider:
        report = ask(provider.url, protocol="plugin")

        assert report.is_conformant, report
        assert told(report, "A value equals itself")[0] == Verdict.PASSED
        assert told(report, "Its Vary header names Content-Type")[0] == Verdict.PASSED
        assert provider.history.requests("POST /propertyvaluesequal")


def test_every_record_type_makes_its_round_trip() -> None:
    with ReferenceProvider(make_zone(count=5)) as provider:
        report = ask(provider.url, zone="example.org")

    ended = ") comes back as it was written"
    shown = {each.title.partition(" (")[0] for each in report.observations if each.title.endswith(ended)}
    assert shown == set(KNOWN_RECORD_TYPES)


@pytest.mark.deep
def test_what_was_refused_is_not_waited_for() -> None:
    class OneSetAlone(ByMeaning):
        def apply(self, change_set: ChangeSet) -> None:
            if any(each.set_identifier for each in change_set.create):
                raise ChangeImpossible("Set identifiers are not held here.")
            super().apply(change_set)

    class OneSetAloneProvider(ReferenceProvider):
        backend_type = OneSetAlone

    with OneSetAloneProvider(make_zone(count=5)) as provider:
        report = ask(provider.url, zone="example.org", patience=60.0)

    assert told(report, "Two record sets of one name")[0] == Verdict.NOTED
    assert report.seconds < 30


def test_updates_and_deletes_come_as_external_dns_sends_them() -> None:
    with ByMeaningProvider(make_zone(count=5)) as provider:
        report = ask(provider.url, zone="example.org")
        sent = [
            decode_change_set_strict(entry.body, max_items=100)
            for entry in provider.history.requests("POST /records")
            if entry.body.endswith(b"}")  # all but the one that is broken on purpose
        ]

    verdicts = {each.title: each.verdict for each in report.observations if each.area == _AS_SENT}
    assert len(verdicts) == 6
    assert set(verdicts.values()) == {Verdict.PASSED}
    claims = [
        endpoint
        for change_set in sent
        for endpoint in (*change_set.update_old, *change_set.update_new)
        if endpoint.record_type == "TXT"
    ]
    assert {each.record_ttl for each in claims} == {0}
    assert all(each.labels["ownedRecord"] == each.dns_name.removeprefix("a-") for each in claims)
    assert {each.targets for each in claims} == {
        ('"heritage=external-dns,external-dns/owner=check,external-dns/resource=ingress/shop/www"',)
    }
    forced = [each for each in claims if each.provider_specific]
    assert [each.provider_specific[0].name for each in forced] == ["txt/force-update"]


@pytest.mark.parametrize("zone", deep_after(1, ["Straße.example.org.", "XN--MNCHEN-3YA.example.org"]))
def test_what_is_written_below_an_international_name_is_found_and_removed_again(zone: str) -> None:
    with ByMeaningProvider(make_zone(count=3)) as provider:
        before = provider.zone_bytes()

        report = ask(provider.url, zone=zone)

        assert report.is_conformant, [each for each in report.observations if each.verdict == "failed"]
        assert provider.zone_bytes() == before


def test_nothing_is_written_below_what_is_no_name() -> None:
    with ReferenceProvider(make_zone(count=3)) as provider:
        report = ask(provider.url, zone="not..a name")

        assert told(report, "The zone to write below is a name")[0] == Verdict.FAILED
        assert provider.history.requests("POST /records") == ()


def test_an_unknown_address_may_answer_as_the_bare_url_does() -> None:
    with ReferenceProvider(make_zone(count=5)) as provider:
        bare = Subject(provider.url, policy=AddressPolicy(allow_loopback=True)).call("GET").body
        provider.faults.plan("GET /no-such-address", read_faults.body(bare))

        report = ask(provider.url)

    assert told(report, "An unknown address")[0] == Verdict.PASSED
