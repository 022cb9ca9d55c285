"""The TXT endpoint that claims a record set."""

from collections.abc import Mapping

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.registries.errors import UnclaimableRecord
from providers.registries.labels import (
    OWNER,
    RESOURCE,
    format_labels,
    raise_if_owner_unwritable,
)
from providers.registries.txt_names import format_txt_name, parse_txt_name
from providers.wire.endpoint import Endpoint

# ExternalDNS puts the claimed name beside the TXT endpoint, not into its text.
OWNED_RECORD = "ownedRecord"


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
    _raise_if_read_for_another(txt_name, record, profile)
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


def _raise_if_read_for_another(txt_name: str, record: Endpoint, profile: TxtProfile) -> None:
    # ExternalDNS writes `caa-www` for a CAA record, and then reads it as a legacy claim of `caa-www`.
    reading = parse_txt_name(txt_name, profile)
    if reading is None or reading.record_type != record.record_type.upper():
        raise UnclaimableRecord(
            f"A claim at {txt_name} would not be read as one for {record.dns_name} {record.record_type}, "
            "so the record cannot be owned under this registry profile. Nothing was written."
        )
