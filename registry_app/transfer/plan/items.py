"""From subjects to planned items: the claims of each record set before and after. Pure."""

from dataclasses import replace

from providers.registries.claim import OwnershipState
from providers.registries.errors import RegistryError
from providers.registries.txt_names import CLAIMABLE_TYPES
from providers.wire.canonical_name import InvalidName
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.plan.claim_edit import ClaimEdit, UnusableClaim
from registry_app.transfer.plan.edits import PlanContext, edit_claims, find_verdict
from registry_app.transfer.plan.other_owners import add_label_owner, raise_if_another_takes_over
from registry_app.transfer.plan.provider_plan import PlannedItem
from registry_app.transfer.plan.subjects import Subject
from registry_app.transfer.plan.whole_names import LEFT_BEHIND

_KIND = Transfer.Kind
# Left out without a word of refusal: there is nothing to do for them.
HARMLESS_CODES = frozenset({"already_there", "already_in_form", LEFT_BEHIND})


def build_item(subject: Subject, context: PlanContext) -> PlannedItem:
    """One record set's plan; with a `problem` and nothing to write where there can be none."""
    record = subject.record
    verdict = add_label_owner(find_verdict(subject, context), subject, context)
    item = PlannedItem(
        name=record.key.name,
        record_type=record.key.record_type,
        set_identifier=record.key.set_identifier,
        record_before={**record.to_dict(), **_describe_unheard(subject)},
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
        raise_if_another_takes_over(edit, subject, context)
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
    """Another type at a name of which a part goes: it stays, because the request says so."""
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


def _describe_unheard(subject: Subject) -> dict[str, list[str]]:
    """Who else claims it without being obeyed: reviewed with it, so that another one who comes is noticed."""
    owner_ids = sorted({claim.owner_id for claim in subject.unheard})
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
    """What only the provider's label says has no claim to remove or to write again."""
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
