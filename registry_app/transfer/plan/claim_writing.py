"""Where the claims of one item are written, in which form, and what repeats them in the zone. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import differs_from_external_dns
from providers.registries.errors import ForeignText
from providers.registries.labels import OWNER, RESOURCE, format_labels, parse_labels, rebuild_text
from providers.registries.new_claim import build_new_claim
from providers.registries.txt_names import format_txt_name, parse_txt_name
from providers.wire.endpoint import Endpoint
from registry_app.mirror.owner_registry import OwnerRegistry
from registry_app.transfer.plan.claim_edit import ClaimEdit, UnusableClaim, read_plain_text
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, build_row, build_row_key, build_txt_key
from registry_app.transfer.plan.plan_context import PlanContext
from registry_app.transfer.plan.subjects import ClaimFacts, Subject


class ClaimText(NamedTuple):
    """A heritage text, decrypted, and its place if it exists already."""

    text: str
    place: ClaimKey | None


def find_deciding(subject: Subject, context: PlanContext) -> ClaimFacts | None:
    """The row that decides, where the zone has copies of it: they may differ."""
    rows = (claim for claim in subject.readable if claim.place.store != ZONE)
    return next((row for row in rows if row.place.store in context.profiles), None)


def write_copies(
    edit: ClaimEdit,
    subject: Subject,
    text: str,
    registry: OwnerRegistry,
    context: PlanContext,
    *,
    only_typed: bool = False,
) -> list[ClaimFacts]:
    """The TXT records that repeat the row say the same as it; without one, it is added. Those that stay.
    `only_typed`: of the format without a type none stays."""
    profile = registry.copies
    if profile is None:
        return []
    reader = OwnerRegistry(txt=profile)
    found = [claim for claim in subject.claims if reads(reader, claim, subject, context)]
    place = place_of(subject, reader)
    copies = [claim for claim in found if claim.place == place or not only_typed]
    for copy in copies:
        # One that is as it should be is reviewed all the same.
        if says(copy, text, profile, context):
            edit.replace(copy, copy.raw)
        else:
            write_text(edit, copy, quote_as(text, copy.raw), profile)
    if all(copy.place != place for copy in copies):
        add_claim(edit, subject, ClaimText(text, None), reader, context)
    return copies


def quote_as(text: str, like: str) -> str:
    """A heritage text in quotes where `like` is, and without where that has none."""
    bare = text.strip('"')
    return f'"{bare}"' if like.startswith('"') else bare


def says(claim: ClaimFacts, text: str, profile: TxtProfile, context: PlanContext) -> bool:
    """Whether a TXT claim has these labels, and is encrypted, or is not, as this profile has it."""
    if not claim.is_readable or not _is_encrypted_as(claim, profile, context.profiles):
        return False
    return parse_labels(read_plain_text(claim, context.profiles)) == parse_labels(text)


def add_claim(
    edit: ClaimEdit, subject: Subject, claim: ClaimText, registry: OwnerRegistry, context: PlanContext
) -> None:
    """Add a claim with the same labels at a place of its own."""
    key = place_of(subject, registry)
    _raise_if_taken(key, subject, context)
    if key.store != ZONE:
        edit.add_row(key, _normalize(claim.text))
    elif claim.place is not None and claim.place.store == ZONE:
        # A TXT claim that replaces a TXT claim keeps its text byte for byte.
        text = _prepare_to_encrypt(claim.text, registry.txt)
        edit.add(build_row(key, (text,)), _encryption_reference(registry.txt))
    else:
        edit.add(_build_txt_claim(subject, claim.text, registry.txt), _encryption_reference(registry.txt))


def write_text(edit: ClaimEdit, claim: ClaimFacts, text: str, profile: TxtProfile) -> None:
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


def place_of(subject: Subject, registry: OwnerRegistry) -> ClaimKey:
    """Where this owner's instance keeps the claim of a record set."""
    key = subject.record.key
    if not registry.keeps_claims:
        raise UnusableClaim("no_registry", "Its owner uses the registry noop, so no claim can name it.")
    if registry.store != ZONE:
        return build_row_key(registry.store, key)
    return build_txt_key(format_txt_name(key.name, key.record_type, registry.txt), key.set_identifier)


def reads(registry: OwnerRegistry, claim: ClaimFacts, subject: Subject, context: PlanContext) -> bool:
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
