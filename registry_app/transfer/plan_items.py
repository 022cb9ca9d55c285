"""From subjects to planned items: the claims of each record set before and after. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from providers.registries.claim import OwnershipState, TxtProfile
from providers.registries.errors import RegistryError
from providers.registries.labels import replace_owner
from providers.registries.txt_changes import build_new_claim
from providers.registries.txt_names import CLAIMABLE_TYPES, format_txt_name, parse_txt_name
from providers.wire.canonical_name import InvalidName
from providers.wire.endpoint import Endpoint
from registry_app.models import Transfer
from registry_app.transfer.claim_edit import ClaimEdit, UnusableClaim, read_plain_text
from registry_app.transfer.provider_plan import PlannedItem
from registry_app.transfer.subjects import ClaimFacts, Subject, TxtKey
from registry_app.transfer.verdicts import Verdict

_KIND = Transfer.Kind
# Left out without a word of refusal: there is nothing to do for them.
HARMLESS_CODES = frozenset({"already_there", "already_in_form"})


@dataclass(frozen=True)
class PlanContext:
    """All a plan of one provider rests on beside its subjects.

    `owner_profile` gives the registry profile of an owner id; `owner_id` is the target's, empty for
    kinds that keep or remove the owner. `taken` are TXT names at which a foreign TXT record stands.
    """

    kind: str
    owner_id: str
    verdict: Verdict
    owner_profiles: Mapping[str, TxtProfile]
    profiles: Mapping[str, TxtProfile]
    contents: Mapping[TxtKey, tuple[str, ...]]
    taken: frozenset[TxtKey] = frozenset()


def build_item(subject: Subject, context: PlanContext) -> PlannedItem:
    """One record set's plan; with a `problem` and nothing to write where there can be none."""
    record = subject.record
    item = PlannedItem(
        name=record.key.name,
        record_type=record.key.record_type,
        set_identifier=record.key.set_identifier,
        record_before=record.to_dict(),
        before=[],
        after=[],
        verdict=context.verdict.value,
        verdict_reason=context.verdict.reason,
        source_owner_id=",".join(subject.owner_ids),
        settles_conflict=record.state == OwnershipState.CONFLICT,
    )
    code, problem = _find_problem(subject, context)
    if problem:
        return replace(item, problem=problem, problem_code=code)
    edit = ClaimEdit(context.contents)
    try:
        _EDITS[context.kind](edit, subject, context)
    except UnusableClaim as error:
        return replace(item, problem=str(error), problem_code=error.code)
    except (RegistryError, InvalidName) as error:
        return replace(item, problem=str(error), problem_code="unwritable_claim")
    before, after = edit.before(), edit.after()
    if before == after:
        problem = "Its claim already stands as it should."
        return replace(item, problem=problem, problem_code="already_in_form")
    return replace(item, before=before, after=after)


def _find_problem(subject: Subject, context: PlanContext) -> tuple[str, str]:
    record, kind = subject.record, context.kind
    if record.is_missing:
        return "missing", "The provider no longer shows it."
    if record.state == OwnershipState.UNKNOWN:
        return "unknown_owner", "Its owner is unknown, and what is unknown is never written."
    if kind == _KIND.ADOPT:
        return _find_adoption_problem(subject)
    if record.state == OwnershipState.UNMANAGED:
        return "unmanaged", "Nobody owns it: it can only be adopted."
    if not subject.readable:
        return "claim_not_found", "Its claim stands for another name too and cannot be told apart."
    if kind == _KIND.REFORMAT and record.state == OwnershipState.CONFLICT:
        return "conflict", "Its claims disagree: settle that with a transfer or a release first."
    if kind == _KIND.TRANSFER and subject.owner_ids == (context.owner_id,):
        return "already_there", f"It belongs to {context.owner_id} already."
    return "", ""


def _find_adoption_problem(subject: Subject) -> tuple[str, str]:
    record = subject.record
    if record.state != OwnershipState.UNMANAGED or subject.claims:
        return "not_unmanaged", "It has a claim already: only what is unmanaged can be adopted."
    if record.key.record_type not in CLAIMABLE_TYPES:
        return "unclaimable_type", f"ExternalDNS cannot own record sets of type {record.key.record_type}."
    return "", ""


def _edit_transfer(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """All claims name the target. Where none of them is one that the target's instance reads, a new one
    comes under the target's settings and the old ones go."""
    profile = context.owner_profiles[context.owner_id]
    kept = _choose_kept(subject, profile, context)
    if kept is None:
        text = replace_owner(read_plain_text(subject.readable[0], context.profiles), context.owner_id)
        _add_claim(edit, subject, text, profile, context)
        for claim in subject.readable:
            edit.remove(claim)
        return
    text = replace_owner(read_plain_text(kept, context.profiles), context.owner_id)
    edit.replace(kept, text, _sealing_reference(profile))
    for claim in subject.readable:
        if claim is kept:
            continue
        if claim.txt == kept.txt:
            edit.remove(claim)  # one TXT record with two claims of one owner: instances read only one
        else:
            own = context.profiles.get(claim.profile_reference) if claim.is_encrypted else None
            plain = replace_owner(read_plain_text(claim, context.profiles), context.owner_id)
            edit.replace(claim, plain, _sealing_reference(own or TxtProfile()))


def _choose_kept(subject: Subject, profile: TxtProfile, context: PlanContext) -> ClaimFacts | None:
    """The claim that the target's instance will read: its own if it has one, else the first it can read."""
    legible = [claim for claim in subject.readable if _reads(profile, claim, subject, context)]
    own = [claim for claim in legible if claim.owner_id == context.owner_id]
    return next(iter(own + legible), None)


def _edit_reformat(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """One new-format claim as the owner's instance writes it now; every other claim goes."""
    profile = context.owner_profiles[subject.owner_ids[0]]
    wanted = _txt_key(subject, profile)
    standing = next((claim for claim in subject.readable if claim.txt == wanted), None)
    first = standing or subject.readable[0]
    text = read_plain_text(first, context.profiles)
    if standing is None:
        _add_claim(edit, subject, text, profile, context)
    elif not _is_sealed_as(standing, profile, context.profiles):
        edit.replace(standing, text, _sealing_reference(profile))
    for claim in subject.readable:
        if claim is not standing:
            edit.remove(claim)


def _edit_release(edit: ClaimEdit, subject: Subject, _context: PlanContext) -> None:
    for claim in subject.readable:
        edit.remove(claim)


def _edit_adopt(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    profile = context.owner_profiles[context.owner_id]
    plain_profile = msgspec.structs.replace(profile, encryption_key=None)
    endpoint = build_new_claim(subject.record.to_endpoint(), context.owner_id, plain_profile)
    _raise_if_taken(TxtKey(endpoint.dns_name, endpoint.set_identifier), context)
    edit.add(endpoint, _sealing_reference(profile))


_EDITS: dict[str, Callable[[ClaimEdit, Subject, PlanContext], None]] = {
    _KIND.TRANSFER: _edit_transfer,
    _KIND.REFORMAT: _edit_reformat,
    _KIND.RELEASE: _edit_release,
    _KIND.ADOPT: _edit_adopt,
}


def _add_claim(
    edit: ClaimEdit, subject: Subject, text: str, profile: TxtProfile, context: PlanContext
) -> None:
    key = _txt_key(subject, profile)
    _raise_if_taken(key, context)
    endpoint = Endpoint(
        dns_name=key.name, targets=(text,), record_type="TXT", set_identifier=key.set_identifier
    )
    edit.add(endpoint, _sealing_reference(profile))


def _raise_if_taken(key: TxtKey, context: PlanContext) -> None:
    if key in context.taken:
        raise UnusableClaim(
            "txt_name_taken",
            f"Its claim would have to stand at {key.name}, where another TXT record stands already.",
        )


def _txt_key(subject: Subject, profile: TxtProfile) -> TxtKey:
    key = subject.record.key
    return TxtKey(format_txt_name(key.name, key.record_type, profile), key.set_identifier)


def _reads(profile: TxtProfile, claim: ClaimFacts, subject: Subject, context: PlanContext) -> bool:
    """Whether an instance with these settings takes this claim's TXT name for this record set."""
    own = context.profiles.get(claim.profile_reference) if claim.profile_reference else None
    if own is not None and _naming(own) == _naming(profile):
        return True
    reading = parse_txt_name(claim.txt.name, profile)
    if reading is None or reading.record_type != claim.record_type:
        return False
    name = subject.record.key.name
    first, dot, rest = name.partition(".")
    if first == "*" and profile.wildcard_replacement:
        name = f"{profile.wildcard_replacement.lower()}{dot}{rest}"
    return reading.record_name == name


def _naming(profile: TxtProfile) -> tuple[str, str, str]:
    return profile.prefix.lower(), profile.suffix.lower(), profile.wildcard_replacement.lower()


def _sealing_reference(profile: TxtProfile) -> str:
    return profile.reference if profile.encryption_key is not None else ""


def _is_sealed_as(claim: ClaimFacts, profile: TxtProfile, profiles: Mapping[str, TxtProfile]) -> bool:
    if not claim.is_encrypted:
        return profile.encryption_key is None
    own = profiles.get(claim.profile_reference)
    return own is not None and own.encryption_key == profile.encryption_key
