"""What each kind of transfer does to the claims of one record set. Pure."""

from collections.abc import Callable, Collection

from providers.registries.claim import TxtProfile
from providers.registries.labels import OWNER, format_labels, labels_beside_owner, replace_owner
from registry_app.mirror.owner_registry import OwnerRegistry
from registry_app.models import Transfer
from registry_app.transfer.plan.claim_edit import ClaimEdit, UnusableClaim, read_plain_text
from registry_app.transfer.plan.claim_key import ZONE
from registry_app.transfer.plan.claim_writing import (
    ClaimText,
    add_claim,
    find_deciding,
    place_of,
    quote_as,
    reads,
    says,
    write_copies,
    write_text,
)
from registry_app.transfer.plan.plan_context import PlanContext
from registry_app.transfer.plan.subjects import ClaimFacts, Subject
from registry_app.transfer.plan.verdicts_by_facts import Verdict

_KIND = Transfer.Kind


def find_verdict(subject: Subject, context: PlanContext) -> Verdict:
    """The worst of what the next syncs of the target's instances do to a record set; and for how long
    instances of a former owner may still change it."""
    verdict = _find_verdict_of_target(subject, context)
    owner_ids = [owner_id for owner_id in subject.owner_ids if owner_id != context.owner_id]
    caching = context.former.describe(owner_ids, subject.record.key) if context.former else ""
    return Verdict(verdict.value, f"{verdict.reason} {caching}") if caching else verdict


def _find_verdict_of_target(subject: Subject, context: PlanContext) -> Verdict:
    if context.instances is None:
        return context.verdict
    return context.instances.judge_record(subject.record.key, subject.record.to_endpoint())


def edit_claims(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """Make the edits of the context's kind. Raises RegistryError, InvalidName."""
    _EDITS[context.kind](edit, subject, context)


def _edit_transfer(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """All claims get the target as owner. If the target's instance reads none of them, a new one is created
    under its settings and the old ones are removed."""
    registry = context.registries[context.owner_id]
    if not subject.readable:  # only the provider's label names its owner
        text = format_labels({**labels_beside_owner(subject.record.labels), OWNER: context.owner_id})
        add_claim(edit, subject, ClaimText(text, None), registry, context)
        write_copies(edit, subject, text, registry, context)
        return
    kept = _choose_kept(subject, registry, context)
    if kept is None:
        first = find_deciding(subject, context) or subject.readable[0]
        text = replace_owner(read_plain_text(first, context.profiles), context.owner_id)
        add_claim(edit, subject, ClaimText(text, first.place), registry, context)
        _remove_others(edit, subject, None, write_copies(edit, subject, text, registry, context))
        return
    beside = _find_own_beside(kept, subject, context)
    if beside is not None:
        edit.remove(beside)
    row = find_deciding(subject, context)
    text = replace_owner(read_plain_text(row or beside or kept, context.profiles), context.owner_id)
    write_text(edit, kept, quote_as(text, kept.raw) if row else text, registry.txt)
    copies = write_copies(edit, subject, text, registry, context)
    for claim in subject.readable:
        if claim is kept or claim in copies:
            continue
        if claim.place == kept.place or claim.place.store != ZONE or kept.place.store != ZONE:
            # One place with two claims of one owner: instances read only one. The instances of the
            # target read no other registry than their own.
            edit.remove(claim)
        else:
            own = context.profiles.get(claim.profile_reference) if claim.is_encrypted else None
            plain = replace_owner(read_plain_text(claim, context.profiles), context.owner_id)
            write_text(edit, claim, plain, own or TxtProfile())


def _choose_kept(subject: Subject, registry: OwnerRegistry, context: PlanContext) -> ClaimFacts | None:
    """The claim that the target's instance will read: its own if it has one, else the first it can read."""
    legible = [claim for claim in subject.readable if reads(registry, claim, subject, context)]
    own = [claim for claim in legible if claim.owner_id == context.owner_id]
    return next(iter(own + legible), None)


def _find_own_beside(kept: ClaimFacts, subject: Subject, context: PlanContext) -> ClaimFacts | None:
    """A claim of the target behind the one that is kept, in the same TXT record: instances read only the
    first, so it takes that place."""
    beside = (claim for claim in subject.claims if claim.place == kept.place and claim is not kept)
    mine = (claim for claim in beside if claim.is_readable and claim.owner_id == context.owner_id)
    return next((claim for claim in mine if claim not in subject.readable), None)


def _edit_reformat(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """One new-format claim as the owner's instance writes it now; every other claim goes."""
    registry = context.registries[subject.owner_ids[0]]
    if registry.disagreement:  # for a target owner, the whole plan is refused
        raise UnusableClaim("instances_disagree", registry.disagreement)
    wanted = place_of(subject, registry)
    existing = next((claim for claim in subject.readable if claim.place == wanted), None)
    row = find_deciding(subject, context)
    first = row or existing or subject.readable[0]
    text = read_plain_text(first, context.profiles)
    if existing is None:
        add_claim(edit, subject, ClaimText(text, first.place), registry, context)
    elif wanted.store == ZONE and not says(existing, text, registry.txt, context):
        write_text(edit, existing, quote_as(text, existing.raw), registry.txt)
    elif row is not None or registry.copies is not None:
        edit.replace(existing, existing.raw)  # it stays, and is reviewed: it is a claim of the record set
    copies = write_copies(edit, subject, text, registry, context, only_typed=True)
    _remove_others(edit, subject, existing, copies)


def _edit_release(edit: ClaimEdit, subject: Subject, _context: PlanContext) -> None:
    _remove_others(edit, subject, None)


def _edit_adopt(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    claim = ClaimText(format_labels({OWNER: context.owner_id}), None)
    registry = context.registries[context.owner_id]
    add_claim(edit, subject, claim, registry, context)
    write_copies(edit, subject, claim.text, registry, context)


_EDITS: dict[str, Callable[[ClaimEdit, Subject, PlanContext], None]] = {
    _KIND.TRANSFER: _edit_transfer,
    _KIND.REFORMAT: _edit_reformat,
    _KIND.RELEASE: _edit_release,
    _KIND.ADOPT: _edit_adopt,
}


def _remove_others(
    edit: ClaimEdit, subject: Subject, kept: ClaimFacts | None, copies: Collection[ClaimFacts] = ()
) -> None:
    for claim in subject.readable:
        if claim is not kept and claim not in copies:
            edit.remove(claim)
