"""A provider that keeps the protocol passes, and holds afterwards what it held before."""

import pytest

from providers.backends.memory import ApplyMode
from providers.conformance.observation import Report, Verdict
from providers.conformance.run import run_conformance
from providers.conformance.subject import Subject
from providers.http.address_policy import AddressPolicy
from providers.wire.domain_filter import DomainFilter
from tests.reference_server import ReferenceProvider, make_zone


def ask(url: str, *, zone: str = "", patience: float = 0.0) -> Report:
    """Everything that can be asked of the provider at `url`."""
    return run_conformance(
        Subject(url, policy=AddressPolicy(allow_loopback=True)), zone=zone, patience=patience
    )


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


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_writing_leaves_the_zone_as_it_was(mode: ApplyMode) -> None:
    with ReferenceProvider(make_zone(count=20), mode=mode) as provider:
        before = provider.zone_bytes()

        report = ask(provider.url, zone="example.org")

        assert report.is_conformant, [each for each in report.observations if each.verdict == "failed"]
        assert report.wrote
        assert provider.zone_bytes() == before
        assert provider.history.requests("POST /records")


@pytest.mark.parametrize(
    ("mode", "advice"),
    [
        (ApplyMode.ATOMIC, "all or nothing"),
        (ApplyMode.SEQUENTIAL, "Nothing is made"),
        (ApplyMode.SKIP_UNMATCHED, "The good one is made"),
    ],
)
def test_it_tells_how_one_bad_change_is_taken(mode: ApplyMode, advice: str) -> None:
    with ReferenceProvider(make_zone(count=5), mode=mode) as provider:
        report = ask(provider.url, zone="example.org")

    assert advice in told(report, "One bad change in a change set")[1]


def test_it_tells_that_old_values_are_not_compared() -> None:
    with ReferenceProvider(make_zone(count=5), value_exact=False) as provider:
        report = ask(provider.url, zone="example.org")

    assert report.is_conformant
    assert told(report, "An update whose old value")[0] == Verdict.NOTED
    assert told(report, "A delete whose value")[0] == Verdict.NOTED


def test_a_provider_that_shows_changes_late_passes_with_patience() -> None:
    with ReferenceProvider(make_zone(count=5), reads_until_visible=2) as provider:
        before = provider.zone_bytes()

        report = ask(provider.url, zone="example.org", patience=0.5)

        assert report.is_conformant, [each for each in report.observations if each.verdict == "failed"]
        assert provider.zone_bytes() == before


def test_names_outside_the_domain_filter_are_noted() -> None:
    elsewhere = make_zone(count=1, domain="example.net")
    with ReferenceProvider(elsewhere, domain_filter=DomainFilter(include=("example.org",))) as provider:
        report = ask(provider.url)

    assert told(report, "All names lie within")[0] == Verdict.NOTED
