"""What each kind of transfer does to the claims of one record set. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import differs_from_external_dns
from providers.registries.errors import ForeignText
from providers.registries.labels import (
    OWNER,
    RESOURCE,
    format_labels,
    labels_beside_owner,
    parse_labels,
    rebuild_text,
    replace_owner,
)
from providers.registries.new_claim import build_new_claim
from providers.registries.txt_names import format_txt_name, parse_txt_name
from providers.wire.endpoint import Endpoint
from registry_app.mirror.owner_registry import OwnerRegistry
from registry_app.models import Transfer
from registry_app.transfer.plan.claim_edit import ClaimEdit, UnusableClaim, read_plain_text
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, build_row, build_row_key, build_txt_key
from registry_app.transfer.plan.subjects import ClaimFacts, Subject
from registry_app.transfer.plan.verdicts import (
    FormerOwners,
    InstanceVerdicts,
)
from registry_app.transfer.plan.verdicts_by_facts import Verdict

_KIND = Transfer.Kind


@dataclass(frozen=True)
class PlanContext:
    """All that a plan of one provider depends on, besides its subjects.

    `verdict` is for kinds without a new owner; with one, `instances` compute it. `registries` gives the
    registry of an owner id; `owner_id` is the target's, empty for kinds that keep or remove the owner.
    `profiles` are the TXT profiles by reference. `taken` are places of TXT records that are no
    claims. `former` are the instances of
    those who lose a record set.
    """

    kind: str
    owner_id: str
    verdict: Verdict
    registries: Mapping[str, OwnerRegistry]
    profiles: Mapping[str, TxtProfile]
    contents: Mapping[ClaimKey, tuple[str, ...]]
    taken: frozenset[ClaimKey] = frozenset()
    instances: InstanceVerdicts | None = None
    former: FormerOwners | None = None


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


class _ClaimText(NamedTuple):
    """A heritage text, decrypted, and its place if it exists already."""

    text: str
    place: ClaimKey | None


def edit_claims(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """Make the edits of the context's kind. Raises RegistryError, InvalidName."""
    _EDITS[context.kind](edit, subject, context)


def _edit_transfer(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """All claims get the target as owner. If the target's instance reads none of them, a new one is created
    under its settings and the old ones are removed."""
    registry = context.registries[context.owner_id]
    if not subject.readable:  # only the provider's label names its owner
        text = format_labels({**labels_beside_owner(subject.record.labels), OWNER: context.owner_id})
        _add_claim(edit, subject, _ClaimText(text, None), registry, context)
        return
    kept = _choose_kept(subject, registry, context)
    if kept is None:
        first = subject.readable[0]
        text = replace_owner(read_plain_text(first, context.profiles), context.owner_id)
        _add_claim(edit, subject, _ClaimText(text, first.place), registry, context)
        _remove_others(edit, subject, None)
        return
    beside = _find_own_beside(kept, subject, context)
    if beside is not None:
        edit.remove(beside)
    text = replace_owner(read_plain_text(beside or kept, context.profiles), context.owner_id)
    _replace(edit, kept, text, registry.txt)
    for claim in subject.readable:
        if claim is kept:
            continue
        if claim.place == kept.place or claim.place.store != ZONE or kept.place.store != ZONE:
            # One place with two claims of one owner: instances read only one. The instances of the
            # target read no other registry than their own.
            edit.remove(claim)
        else:
            own = context.profiles.get(claim.profile_reference) if claim.is_encrypted else None
            plain = replace_owner(read_plain_text(claim, context.profiles), context.owner_id)
            _replace(edit, claim, plain, own or TxtProfile())


def _choose_kept(subject: Subject, registry: OwnerRegistry, context: PlanContext) -> ClaimFacts | None:
    """The claim that the target's instance will read: its own if it has one, else the first it can read."""
    legible = [claim for claim in subject.readable if _reads(registry, claim, subject, context)]
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
    wanted = _place_of(subject, registry)
    existing = next((claim for claim in subject.readable if claim.place == wanted), None)
    first = existing or subject.readable[0]
    text = read_plain_text(first, context.profiles)
    if existing is None:
        _add_claim(edit, subject, _ClaimText(text, first.place), registry, context)
    elif wanted.store == ZONE and not _is_encrypted_as(existing, registry.txt, context.profiles):
        _replace(edit, existing, text, registry.txt)
    _remove_others(edit, subject, existing)


def _edit_release(edit: ClaimEdit, subject: Subject, _context: PlanContext) -> None:
    _remove_others(edit, subject, None)


def _edit_adopt(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    claim = _ClaimText(format_labels({OWNER: context.owner_id}), None)
    _add_claim(edit, subject, claim, context.registries[context.owner_id], context)


_EDITS: dict[str, Callable[[ClaimEdit, Subject, PlanContext], None]] = {
    _KIND.TRANSFER: _edit_transfer,
    _KIND.REFORMAT: _edit_reformat,
    _KIND.RELEASE: _edit_release,
    _KIND.ADOPT: _edit_adopt,
}


def _remove_others(edit: ClaimEdit, subject: Subject, kept: ClaimFacts | None) -> None:
    for claim in subject.readable:
        if claim is not kept:
            edit.remove(claim)


def _add_claim(
    edit: ClaimEdit, subject: Subject, claim: _ClaimText, registry: OwnerRegistry, context: PlanContext
) -> None:
    """Add a claim with the same labels at a place of its own."""
    key = _place_of(subject, registry)
    _raise_if_taken(key, subject, context)
    if key.store != ZONE:
        edit.add_row(key, _normalize(claim.text))
    elif claim.place is not None and claim.place.store == ZONE:
        # A TXT claim that replaces a TXT claim keeps its text byte for byte.
        text = _prepare_to_encrypt(claim.text, registry.txt)
        edit.add(build_row(key, (text,)), _encryption_reference(registry.txt))
    else:
        edit.add(_build_txt_claim(subject, claim.text, registry.txt), _encryption_reference(registry.txt))


def _replace(edit: ClaimEdit, claim: ClaimFacts, text: str, profile: TxtProfile) -> None:
    edit.replace(claim, _prepare_to_encrypt(text, profile), _encryption_reference(profile))


def _prepare_to_encrypt(text: str, profile: TxtProfile) -> str:
    """The text as ExternalDNS would write it, if it is to be encrypted, so that the bytes are the same."""
    rebuilt = rebuild_text(text) if profile.encryption_key is not None else None
    return text if rebuilt is None else text.replace(text.strip('"'), rebuilt, 1)


def _build_txt_claim(subject: Subject, text: str, profile: TxtProfile) -> Endpoint:
    """The TXT endpoint ExternalDNS would write for these labels, in plain text."""
    labels = parse_labels(text) or {}
    return build_new_claim(
        subject.record.to_endpoint(),
        labels.get(OWNER, ""),
        msgspec.structs.replace(profile, encryption_key=None),
        resource=labels.get(RESOURCE, ""),
        extra_labels=labels,
    )


def _normalize(text: str) -> str:
    """A heritage text as every registry store writes and reads it: known labels, sorted, without quotes."""
    labels = parse_labels(text)
    if labels is None:
        raise ForeignText("The claim has no ExternalDNS heritage. It was left as it is.")
    return format_labels(labels, quoted=False)


def _raise_if_taken(key: ClaimKey, subject: Subject, context: PlanContext) -> None:
    if key in context.taken:
        raise UnusableClaim(
            "txt_name_taken",
            f"Its claim would be at {key.name}, where there is another TXT record already.",
        )
    if key.store == ZONE and any(
        claim.place == key and claim not in subject.readable for claim in subject.claims
    ):
        raise UnusableClaim(
            "txt_name_taken",
            f"Its claim would be at {key.name}, where there is a claim that ExternalDNS ignores: "
            "clean that up first.",
        )
    if key.store != ZONE and any(claim.place == key for claim in subject.claims):
        raise UnusableClaim("row_taken", "Its claim would be in the place of a row that cannot be read.")


def _place_of(subject: Subject, registry: OwnerRegistry) -> ClaimKey:
    """Where this owner's instance keeps the claim of a record set."""
    key = subject.record.key
    if not registry.keeps_claims:
        raise UnusableClaim("no_registry", "Its owner uses the registry noop, so no claim can name it.")
    if registry.store != ZONE:
        return build_row_key(registry.store, key)
    return build_txt_key(format_txt_name(key.name, key.record_type, registry.txt), key.set_identifier)


def _reads(registry: OwnerRegistry, claim: ClaimFacts, subject: Subject, context: PlanContext) -> bool:
    """Whether an instance with this registry takes this claim for one of this record set."""
    if claim.place.store != registry.store:
        return False
    if registry.store != ZONE:
        return True
    own = context.profiles.get(claim.profile_reference) if claim.profile_reference else None
    if own is not None and naming_of(own) == naming_of(registry.txt):
        return True
    reading = parse_txt_name(claim.place.name, registry.txt)
    if reading is None or reading.record_type != claim.record_type:
        return False
    name = subject.record.key.name
    first, dot, rest = name.partition(".")
    if first == "*" and registry.txt.wildcard_replacement:
        name = f"{registry.txt.wildcard_replacement.lower()}{dot}{rest}"
    return reading.record_name == name


def naming_of(profile: TxtProfile) -> tuple[str, str, str]:
    """What decides where the instances of a profile keep their claims."""
    return profile.prefix.lower(), profile.suffix.lower(), profile.wildcard_replacement.lower()


def _encryption_reference(profile: TxtProfile) -> str:
    return profile.reference if profile.encryption_key is not None else ""


def _is_encrypted_as(claim: ClaimFacts, profile: TxtProfile, profiles: Mapping[str, TxtProfile]) -> bool:
    """Whether a claim is encrypted, or is not, as an instance with this profile would write it."""
    key = profile.encryption_key
    if not claim.is_encrypted or key is None:
        return not claim.is_encrypted and key is None
    own = profiles.get(claim.profile_reference)
    return own is not None and own.encryption_key == key and not differs_from_external_dns(claim.raw, key)
