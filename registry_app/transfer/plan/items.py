"""From record sets and claims to planned items: the claims of each before and after. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from providers.registries.claim import ClaimVerdict, OwnershipState
from providers.registries.errors import RegistryError
from providers.registries.txt_names import CLAIMABLE_TYPES
from providers.wire.canonical_name import InvalidName
from providers.wire.endpoint import EndpointKey
from registry_app.mirror.owner_registry import OwnerRegistry
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.plan.claim_edit import ClaimEdit, UnusableClaim
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, claim_key_of, describe_place
from registry_app.transfer.plan.claim_writing import naming_of
from registry_app.transfer.plan.edits import edit_claims, find_verdict
from registry_app.transfer.plan.neighbours import LEFT_BEHIND
from registry_app.transfer.plan.plan_context import PlanContext
from registry_app.transfer.plan.provider_plan import PlannedItem
from registry_app.transfer.plan.subjects import ClaimFacts, Subject
from registry_app.transfer.plan.verdicts import (
    compute_verdict_of_unregistered,
    compute_verdict_without_change,
)
from registry_app.transfer.plan.verdicts_by_facts import Verdict

_KIND = Transfer.Kind
# Left out without a refusal: there is nothing to do for them.
HARMLESS_CODES = frozenset({"already_there", "already_in_form", LEFT_BEHIND})
_VERDICT = TransferItem.Verdict
# What may be removed without changing who owns anything.
REMOVABLE = (
    ClaimVerdict.ORPHAN,
    ClaimVerdict.OBSOLETE,
    ClaimVerdict.SUPERSEDED,
    ClaimVerdict.OVERRULED,
)
_WHY_REMOVABLE = {
    ClaimVerdict.ORPHAN: "There is no record set at the claimed name.",
    ClaimVerdict.OBSOLETE: "The alias has its own claim, which decides.",
    ClaimVerdict.SUPERSEDED: "A new-format claim of the same owner decides.",
    ClaimVerdict.OVERRULED: "ExternalDNS uses another claim instead.",
}


def build_item(subject: Subject, context: PlanContext) -> PlannedItem:
    """The item of one record set; with a `problem` and nothing to write if it cannot be changed."""
    record = subject.record
    verdict = _add_label_owner(find_verdict(subject, context), subject, context)
    item = PlannedItem(
        name=record.key.name,
        record_type=record.key.record_type,
        set_identifier=record.key.set_identifier,
        record_before={**record.to_dict(), **_describe_ignored(subject)},
        before=[],
        after=[],
        verdict=verdict.value,
        verdict_reason=verdict.reason,
        source_owner_id=",".join(subject.owner_ids),
        settles_conflict=record.state == OwnershipState.CONFLICT,
    )
    code, problem = _find_problem(subject, context)
    if problem:
        return replace(item, problem=problem, problem_code=code)
    edit = ClaimEdit(context.contents)
    try:
        edit_claims(edit, subject, context)
        _raise_if_another_takes_over(edit, subject, context)
    except UnusableClaim as error:
        return replace(item, problem=str(error), problem_code=error.code)
    except (RegistryError, InvalidName) as error:
        return replace(item, problem=str(error), problem_code="unwritable_claim")
    before, after = edit.before(), edit.after()
    if before == after:
        problem = "Its claim is already as it should be."
        return replace(item, problem=problem, problem_code="already_in_form")
    return replace(item, before=before, after=after)


def build_left_behind_item(subject: Subject) -> PlannedItem:
    """Another type at a name of which a part is transferred: without `whole_names` it stays."""
    record = subject.record
    return PlannedItem(
        name=record.key.name,
        record_type=record.key.record_type,
        set_identifier=record.key.set_identifier,
        record_before=record.to_dict(),
        before=[],
        after=[],
        verdict=TransferItem.Verdict.NO_OP,
        verdict_reason="It keeps its owner.",
        problem=f"It stays with {record.owner_id}, while other types at its name are transferred.",
        problem_code=LEFT_BEHIND,
        source_owner_id=record.owner_id,
    )


def _describe_ignored(subject: Subject) -> dict[str, list[str]]:
    """The other owners with claims that ExternalDNS does not use. Reviewed, so that a new one is noticed."""
    owner_ids = sorted({claim.owner_id for claim in subject.ignored})
    return {"unheard": owner_ids} if owner_ids else {}


def _find_problem(subject: Subject, context: PlanContext) -> tuple[str, str]:
    record, kind = subject.record, context.kind
    if record.is_missing:
        return "missing", "The provider no longer shows it."
    if record.state == OwnershipState.UNKNOWN:
        return (
            "unknown_owner",
            "Its owner is unknown, and dnsadmin never writes record sets with an unknown owner.",
        )
    if kind == _KIND.ADOPT:
        return _find_adoption_problem(subject)
    if record.state == OwnershipState.UNMANAGED:
        return "unmanaged", "It has no owner: it can only be adopted."
    if not subject.readable and record.owner_id == record.label_owner and record.owner_id:
        return _find_label_problem(subject, context)
    if not subject.readable:
        return "claim_not_found", "Its claim can also be read for another name."
    if kind == _KIND.REFORMAT and record.state == OwnershipState.CONFLICT:
        return "conflict", "Its claims disagree: resolve the conflict with a transfer or a release first."
    if kind == _KIND.TRANSFER and subject.owner_ids == (context.owner_id,):
        return "already_there", f"It belongs to {context.owner_id} already."
    return "", ""


def _find_label_problem(subject: Subject, context: PlanContext) -> tuple[str, str]:
    """An owner that only the provider's label names has no claim to remove or to write again."""
    owner_id = subject.record.owner_id
    if context.kind == _KIND.TRANSFER:
        return (
            ("already_there", f"It belongs to {owner_id} already.")
            if context.owner_id == owner_id
            else ("", "")
        )
    problem = (
        f"Only the label owner={owner_id} that the provider returns names its owner. There is no "
        "claim, and dnsadmin cannot change the label. A transfer writes a claim, which takes "
        "precedence over the label."
    )
    return "owner_in_labels", problem


def _find_adoption_problem(subject: Subject) -> tuple[str, str]:
    record = subject.record
    if record.state != OwnershipState.UNMANAGED or subject.claims:
        return "not_unmanaged", "It has a claim already: only what is unmanaged can be adopted."
    if record.key.record_type not in CLAIMABLE_TYPES:
        return "unclaimable_type", f"ExternalDNS cannot own record sets of type {record.key.record_type}."
    return "", ""


def _raise_if_another_takes_over(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """Raise UnusableClaim where the owner's claim goes, and ExternalDNS may then use one of another owner."""
    other = next((claim for claim in subject.ignored if claim.owner_id != context.owner_id), None)
    gone = edit.find_removed_place(subject.readable) if other else None
    if other is None or gone is None:
        return
    raise UnusableClaim(
        "another_claim_takes_over",
        f"Its claim is removed from {describe_place(gone, {})}, and another one, in "
        f"{describe_place(other.place, {})}, names {other.owner_id}: ExternalDNS may then use that "
        f"claim, and {other.owner_id} may change or delete the record set. Clean that claim up first.",
    )


def _add_label_owner(verdict: Verdict, subject: Subject, context: PlanContext) -> Verdict:
    """The verdict with what the instances of the owner in the provider's label may do.

    ExternalDNS uses that label where it finds no claim, and writing claims does not change it."""
    label_owner = subject.record.label_owner
    if not label_owner or context.kind == _KIND.REFORMAT:
        return verdict
    label = f"the provider returns it with the label owner={label_owner}, which dnsadmin cannot change"
    if context.kind == _KIND.RELEASE:
        return Verdict(
            _VERDICT.UNKNOWN,
            f"The claim is removed, but {label}: without a claim ExternalDNS uses the label, so "
            f"{label_owner} owns it afterwards and may change or delete it.",
        )
    if label_owner == context.owner_id:
        return verdict
    registry = context.registries.get(label_owner, OwnerRegistry())
    if registry.store != ZONE:
        return verdict  # its instances read a store, and use no label
    if _reads_claims_of(registry, context.registries[context.owner_id]):
        note = f"Besides, {label}. The new claim takes precedence for every instance that reads it."
        return Verdict(verdict.value, f"{verdict.reason} {note}")
    value = verdict.value if verdict.value == _VERDICT.DELETE else _VERDICT.UNKNOWN
    note = (
        f"Besides, {label}, and an instance of {label_owner} does not read the new claim: it still "
        "manages the record set and may change or delete it."
    )
    return Verdict(value, f"{verdict.reason} {note}")


def _reads_claims_of(reader: OwnerRegistry, writer: OwnerRegistry) -> bool:
    if writer.store != ZONE or naming_of(reader.txt) != naming_of(writer.txt):
        return False
    return writer.txt.encryption_key in (None, reader.txt.encryption_key)


def build_clean_up_items(
    claims: Iterable[ClaimFacts],
    contents: Mapping[ClaimKey, tuple[str, ...]],
    registered: frozenset[str],
    elsewhere: Mapping[EndpointKey, str],
    manages: Callable[[str], bool],
) -> tuple[PlannedItem, ...]:
    """One item for each place that holds some of `claims`. `registered` are the owner ids whose
    registry settings are known. `elsewhere` names, for record sets with rows in registry stores, another
    provider that shows them, and `manages` is whether this provider manages a name: a row does not name its
    provider."""
    by_place: dict[ClaimKey, list[ClaimFacts]] = defaultdict(list)
    for claim in claims:
        by_place[claim.place].append(claim)
    items = (_build_clean_up_item(found, contents, registered) for _, found in sorted(by_place.items()))
    return tuple(_leave_out_if_elsewhere(item, elsewhere, manages) for item in items)


def _leave_out_if_elsewhere(
    item: PlannedItem, elsewhere: Mapping[EndpointKey, str], manages: Callable[[str], bool]
) -> PlannedItem:
    if not any(claim_key_of(endpoint).store for endpoint in item.before):
        return item
    provider = elsewhere.get(item.key)
    if provider:
        problem = f"{provider} shows this record set, and the row may be its claim there."
        return replace(item, problem=problem, problem_code="record_set_elsewhere")
    if not manages(item.name):
        problem = "Its name is outside the domain filter, so its record set may be at another provider."
        return replace(item, problem=problem, problem_code="outside_domain_filter")
    return item


def _build_clean_up_item(
    claims: list[ClaimFacts], contents: Mapping[ClaimKey, tuple[str, ...]], registered: frozenset[str]
) -> PlannedItem:
    first = claims[0]
    verdict = _compute_clean_up_verdict(claims, registered)
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


def _compute_clean_up_verdict(claims: list[ClaimFacts], registered: frozenset[str]) -> Verdict:
    orphans = (claim for claim in claims if claim.verdict == ClaimVerdict.ORPHAN)
    for owner_id in (claim.owner_id for claim in orphans):
        if owner_id not in registered:
            return compute_verdict_of_unregistered(owner_id)
    reason = _WHY_REMOVABLE.get(ClaimVerdict(claims[0].verdict), "")
    return compute_verdict_without_change(f"{reason} No record set changes its owner.".strip())
