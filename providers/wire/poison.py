"""What must not enter the mirror: one such record is set aside alone, the others stay."""

import re
from typing import NamedTuple

from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint

MAX_TTL = 2**31 - 1
MAX_TARGETS = 100
MAX_LABELS = 50
MAX_PROPERTIES = 100
MAX_RECORD_BYTES = 64 * 1024
# Not in any specification; above what exists, and what an indexed column holds.
MAX_RECORD_TYPE_LENGTH = 20
MAX_SET_IDENTIFIER_LENGTH = 255
MAX_SAFE_TEXT_LENGTH = 253

_FORBIDDEN_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]").search


class Poison(NamedTuple):
    """The field that makes a record unfit for the mirror (empty: the whole record), and why."""

    field: str
    reason: str


def find_poison(endpoint: Endpoint) -> Poison | None:
    """The first reason to set this endpoint aside, or None. What passes has an `endpoint_key`."""
    return _find_excess(endpoint) or _find_forbidden_character(endpoint) or _find_bad_name(endpoint)


def safe_text(text: str) -> str:
    """The text as it may be shown in a finding or a log: printable characters only, 253 at most."""
    shown = "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text[:MAX_SAFE_TEXT_LENGTH]
    )
    return shown[:MAX_SAFE_TEXT_LENGTH]


def _find_excess(endpoint: Endpoint) -> Poison | None:
    if not 0 <= endpoint.record_ttl <= MAX_TTL:
        return Poison("recordTTL", f"a TTL outside 0 to {MAX_TTL}")
    limits = (
        ("targets", len(endpoint.targets), MAX_TARGETS, "targets"),
        ("labels", len(endpoint.labels), MAX_LABELS, "labels"),
        ("providerSpecific", len(endpoint.provider_specific), MAX_PROPERTIES, "properties"),
        ("recordType", len(endpoint.record_type), MAX_RECORD_TYPE_LENGTH, "characters"),
        ("setIdentifier", len(endpoint.set_identifier), MAX_SET_IDENTIFIER_LENGTH, "characters"),
    )
    for field, size, limit, things in limits:
        if size > limit:
            return Poison(field, f"{size} {things}, more than {limit}")
    return None


def _find_forbidden_character(endpoint: Endpoint) -> Poison | None:
    texts = (
        ("dnsName", (endpoint.dns_name,)),
        ("targets", endpoint.targets),
        ("recordType", (endpoint.record_type,)),
        ("setIdentifier", (endpoint.set_identifier,)),
        ("labels", (*endpoint.labels, *endpoint.labels.values())),
        (
            "providerSpecific",
            tuple(text for item in endpoint.provider_specific for text in (item.name, item.value)),
        ),
    )
    for field, values in texts:
        if any(map(_FORBIDDEN_CHARACTER, values)):
            return Poison(field, "a control character or half of a surrogate pair")
    return None


def _find_bad_name(endpoint: Endpoint) -> Poison | None:
    try:
        canonical_name(endpoint.dns_name)
    except InvalidName as error:
        return Poison("dnsName", error.reason)
    return None
