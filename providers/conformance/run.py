"""One conformance run: everything that can be asked, in order, whatever happens in between."""

import time
from collections.abc import Iterator

from providers.conformance.as_external_dns import check_as_external_dns
from providers.conformance.exactness import check_exactness
from providers.conformance.observation import Observation, Report, Verdict
from providers.conformance.property_values import check_property_values
from providers.conformance.reading import (
    check_adjusting,
    check_bad_input,
    check_names_are_inside,
    check_negotiation,
    check_records,
    observe,
)
from providers.conformance.round_trips import check_round_trips
from providers.conformance.subject import Subject, Unanswered
from providers.conformance.workplace import Workplace
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.domain_filter import DomainFilter, parse_domain_filter


def run_conformance(subject: Subject, *, zone: str = "", patience: float = 10.0) -> Report:
    """Ask everything. Without `zone` nothing is written; with it, under a label of its own below that zone,
    which is cleaned up at the end. `patience` is how long (seconds) a change may take to show.

    Never raises for what a provider does: that is what the report is for.
    """
    started = time.monotonic()
    observations = list(_observe_all(subject, zone, patience))
    return Report(
        subject.origin, subject.protocol, bool(zone), time.monotonic() - started, tuple(observations)
    )


def _observe_all(subject: Subject, zone: str, patience: float) -> Iterator[Observation]:
    yield from observe("negotiation", check_negotiation(subject))
    yield from observe("records", check_records(subject))
    domain_filter = _fetch_filter(subject)
    if domain_filter is not None and not domain_filter.matches_everything:
        yield from observe("records", check_names_are_inside(subject, domain_filter))
    yield from observe("adjustendpoints", check_adjusting(subject))
    if subject.protocol == "plugin":
        yield from observe("propertyvaluesequal", check_property_values(subject))
    yield from observe("bad input", check_bad_input(subject))
    if zone:
        yield from observe("round trip", _write_below(subject, zone, patience))


def _write_below(subject: Subject, zone: str, patience: float) -> Iterator[Observation]:
    try:
        name = canonical_name(zone.strip("."))
    except InvalidName as error:
        title = "The zone to write below is a name"
        yield Observation("round trip", title, Verdict.FAILED, f"{error.reason}. Nothing was written.")
        return
    yield from _write(Workplace(subject, name, patience))


def _write(place: Workplace) -> Iterator[Observation]:
    if place.fetch_ours():
        # However unlikely: what stands there already is not ours to delete.
        title = "The label of this run is free"
        yield Observation("round trip", title, Verdict.SKIPPED, f"{place.label} is in use; run it again.")
        return
    try:
        yield from observe("round trip", check_round_trips(place))
        yield from observe("exactness", check_exactness(place))
        yield from observe("as ExternalDNS sends", check_as_external_dns(place))
    finally:
        cleaned = place.clean_up()
    yield cleaned


def _fetch_filter(subject: Subject) -> DomainFilter | None:
    if subject.protocol != "webhook":
        return None
    try:
        return parse_domain_filter(subject.call("GET").body).filter
    except Unanswered:
        return None  # said already, by the check of the negotiation
