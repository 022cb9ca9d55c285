"""Wanted endpoints corrected where a backend can never hold them, so that nobody asks for them. Pure.

Where anything is at such a name, what is there is given back, exactly and for every type at the name:
then a client changes nothing there. Left out, its own records at the name would be deleted. Only where
nothing is there, the endpoint is left out: then it is not created.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from providers.backends.change_groups import group_changes, settle_group
from providers.backends.errors import ChangeImpossible, Reason, RefusedChange, describe
from providers.backends.single_change import SingleChange, join_changes, split_change_set
from providers.backends.txt_target import FORCE_UPDATE, is_claim_text
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.errors import TxtNameTooLong
from providers.registries.txt_names import format_txt_name
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.poison import find_poison, safe_text


class CorrectedEndpoints(msgspec.Struct, frozen=True):
    """What to answer, and which of the wanted endpoints were not taken, with the reasons."""

    endpoints: tuple[Endpoint, ...]
    refused: tuple[RefusedChange, ...]


def correct_wanted(
    wanted: Sequence[Endpoint],
    problems: Sequence[ChangeImpossible | None],
    adjust: Callable[[Sequence[Endpoint]], Sequence[Endpoint]],
    fetch_held: Callable[[], Iterable[Endpoint]],
) -> CorrectedEndpoints:
    """The wanted endpoints adjusted, but for those with a problem (`problems` is as long as `wanted`). What
    is held is fetched only if there is one."""
    refused = [
        RefusedChange(_loose_key(endpoint), problem)
        for endpoint, problem in zip(wanted, problems, strict=True)
        if problem is not None
    ]
    possible = [each for each, problem in zip(wanted, problems, strict=True) if problem is None]
    adjusted = adjust(possible)
    conflicts = dict(_find_cname_conflicts(adjusted))
    refused += [RefusedChange(key, problem) for key, problem in conflicts.items()]
    if not refused:
        return CorrectedEndpoints(tuple(adjusted), ())
    held = _group_by_name(fetch_held())
    given_back = {each.key.name: held[each.key.name] for each in refused if each.key.name in held}
    answer = [
        each for each in adjusted if _loose_key(each) not in conflicts and _name_of(each) not in given_back
    ]
    claims = {_name_of(each) for endpoints in held.values() for each in endpoints if _states_claim(each)}
    labels = {_name_of(each): each.labels for each in reversed(wanted) if each.labels}
    for name, endpoints in given_back.items():
        answer += _give_back(endpoints, claims, labels.get(name, {}))
    return CorrectedEndpoints(tuple(answer), tuple(refused))


def _find_cname_conflicts(endpoints: Iterable[Endpoint]) -> Iterator[tuple[EndpointKey, ChangeImpossible]]:
    """CNAMEs that are wanted beside another type at one name."""
    by_name: dict[str, set[EndpointKey]] = defaultdict(set)
    for endpoint in endpoints:
        by_name[_name_of(endpoint)].add(_loose_key(endpoint))
    for keys in by_name.values():
        others = sorted({key.record_type for key in keys} - {"CNAME"})
        for key in keys if others else ():
            if key.record_type == "CNAME":
                text = (
                    f"{describe(key)}: a CNAME cannot exist beside {', '.join(others)} at one name; "
                    "take one of them out of its source."
                )
                yield key, ChangeImpossible(text, reason=Reason.CNAME_CONFLICT)


def _give_back(
    endpoints: Sequence[Endpoint], claims: Collection[str], labels: Mapping[str, str]
) -> Iterator[Endpoint]:
    """What is at a name, as the registry of a client sees it: without claims, with the labels of what was
    wanted there (they say which Kubernetes object it comes from)."""
    for endpoint in endpoints:
        if _states_claim(endpoint):
            continue
        properties = endpoint.provider_specific
        if _has_legacy_claim_alone(endpoint, claims):
            # A client adds this to what it reads, and compares it with what is wanted.
            properties = (*properties, ProviderSpecificProperty(FORCE_UPDATE, "true"))
        yield msgspec.structs.replace(
            endpoint, labels={**endpoint.labels, **labels}, provider_specific=properties
        )


def _has_legacy_claim_alone(endpoint: Endpoint, claims: Collection[str]) -> bool:
    name = _name_of(endpoint)
    try:
        typed = format_txt_name(name, endpoint.record_type, DEFAULT_PROFILE)
    except TxtNameTooLong:
        typed = ""
    return name in claims and typed not in claims


def _states_claim(endpoint: Endpoint) -> bool:
    # Of a TXT record set ExternalDNS reads the first target alone.
    return endpoint.record_type == "TXT" and bool(endpoint.targets) and is_claim_text(endpoint.targets[0])


def _group_by_name(endpoints: Iterable[Endpoint]) -> Mapping[str, list[Endpoint]]:
    found: dict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        found[_name_of(endpoint)].append(endpoint)
    return found


def _loose_key(endpoint: Endpoint) -> EndpointKey:
    return EndpointKey(_name_of(endpoint), endpoint.record_type.upper(), endpoint.set_identifier)


def _name_of(endpoint: Endpoint) -> str:
    """The canonical name; of what is no name the spelling, which nothing else has."""
    try:
        return canonical_name(endpoint.dns_name)
    except InvalidName:
        return endpoint.dns_name


def leave_out_unfit(change_set: ChangeSet) -> tuple[ChangeSet, tuple[RefusedChange, ...]]:
    """The change set without what must not be held, and what was left out. What is to go may be as odd as it
    is."""
    if not any(map(find_poison, (*change_set.create, *change_set.update_new))):
        return change_set, ()
    split = split_change_set(change_set)
    refused = list(split.refused)
    kept: list[SingleChange] = []
    for group in group_changes(split.changes):
        fit, left_out = settle_group(group, _check)
        kept += fit
        refused += left_out
    return join_changes(kept), tuple(refused)


def find_unfit(endpoint: Endpoint) -> ChangeImpossible | None:
    """Why an endpoint must not be held, or None."""
    poison = find_poison(endpoint)
    if poison is None:
        return None
    key = EndpointKey(
        safe_text(endpoint.dns_name), safe_text(endpoint.record_type), safe_text(endpoint.set_identifier)
    )
    return ChangeImpossible(
        f"{describe(key)}: it cannot be held, because of its {poison.field or 'size'}: {poison.reason}. "
        "Nothing was applied.",
        reason=Reason.INVALID,
    )


def _check(change: SingleChange) -> SingleChange:
    problem = find_unfit(change.new) if change.new is not None else None
    if problem is not None:
        raise problem
    return change
