"""Each kind of endpoint written, read back and compared, and how exactly changes are made: old values, what
exists, one bad change among good ones."""

from collections.abc import Iterator, Sequence

import msgspec

from providers.conformance.subject import Area, Observation, Response, Sandbox, Verdict
from providers.wire.canonical_name import canonical_targets
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

_AREA, _EXACTNESS = Area.ROUND_TRIP, Area.EXACTNESS
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
_FIRST, _SECOND, _THIRD = ("192.0.2.1",), ("192.0.2.2",), ("192.0.2.3",)


def check_round_trips(sandbox: Sandbox) -> Iterator[Observation]:
    """Every type of ExternalDNS, one create each, and as many reads as it takes to show."""
    for case, record_type, targets in _NEEDED:
        yield _check_one(sandbox, _make(sandbox, case, record_type, targets), is_needed=True)
    for case, record_type, targets in _FURTHER:
        yield _check_one(sandbox, _make(sandbox, case, record_type, targets), is_needed=False)
    yield _check_casing(sandbox)
    yield _check_set_identifiers(sandbox)
    yield _check_claim_beside_record(sandbox)


def _make(sandbox: Sandbox, case: str, record_type: str, targets: tuple[str, ...]) -> Endpoint:
    return Endpoint(dns_name=sandbox.name(case), targets=targets, record_type=record_type, record_ttl=_TTL)


def _check_one(sandbox: Sandbox, endpoint: Endpoint, *, is_needed: bool) -> Observation:
    case = endpoint.dns_name.partition(f".{sandbox.label}")[0]
    title = f"{endpoint.record_type} ({case}) comes back as it was written"
    response = sandbox.create(endpoint)
    found = sandbox.wait_for(endpoint.dns_name, bool, seconds=sandbox.time_for(response))
    if not response.is_success:
        detail = f"It responded with {response.status}" + (", and holds it all the same." if found else ".")
        verdict = Verdict.FAILED if is_needed or found else Verdict.NOTED
        return _AREA.observe(verdict, title, detail)
    if not found:
        detail = f"It responded with {response.status} and does not show it."
        return _AREA.failed(title, detail, "A 204 is no proof here: read the records back.")
    return _compare(title, endpoint, found)


def _compare(title: str, wanted: Endpoint, found: Sequence[Endpoint]) -> Observation:
    same_type = [each for each in found if each.record_type.upper() == wanted.record_type]
    if len(same_type) != 1:
        kinds = ", ".join(each.record_type for each in found)
        return _AREA.failed(title, f"It shows {len(found)} endpoints there: {kinds}.")
    shown = same_type[0]
    spelled = ", ".join(target[:100] for target in shown.targets)
    if canonical_targets(shown) != canonical_targets(wanted):
        return _AREA.failed(title, f"Its targets are {spelled}.")
    if shown.record_ttl != wanted.record_ttl:
        detail = f"The TTL is {shown.record_ttl}, not {wanted.record_ttl}."
        return _AREA.noted(title, detail)
    if sorted(shown.targets) != sorted(wanted.targets):
        return _AREA.passed(title, f"Spelled {spelled}.")
    return _AREA.passed(title)


def _check_casing(sandbox: Sandbox) -> Observation:
    title = "A name in upper case is the same name"
    written = _make(sandbox, "CASE", "A", ("192.0.2.1",))
    response = sandbox.create(written)
    found = sandbox.wait_for(written.dns_name, bool, seconds=sandbox.time_for(response))
    if not response.is_success:
        return _AREA.noted(title, f"It responded with {response.status}.")
    if not found:
        return _AREA.failed(title, "It reported success and does not show it.")
    return _AREA.passed(title, f"Shown as {found[0].dns_name}.")


def _check_set_identifiers(sandbox: Sandbox) -> Observation:
    title = "Two record sets of one name are distinguished by set identifier"
    weight = ProviderSpecificProperty("aws/weight", "10")
    pair = [
        msgspec.structs.replace(
            _make(sandbox, "sets", "A", (target,)), set_identifier=identifier, provider_specific=(weight,)
        )
        for identifier, target in (("one", "192.0.2.1"), ("two", "192.0.2.2"))
    ]
    response = sandbox.create(*pair)
    found = sandbox.wait_for(
        pair[0].dns_name, lambda shown: len(shown) > 1, seconds=sandbox.time_for(response)
    )
    identifiers = sorted(each.set_identifier for each in found)
    if identifiers == ["one", "two"]:
        return _AREA.passed(title)
    if not response.is_success and not found:
        return _AREA.noted(title, f"It holds no set identifiers: {response.status}.")
    detail = f"It responded with {response.status} and shows {identifiers}."
    return _AREA.failed(title, detail, "Never use set identifiers with this provider.")


def _check_claim_beside_record(sandbox: Sandbox) -> Observation:
    title = "A record and its claim are written in one change set"
    record = _make(sandbox, "both", "A", ("192.0.2.1",))
    claim = _make(sandbox, "a-both", "TXT", ('"heritage=external-dns,external-dns/owner=check"',))
    response = sandbox.create(record, claim)
    seconds = sandbox.time_for(response)
    found = sandbox.wait_for(claim.dns_name, bool, seconds=seconds) and sandbox.fetch_at(record.dns_name)
    if response.is_success and found:
        return _AREA.passed(title)
    return _AREA.failed(title, f"It responded with {response.status}, and not both are shown afterwards.")


def check_exactness(sandbox: Sandbox) -> Iterator[Observation]:
    """Updates and deletes with right and wrong old values, a create over what exists, a mixed batch."""
    held = _put(sandbox, "exact", _FIRST)
    if held is None:
        yield _EXACTNESS.skipped("Changes are exact", "An A record could not be created.")
        return
    yield _check_update(sandbox, held)
    yield _check_stale_update(sandbox)
    yield _check_stale_delete(sandbox)
    yield _check_create_over(sandbox)
    yield _check_delete(sandbox)
    yield _check_mixed_batch(sandbox)
    yield _check_broken_body(sandbox)


def _check_update(sandbox: Sandbox, held: Endpoint) -> Observation:
    title = "An update with the old value as it was read is applied"
    response = _update(sandbox, held, _SECOND)
    shown = _targets_at(sandbox, held.dns_name, _SECOND, seconds=sandbox.time_for(response))
    if shown == _SECOND:
        return _EXACTNESS.passed(title)
    return _EXACTNESS.failed(
        title, f"It responded with {response.status}, and shows {_format_targets(shown)} afterwards."
    )


def _check_stale_update(sandbox: Sandbox) -> Observation:
    title = "An update whose old value does not match"
    held = _put(sandbox, "stale", _FIRST)
    if held is None:
        return _EXACTNESS.skipped(title)
    stale = msgspec.structs.replace(held, targets=_THIRD)
    response = _update(sandbox, stale, _SECOND)
    shown = _targets_at(sandbox, held.dns_name, _SECOND, seconds=sandbox.short_wait)
    if shown == _FIRST:
        detail = f"It is not applied; the status is {response.status}."
        advice = "How it writes: matches the old value exactly." if response.is_success else ""
        return _EXACTNESS.passed(title, detail, advice)
    detail = f"It is applied: {response.status}. Two writers may overwrite each other without notice."
    return _EXACTNESS.noted(title, detail, "Read the records just before each change.")


def _check_stale_delete(sandbox: Sandbox) -> Observation:
    title = "A delete whose value does not match"
    held = _put(sandbox, "stale-delete", _FIRST)
    if held is None:
        return _EXACTNESS.skipped(title)
    response = sandbox.subject.apply(ChangeSet(delete=(msgspec.structs.replace(held, targets=_THIRD),)))
    shown = _targets_at(sandbox, held.dns_name, (), seconds=sandbox.short_wait)
    if shown == _FIRST:
        return _EXACTNESS.passed(title, f"It is not applied; the status is {response.status}.")
    return _EXACTNESS.noted(title, f"It is applied: {response.status}.")


def _check_create_over(sandbox: Sandbox) -> Observation:
    title = "A create of an existing record set does not replace it"
    held = _put(sandbox, "over", _FIRST)
    if held is None:
        return _EXACTNESS.skipped(title)
    response = sandbox.create(msgspec.structs.replace(held, targets=_SECOND))
    shown = _targets_at(sandbox, held.dns_name, _SECOND, seconds=sandbox.short_wait)
    if shown == _FIRST:
        return _EXACTNESS.passed(title, f"The status is {response.status}.")
    what = "a create overwrites the record sets of others"
    if set(shown) == {*_FIRST, *_SECOND}:
        what = "it merges targets, so a create adds to the record sets of others"
    return _EXACTNESS.failed(
        title, f"It responded with {response.status} and shows {_format_targets(shown)}: {what}."
    )


def _check_delete(sandbox: Sandbox) -> Observation:
    title = "A delete with the value as it was read is applied"
    held = _put(sandbox, "gone", _FIRST)
    if held is None:
        return _EXACTNESS.skipped(title)
    response = sandbox.subject.apply(ChangeSet(delete=(held,)))
    left = sandbox.wait_for(held.dns_name, lambda shown: not shown, seconds=sandbox.time_for(response))
    if not left:
        return _EXACTNESS.passed(title)
    return _EXACTNESS.failed(title, f"It responded with {response.status}, and still shows it.")


def _check_mixed_batch(sandbox: Sandbox) -> Observation:
    """A good create, then a change of what is not there."""
    title = "One bad change in a change set"
    good = _make(sandbox, "good", "A", _FIRST)
    missing = _make(sandbox, "missing", "A", _FIRST)
    response = sandbox.subject.apply(
        ChangeSet(
            create=(good,),
            update_old=(missing,),
            update_new=(msgspec.structs.replace(missing, targets=_SECOND),),
        )
    )
    is_good_there = (
        bool(sandbox.wait_for(good.dns_name, bool))
        if response.is_success
        else bool(sandbox.fetch_at(good.dns_name))
    )
    is_missing_there = bool(sandbox.fetch_at(missing.dns_name))
    if is_missing_there:
        detail = f"It responded with {response.status} and created the record set that it should update."
        return _EXACTNESS.noted(title, detail, "An update is an upsert here.")
    if is_good_there:
        advice = "How it writes: one after the other." if not response.is_success else ""
        detail = f"The good one is applied, the bad one is left out; the status is {response.status}."
        return _EXACTNESS.noted(title, detail, advice)
    detail = f"Nothing is applied; the status is {response.status}."
    return _EXACTNESS.passed(title, detail, "How it writes: all or nothing.")


def _check_broken_body(sandbox: Sandbox) -> Observation:
    title = "A change set that is not JSON is refused with 400"
    headers = {"Content-Type": sandbox.subject.media_type}
    response = sandbox.subject.call("POST", "records", body=b'{"create":[', headers=headers)
    if response.status in {400, 422}:
        return _EXACTNESS.passed(title, f"{response.status}.")
    verdict = Verdict.FAILED if response.is_success else Verdict.NOTED
    return _EXACTNESS.observe(verdict, title, f"It responded with {response.status}.")


def _put(sandbox: Sandbox, case: str, targets: tuple[str, ...]) -> Endpoint | None:
    """Create an endpoint and give back how the provider shows it."""
    wanted = _make(sandbox, case, "A", targets)
    response = sandbox.create(wanted)
    found = sandbox.wait_for(wanted.dns_name, bool, seconds=sandbox.time_for(response))
    return found[0] if found else None


def _update(sandbox: Sandbox, old: Endpoint, targets: tuple[str, ...]) -> Response:
    new = msgspec.structs.replace(old, targets=targets)
    return sandbox.subject.apply(ChangeSet(update_old=(old,), update_new=(new,)))


def _targets_at(
    sandbox: Sandbox, name: str, awaited: tuple[str, ...], *, seconds: float | None = None
) -> tuple[str, ...]:
    return _targets(sandbox.wait_for(name, lambda shown: _targets(shown) == awaited, seconds=seconds))


def _targets(shown: Sequence[Endpoint]) -> tuple[str, ...]:
    return tuple(sorted(target for each in shown for target in each.targets))


def _format_targets(targets: tuple[str, ...]) -> str:
    return ", ".join(targets) or "nothing"
