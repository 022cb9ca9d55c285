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
    Area,
    Observation,
    Report,
    Response,
    Sandbox,
    Subject,
    Verdict,
)
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.domain_filter import DomainFilter, parse_domain_filter

_AREA = Area.EQUAL_VALUES
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
    yield from observe(Area.NEGOTIATION, check_negotiation(subject))
    yield from observe(Area.RECORDS, check_records(subject))
    domain_filter = _fetch_filter(subject)
    if domain_filter is not None and not domain_filter.matches_everything:
        yield from observe(Area.RECORDS, check_names_are_inside(subject, domain_filter))
    yield from observe(Area.ADJUSTING, check_adjusting(subject))
    if subject.protocol == "plugin":
        yield from observe(Area.EQUAL_VALUES, check_property_values(subject))
    yield from observe(Area.BAD_INPUT, check_bad_input(subject))
    if zone:
        yield from observe(Area.ROUND_TRIP, _write_below(subject, zone, patience))


def _write_below(subject: Subject, zone: str, patience: float) -> Iterator[Observation]:
    try:
        name = canonical_name(zone.strip("."))
    except InvalidName as error:
        title = "The zone to write below is a name"
        yield Area.ROUND_TRIP.failed(title, f"{error.reason}. Nothing was written.")
        return
    yield from _write(Sandbox(subject, name, patience))


def _write(sandbox: Sandbox) -> Iterator[Observation]:
    if sandbox.fetch_ours():
        # However unlikely: what is there already is not ours to delete.
        title = "The label of this run is free"
        yield Area.ROUND_TRIP.skipped(title, f"{sandbox.label} is in use; run it again.")
        return
    try:
        yield from observe(Area.ROUND_TRIP, check_round_trips(sandbox))
        yield from observe(Area.EXACTNESS, check_exactness(sandbox))
        yield from observe(Area.AS_EXTERNAL_DNS, check_as_external_dns(sandbox))
    finally:
        cleaned = sandbox.clean_up()
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
        "POST", _AREA.value, body=msgspec.json.encode(question), headers=subject.content_headers()
    )
    title = "POST /propertyvaluesequal responds with 200 with `equals`"
    equals = _read(response)
    if equals is None:
        detail = f"It responded with {response.status}, and the body cannot be read."
        hint = "Clients then treat values as equal only if they are the same text."
        yield _AREA.failed(title, detail, hint)
        return
    yield _AREA.passed(title, f"In {response.seconds:.2f} s.")
    verdict = Verdict.PASSED if equals else Verdict.FAILED
    yield _AREA.observe(verdict, "A value equals itself")


def _read(response: Response) -> bool | None:
    if response.status != 200:
        return None
    try:
        return msgspec.json.decode(response.body, type=_Answer).equals
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
