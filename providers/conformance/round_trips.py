"""Each kind of endpoint written, read back, and compared."""

from collections.abc import Iterator, Sequence

import msgspec

from providers.conformance.observation import Observation, Verdict
from providers.conformance.workplace import Workplace
from providers.wire.canonical_name import canonical_targets
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

_AREA = "round trip"
_TTL = 300
# (case, type, targets): what every provider of ExternalDNS must hold, and what some do.
_NEEDED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("a", "A", ("192.0.2.1",)),
    ("two", "A", ("192.0.2.1", "192.0.2.2")),
    ("cname", "CNAME", ("target.example.org",)),
    ("txt", "TXT", ('"heritage=external-dns,external-dns/owner=check,external-dns/resource=a/b/c"',)),
)
_FURTHER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("aaaa", "AAAA", ("2001:db8::1",)),
    ("*.wild", "A", ("192.0.2.1",)),
    ("_srv._tcp", "SRV", ("10 20 443 target.example.org",)),
    ("mx", "MX", ("10 mail.example.org",)),
    ("ns", "NS", ("ns1.example.org", "ns2.example.org")),
    ("ptr", "PTR", ("target.example.org",)),
    ("naptr", "NAPTR", ('100 50 "s" "SIP+D2U" "" _sip._udp.example.org.',)),
    ("dname", "DNAME", ("target.example.org",)),
    ("spaces", "TXT", ('"two words; and = a sign"',)),
    ("long", "TXT", (f'"heritage=external-dns,external-dns/owner=check,external-dns/resource={"x" * 300}"',)),
)


def check_round_trips(place: Workplace) -> Iterator[Observation]:
    """Every type of ExternalDNS, one create each, and as many reads as it takes to show."""
    for case, record_type, targets in _NEEDED:
        yield _check_one(place, _make(place, case, record_type, targets), is_needed=True)
    for case, record_type, targets in _FURTHER:
        yield _check_one(place, _make(place, case, record_type, targets), is_needed=False)
    yield _check_casing(place)
    yield _check_set_identifiers(place)
    yield _check_claim_beside_record(place)


def _make(place: Workplace, case: str, record_type: str, targets: tuple[str, ...]) -> Endpoint:
    return Endpoint(dns_name=place.name(case), targets=targets, record_type=record_type, record_ttl=_TTL)


def _check_one(place: Workplace, endpoint: Endpoint, *, is_needed: bool) -> Observation:
    case = endpoint.dns_name.partition(f".{place.label}")[0]
    title = f"{endpoint.record_type} ({case}) comes back as it was written"
    said = place.create(endpoint)
    found = place.wait_for(endpoint.dns_name, bool, seconds=place.time_for(said))
    if not said.is_success:
        detail = f"It responded with {said.status}" + (", and holds it all the same." if found else ".")
        verdict = Verdict.FAILED if is_needed or found else Verdict.NOTED
        return Observation(_AREA, title, verdict, detail)
    if not found:
        detail = f"It responded with {said.status} and does not show it."
        return Observation(
            _AREA, title, Verdict.FAILED, detail, "A 204 is no proof here: read the records back."
        )
    return _compare(title, endpoint, found)


def _compare(title: str, wanted: Endpoint, found: Sequence[Endpoint]) -> Observation:
    same_type = [each for each in found if each.record_type.upper() == wanted.record_type]
    if len(same_type) != 1:
        kinds = ", ".join(each.record_type for each in found)
        return Observation(_AREA, title, Verdict.FAILED, f"It shows {len(found)} endpoints there: {kinds}.")
    shown = same_type[0]
    if canonical_targets(shown) != canonical_targets(wanted):
        told = ", ".join(target[:100] for target in shown.targets)
        return Observation(_AREA, title, Verdict.FAILED, f"Its targets are {told}.")
    if shown.record_ttl != wanted.record_ttl:
        detail = f"The TTL is {shown.record_ttl}, not {wanted.record_ttl}."
        return Observation(_AREA, title, Verdict.NOTED, detail)
    if sorted(shown.targets) != sorted(wanted.targets):
        told = ", ".join(target[:100] for target in shown.targets)
        return Observation(_AREA, title, Verdict.PASSED, f"Spelled {told}.")
    return Observation(_AREA, title, Verdict.PASSED)


def _check_casing(place: Workplace) -> Observation:
    title = "A name in upper case is the same name"
    written = _make(place, "CASE", "A", ("192.0.2.1",))
    said = place.create(written)
    found = place.wait_for(written.dns_name, bool, seconds=place.time_for(said))
    if not said.is_success:
        return Observation(_AREA, title, Verdict.NOTED, f"It responded with {said.status}.")
    if not found:
        return Observation(_AREA, title, Verdict.FAILED, "It reported success and does not show it.")
    return Observation(_AREA, title, Verdict.PASSED, f"Shown as {found[0].dns_name}.")


def _check_set_identifiers(place: Workplace) -> Observation:
    title = "Two record sets of one name are distinguished by set identifier"
    weight = ProviderSpecificProperty("aws/weight", "10")
    pair = [
        msgspec.structs.replace(
            _make(place, "sets", "A", (target,)), set_identifier=identifier, provider_specific=(weight,)
        )
        for identifier, target in (("one", "192.0.2.1"), ("two", "192.0.2.2"))
    ]
    said = place.create(*pair)
    found = place.wait_for(pair[0].dns_name, lambda shown: len(shown) > 1, seconds=place.time_for(said))
    identifiers = sorted(each.set_identifier for each in found)
    if identifiers == ["one", "two"]:
        return Observation(_AREA, title, Verdict.PASSED)
    if not said.is_success and not found:
        return Observation(_AREA, title, Verdict.NOTED, f"It holds no set identifiers: {said.status}.")
    detail = f"It responded with {said.status} and shows {identifiers}."
    return Observation(_AREA, title, Verdict.FAILED, detail, "Never use set identifiers with this provider.")


def _check_claim_beside_record(place: Workplace) -> Observation:
    title = "A record and its claim are written in one change set"
    record = _make(place, "both", "A", ("192.0.2.1",))
    claim = _make(place, "a-both", "TXT", ('"heritage=external-dns,external-dns/owner=check"',))
    said = place.create(record, claim)
    seconds = place.time_for(said)
    found = place.wait_for(claim.dns_name, bool, seconds=seconds) and place.fetch_at(record.dns_name)
    if said.is_success and found:
        return Observation(_AREA, title, Verdict.PASSED)
    return Observation(
        _AREA, title, Verdict.FAILED, f"It responded with {said.status}, and not both are shown afterwards."
    )
