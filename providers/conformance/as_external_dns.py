"""Updates and deletes just as ExternalDNS sends them: a provider that refuses them is stuck for ever.

ExternalDNS does not send back the claim it read. It rebuilds it from its labels: sorted, one string, without
a TTL, with the properties of the record. A 5xx is tried again with the same batch, a 4xx ends the process.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from providers.conformance.subject import Area, Observation, Response, Sandbox, Verdict
from providers.registries.labels import OWNER, RESOURCE, format_labels, parse_labels
from providers.registries.new_claim import OWNED_RECORD
from providers.wire.canonical_name import canonical_targets
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

_AREA = Area.AS_EXTERNAL_DNS
_OWNER = "check"
_LABELS = {OWNER: _OWNER, RESOURCE: "ingress/shop/www"}
_UNSORTED = f'"heritage=external-dns,external-dns/resource=ingress/shop/www,external-dns/owner={_OWNER}"'
_OTHER_TEXT = '"another text"'
_FIRST, _SECOND = ("192.0.2.1",), ("192.0.2.2",)
_FORCE_UPDATE = ProviderSpecificProperty("txt/force-update", "true")
_STUCK = (
    "An instance of ExternalDNS sends the same change again and again, and no other change of its batch "
    "is applied."
)


class _Held(NamedTuple):
    """A record as the provider shows it, and the claim it is to have."""

    record: Endpoint
    claim: Endpoint


def check_as_external_dns(sandbox: Sandbox) -> Iterator[Observation]:
    """A record with its claim changed and deleted, also where the claim is written in other words, and
    claimed for the first time by an update.

    The latter two happen only where somebody else, or an older version, wrote claims. Refusing them is no
    failure of a provider that holds nothing but what this run wrote: no such claim is there.
    """
    holds_others = any(not sandbox.holds(each) for each in sandbox.subject.fetch_endpoints())
    refusal = Verdict.FAILED if holds_others else Verdict.NOTED
    rebuilt = "the claim rebuilt and without its TTL"
    in_order = "a claim whose labels are in another order"
    yield _check_update(sandbox, _Case("old", f"An update with {rebuilt} is applied", _with_ttl))
    yield _check_update(
        sandbox, _Case("old-order", f"An update of {in_order} is applied", _unsorted, refusal)
    )
    yield _check_forced_update(sandbox, refusal)
    yield _check_delete(sandbox, _Case("going", f"A delete with {rebuilt} is applied", _with_ttl))
    yield _check_delete(
        sandbox, _Case("going-order", f"A delete of {in_order} is applied", _unsorted, refusal)
    )
    yield _check_text_beside_claim(sandbox)


class _Case(NamedTuple):
    """`write` makes of ExternalDNS's claim the one that is there first."""

    name: str
    title: str
    write: Callable[[Endpoint], Endpoint]
    refusal: Verdict = Verdict.FAILED


def _check_update(sandbox: Sandbox, case: _Case) -> Observation:
    held = _put(sandbox, case.name, case.write)
    if held is None:
        return _skip(case.title)
    response = sandbox.subject.apply(ChangeSet(update_old=held, update_new=_second(held)))
    return _judge(sandbox, case.title, response, _second(held), case.refusal)


def _check_forced_update(sandbox: Sandbox, refusal: Verdict) -> Observation:
    """Where there is only a legacy claim, ExternalDNS updates a new one that does not exist yet: that creates
    it."""
    title = "An update with txt/force-update of a claim that does not exist creates it"
    record = _make_record(sandbox, "forced")
    response = sandbox.create(record)
    found = sandbox.wait_for(record.dns_name, bool, seconds=sandbox.time_for(response))
    if len(found) != 1:
        return _skip(title)
    claim = _make_claim(found[0])
    forced = tuple(_force(each) for each in (found[0], claim))
    response = sandbox.subject.apply(ChangeSet(update_old=forced, update_new=(found[0], claim)))
    return _judge(sandbox, title, response, _Held(found[0], claim), refusal)


def _check_delete(sandbox: Sandbox, case: _Case) -> Observation:
    held = _put(sandbox, case.name, case.write)
    if held is None:
        return _skip(case.title)
    response = sandbox.subject.apply(ChangeSet(delete=held))
    seconds = sandbox.time_for(response)
    left = [
        each
        for endpoint in held
        for each in sandbox.wait_for(endpoint.dns_name, lambda shown: not shown, seconds=seconds)
    ]
    if not left:
        return _AREA.passed(case.title)
    kinds = " and the ".join(sorted({each.record_type for each in left}))
    detail = f"It responded with {response.status}, and still shows the {kinds}."
    return _AREA.observe(case.refusal, case.title, detail, _STUCK)


def _check_text_beside_claim(sandbox: Sandbox) -> Observation:
    """ExternalDNS sends the claim alone. What is beside it in the same TXT record set is not its own."""
    title = "A text beside a claim stays when the claim is deleted"
    held = _put(sandbox, "beside", _beside_another)
    if held is None:
        return _skip(title)
    response = sandbox.subject.apply(ChangeSet(delete=held))
    name = held.claim.dns_name
    shown = sandbox.wait_for(name, lambda found: _texts(found) == {_OTHER_TEXT}, seconds=sandbox.short_wait)
    if _texts(shown) == {_OTHER_TEXT}:
        return _AREA.passed(title)
    what = "it is gone with the claim" if not shown else "the claim is not deleted"
    detail = f"It responded with {response.status}, and {what}."
    return _AREA.noted(title, detail, "Keep no other text beside claims.")


def _judge(sandbox: Sandbox, title: str, response: Response, wanted: _Held, refusal: Verdict) -> Observation:
    """Whether a record and its claim are as wanted in the end."""
    seconds = sandbox.time_for(response)
    missing = [
        endpoint.record_type
        for endpoint in wanted
        if not _shows(endpoint)(sandbox.wait_for(endpoint.dns_name, _shows(endpoint), seconds=seconds))
    ]
    if not missing:
        return _AREA.passed(title)
    kinds = " and the ".join(missing)
    detail = f"It responded with {response.status}, and does not show the {kinds} that was sent."
    return _AREA.observe(refusal, title, detail, _STUCK)


def _shows(wanted: Endpoint) -> Callable[[Sequence[Endpoint]], bool]:
    """Whether what is shown is this endpoint alone: a claim by what it says, a record by its targets."""

    def is_shown(found: Sequence[Endpoint]) -> bool:
        if len(found) != 1:
            return False
        if wanted.record_type == "TXT":
            shown = [parse_labels(target) for target in found[0].targets]
            return shown.count(parse_labels(wanted.targets[0])) == 1
        return canonical_targets(found[0]) == canonical_targets(wanted)

    return is_shown


def _put(sandbox: Sandbox, case: str, write: Callable[[Endpoint], Endpoint]) -> _Held | None:
    """Create a record and a claim as `write` has it. The record as it is shown then, and the claim as
    ExternalDNS rebuilds it; None where they do not come to be."""
    record = _make_record(sandbox, case)
    written = write(_make_claim(record))
    response = sandbox.create(record, written)
    seconds = sandbox.time_for(response)
    found = sandbox.wait_for(record.dns_name, bool, seconds=seconds)
    claims = sandbox.wait_for(written.dns_name, bool, seconds=seconds)
    if len(found) != 1 or not claims:
        return None
    return _Held(found[0], _make_claim(found[0]))


def _second(held: _Held) -> _Held:
    return held._replace(record=msgspec.structs.replace(held.record, targets=_SECOND))


def _make_record(sandbox: Sandbox, case: str) -> Endpoint:
    return Endpoint(dns_name=sandbox.name(case), targets=_FIRST, record_type="A", record_ttl=300)


def _make_claim(record: Endpoint) -> Endpoint:
    """As ExternalDNS builds it whenever it sends one: whatever the provider showed."""
    return Endpoint(
        dns_name=f"a-{record.dns_name}",
        targets=(format_labels(_LABELS),),
        record_type="TXT",
        labels={OWNED_RECORD: record.dns_name},
        provider_specific=record.provider_specific,
    )


def _force(endpoint: Endpoint) -> Endpoint:
    return msgspec.structs.replace(endpoint, provider_specific=(*endpoint.provider_specific, _FORCE_UPDATE))


def _with_ttl(claim: Endpoint) -> Endpoint:
    return msgspec.structs.replace(claim, record_ttl=120)


def _unsorted(claim: Endpoint) -> Endpoint:
    return msgspec.structs.replace(claim, targets=(_UNSORTED,))


def _beside_another(claim: Endpoint) -> Endpoint:
    return msgspec.structs.replace(claim, targets=(*claim.targets, _OTHER_TEXT))


def _texts(found: Sequence[Endpoint]) -> set[str]:
    return {f'"{target.strip(chr(34))}"' for each in found for target in each.targets}


def _skip(title: str) -> Observation:
    return _AREA.skipped(title, "A record and its claim could not be created.")
