"""The TXT endpoints a transfer writes: exactly what was read, but for the one thing that changes."""

from collections.abc import Mapping

import msgspec

from providers.registries.claim import Claim, TxtProfile
from providers.registries.encryption import decrypt_labels_text, encrypt_labels_text, reencrypt
from providers.registries.errors import UnclaimableRecord, UndecryptableClaim
from providers.registries.labels import (
    OWNER,
    RESOURCE,
    format_labels,
    raise_if_owner_unwritable,
    replace_owner,
)
from providers.registries.txt_names import format_txt_name, parse_txt_name
from providers.wire.endpoint import Endpoint

# ExternalDNS puts the claimed name beside the TXT endpoint, not into its text.
OWNED_RECORD = "ownedRecord"


def build_reowned_claim(claim: Claim, new_owner_id: str) -> Endpoint:
    """The claim's TXT endpoint as read, with another owner in this claim and nothing else changed.

    An encrypted claim is encrypted again with its profile's key, under a fresh nonce. Raises
    UnwritableLabel, ForeignText for a claim without heritage, and UndecryptableClaim.
    """
    raise_if_owner_unwritable(new_owner_id)
    if claim.is_encrypted:
        new_raw = _reown_encrypted(claim, new_owner_id)
    else:
        new_raw = replace_owner(claim.raw, new_owner_id)
    targets = [new_raw if target == claim.raw else target for target in claim.endpoint.targets]
    # The endpoint may hold the new owner's claim already, and a provider refuses a target twice.
    return msgspec.structs.replace(claim.endpoint, targets=tuple(dict.fromkeys(targets)))


def build_new_claim(
    record: Endpoint,
    owner_id: str,
    profile: TxtProfile,
    *,
    resource: str = "",
    extra_labels: Mapping[str, str] | None = None,
    like: Endpoint | None = None,
) -> Endpoint:
    """The TXT endpoint ExternalDNS writes for a record of this owner under this profile.

    The record's set identifier and provider-specific properties go along; the TTL is left to the
    provider. With `like`, the TXT endpoint of an older claim, its TTL, properties and labels are kept.
    Raises UnwritableLabel, UnclaimableRecord, TxtNameTooLong, InvalidName.
    """
    raise_if_owner_unwritable(owner_id)
    labels = dict(extra_labels or {})
    labels[OWNER] = owner_id
    if resource:
        labels[RESOURCE] = resource
    text = format_labels(labels, quoted=False)
    if profile.encryption_key is not None:
        text = encrypt_labels_text(text, profile.encryption_key)
    txt_name = format_txt_name(record.dns_name, record.record_type, profile)
    _raise_if_it_speaks_for_another(txt_name, record, profile)
    pattern = like or Endpoint(
        labels={OWNED_RECORD: record.dns_name}, provider_specific=record.provider_specific
    )
    return msgspec.structs.replace(
        pattern,
        dns_name=txt_name,
        targets=(f'"{text}"',),
        record_type="TXT",
        set_identifier=record.set_identifier,
    )


def without_claim(claim: Claim) -> Endpoint | None:
    """The claim's TXT endpoint without this claim; None if nothing is left in it: delete it then."""
    targets = tuple(target for target in claim.endpoint.targets if target != claim.raw)
    return msgspec.structs.replace(claim.endpoint, targets=targets) if targets else None


def _raise_if_it_speaks_for_another(txt_name: str, record: Endpoint, profile: TxtProfile) -> None:
    # ExternalDNS writes `caa-www` for a CAA record, and then reads it as a legacy claim of `caa-www`.
    reading = parse_txt_name(txt_name, profile)
    if reading is None or reading.record_type != record.record_type.upper():
        raise UnclaimableRecord(
            f"A claim at {txt_name} would not be read as one for {record.dns_name} {record.record_type}, "
            "so the record cannot be owned under this registry profile. Nothing was written."
        )


def _reown_encrypted(claim: Claim, new_owner_id: str) -> str:
    key = claim.profile.encryption_key
    decrypted = None if key is None else decrypt_labels_text(claim.raw, key)
    if key is None or decrypted is None:
        raise UndecryptableClaim(
            f"The encrypted claim at {claim.endpoint.dns_name} does not open with the key of its registry "
            "profile; it was left as it is. Give the profile the key its instance uses."
        )
    return reencrypt(claim.raw, replace_owner(decrypted.plain, new_owner_id), key)
