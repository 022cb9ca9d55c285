"""The claims that ExternalDNS renders for a record set, from its labels alone."""

import base64
import os

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from providers.registries.compression.gzip_text import compress
from providers.registries.labels import ENCRYPTION_NONCE
from tests.external_dns.record import Record
from tests.external_dns.settings import Settings, Version
from tests.reference_server import make_claim_name

_OWNED_RECORD = "ownedRecord"
_TEMPLATE = "%{record_type}"
_NONCE_BYTES = 12
_LONGEST_LABEL = 63


def build_claims(record: Record, settings: Settings) -> list[Record]:
    """The TXT endpoints of a record set: no TTL, and its own set identifier and properties.

    An encrypted one keeps the nonce among the labels of the record set, or puts one there. None for a name
    that is too long: ExternalDNS writes such a record set without a claim.
    """
    text = _format_text(record, settings.encryption_key)
    return [
        Record(
            name,
            "TXT",
            [f'"{text}"'],
            record.set_identifier,
            labels={_OWNED_RECORD: record.dns_name},
            properties=list(record.properties),
        )
        for name in _list_names(record, settings)
        if all(len(label) <= _LONGEST_LABEL for label in name.split("."))
    ]


def _list_names(record: Record, settings: Settings) -> list[str]:
    if settings.version is Version.CURRENT:
        return [make_claim_name(record.dns_name, record.record_type, settings.profile)]
    kind = "CNAME" if record.is_alias else record.record_type
    typed = make_claim_name(record.dns_name, kind, settings.profile)
    return [typed] if record.record_type == "AAAA" else [_make_legacy_name(record.dns_name, settings), typed]


def _make_legacy_name(name: str, settings: Settings) -> str:
    first, dot, rest = name.partition(".")
    if first == "*" and settings.wildcard_replacement:
        first = settings.wildcard_replacement
    prefix = settings.txt_prefix.lower().replace(_TEMPLATE, "")
    suffix = settings.txt_suffix.lower().replace(_TEMPLATE, "")
    return f"{prefix}{first}{suffix}{dot}{rest}"


def _format_text(record: Record, key: bytes | None) -> str:
    labels = sorted((name, value) for name, value in record.labels.items() if name != ENCRYPTION_NONCE)
    plain = ",".join(["heritage=external-dns", *(f"external-dns/{name}={value}" for name, value in labels)])
    if key is None:
        return plain
    kept = record.labels.setdefault(ENCRYPTION_NONCE, base64.b64encode(os.urandom(_NONCE_BYTES)).decode())
    nonce = base64.b64decode(kept)
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, compress(plain.encode()), None)).decode()
