"""The plan of a clean-up: claims that decide nothing go, one item for each place. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from providers.registries.claim import ClaimVerdict
from providers.wire.endpoint import EndpointKey
from registry_app.transfer.plan.claim_edit import ClaimEdit
from registry_app.transfer.plan.claim_key import ClaimKey, claim_key_of, describe_place
from registry_app.transfer.plan.provider_plan import PlannedItem
from registry_app.transfer.plan.subjects import ClaimFacts
from registry_app.transfer.plan.verdicts import (
    Verdict,
    compute_verdict_of_unvouched,
    compute_verdict_without_change,
)

# What may be removed without changing who owns anything.
REMOVABLE = (
    ClaimVerdict.ORPHAN,
    ClaimVerdict.OBSOLETE,
    ClaimVerdict.SUPERSEDED,
    ClaimVerdict.OVERRULED,
)
_REASONS = {
    ClaimVerdict.ORPHAN: "There is no record set at the claimed name.",
    ClaimVerdict.OBSOLETE: "The alias has its own claim, which decides.",
    ClaimVerdict.SUPERSEDED: "A new-format claim of the same owner decides.",
    ClaimVerdict.OVERRULED: "ExternalDNS uses another claim instead.",
}


def build_clean_up_items(
    claims: Iterable[ClaimFacts],
    contents: Mapping[ClaimKey, tuple[str, ...]],
    registered: frozenset[str],
    elsewhere: Mapping[EndpointKey, str],
    manages: Callable[[str], bool],
) -> tuple[PlannedItem, ...]:
    """One item for each place that holds some of `claims`. `registered` are the owner ids of which a
    person said how they write their claims. `elsewhere` names, for record sets that rows of registry stores
    speak for, another provider that shows them, and `manages` tells of a name whether this provider manages
    it: a row does not say which provider it means."""
    by_place: dict[ClaimKey, list[ClaimFacts]] = defaultdict(list)
    for claim in claims:
        by_place[claim.place].append(claim)
    items = (_build_item(found, contents, registered) for _, found in sorted(by_place.items()))
    return tuple(_leave_out_if_elsewhere(item, elsewhere, manages) for item in items)


def _leave_out_if_elsewhere(
    item: PlannedItem, elsewhere: Mapping[EndpointKey, str], manages: Callable[[str], bool]
) -> PlannedItem:
    if not any(claim_key_of(endpoint).store for endpoint in item.before):
        return item
    provider = elsewhere.get(EndpointKey(item.name, item.record_type, item.set_identifier))
    if provider:
        problem = f"{provider} shows this record set, and the row may be its claim there."
        return replace(item, problem=problem, problem_code="record_set_elsewhere")
    if not manages(item.name):
        problem = "Its name is outside the domain filter, so its record set may be at another provider."
        return replace(item, problem=problem, problem_code="outside_domain_filter")
    return item


def _build_item(
    claims: list[ClaimFacts], contents: Mapping[ClaimKey, tuple[str, ...]], registered: frozenset[str]
) -> PlannedItem:
    first = claims[0]
    verdict = _compute_verdict(claims, registered)
    edit = ClaimEdit(contents)
    kept = [claim for claim in claims if claim.verdict not in REMOVABLE]
    problem = ""
    if kept:
        place = describe_place(first.place, {})
        problem = (
            f"Its claim in {place} is {kept[0].verdict}: a clean-up removes only claims that decide nothing."
        )
    else:
        for claim in claims:
            edit.remove(claim)
    return PlannedItem(
        name=first.record_name,
        record_type=first.record_type,
        set_identifier=first.place.set_identifier,
        record_before=None,
        before=edit.before(),
        after=edit.after(),
        verdict=verdict.value,
        verdict_reason=verdict.reason,
        problem=problem,
        problem_code="claim_decides" if problem else "",
        source_owner_id=",".join(sorted({claim.owner_id for claim in claims if claim.owner_id})),
    )


def _compute_verdict(claims: list[ClaimFacts], registered: frozenset[str]) -> Verdict:
    orphans = (claim for claim in claims if claim.verdict == ClaimVerdict.ORPHAN)
    for owner_id in (claim.owner_id for claim in orphans):
        if owner_id not in registered:
            return compute_verdict_of_unvouched(owner_id)
    reason = _REASONS.get(ClaimVerdict(claims[0].verdict), "")
    return compute_verdict_without_change(f"{reason} No record set changes its owner.".strip())
