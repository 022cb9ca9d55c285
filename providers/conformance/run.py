"""One conformance run: everything that can be asked, in order, whatever happens in between."""

import time
from collections.abc import Iterator

import msgspec

from providers.conformance.as_external_dns import check_as_external_dns
from providers.conformance.reading import (
    check_adjusting,
    check_bad_input,
    check_names_are_inside,
    check_negotiation,
    check_records,
    observe,
)
from providers.conformance.round_trips import check_exactness, check_round_trips
from providers.conformance.subject import (
    CALL_ERRORS,
    Observation,
    Report,
    Response,
    Subject,
    Verdict,
    WriteArea,
)
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.domain_filter import DomainFilter, parse_domain_filter

_PART = "propertyvaluesequal"
_NAME, _VALUE = "dnsadmin/check", "1"


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
    yield from _write(WriteArea(subject, name, patience))


def _write(area: WriteArea) -> Iterator[Observation]:
    if area.fetch_ours():
        # However unlikely: what stands there already is not ours to delete.
        title = "The label of this run is free"
        yield Observation("round trip", title, Verdict.SKIPPED, f"{area.label} is in use; run it again.")
        return
    try:
        yield from observe("round trip", check_round_trips(area))
        yield from observe("exactness", check_exactness(area))
        yield from observe("as ExternalDNS sends", check_as_external_dns(area))
    finally:
        cleaned = area.clean_up()
    yield cleaned


def _fetch_filter(subject: Subject) -> DomainFilter | None:
    if subject.protocol != "webhook":
        return None
    try:
        return parse_domain_filter(subject.call("GET").body).filter
    except CALL_ERRORS:
        return None  # response already, by the check of the negotiation


class _Answer(msgspec.Struct):
    equals: bool


def check_property_values(subject: Subject) -> Iterator[Observation]:
    """One value and itself: 200, an object with `equals`, and true."""
    question = {"name": _NAME, "previous": _VALUE, "current": _VALUE}
    response = subject.call(
        "POST", _PART, body=msgspec.json.encode(question), headers=subject.content_headers()
    )
    title = "POST /propertyvaluesequal responds with 200 with `equals`"
    equals = _read(response)
    if equals is None:
        detail = f"It responded with {response.status}, and the body cannot be read."
        hint = "Clients then treat values as equal only if they are the same text."
        yield Observation(_PART, title, Verdict.FAILED, detail, hint)
        return
    yield Observation(_PART, title, Verdict.PASSED, f"In {response.seconds:.2f} s.")
    verdict = Verdict.PASSED if equals else Verdict.FAILED
    yield Observation(_PART, "A value equals itself", verdict)


def _read(response: Response) -> bool | None:
    if response.status != 200:
        return None
    try:
        return msgspec.json.decode(response.body, type=_Answer).equals
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
