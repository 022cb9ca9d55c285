"""ExternalDNS's reading of a zone under one profile, written down anew and as directly as can be.

It shares no code with our pairing but the parsing of one claim's text. The owners that it finds were compared
with ExternalDNS's own TXT registry (v0.22.0) over some hundred thousand random zones.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text
from providers.registries.labels import ENCRYPTION_NONCE, parse_labels
from providers.wire.endpoint import Endpoint

TYPES = ("A", "AAAA", "CNAME", "NS", "MX", "PTR", "SRV", "NAPTR", "TXT", "DNAME")
_TEMPLATE = "%{record_type}"


@dataclass(frozen=True)
class ZoneReading:
    """What an instance makes of all endpoints of a zone.

    `labels` are, for each endpoint, its own with those of its claim over them; None for what is a claim
    itself, or a TXT without a target. `claim_names` and `claim_places` say which claims were read: under
    which names, and under which names and set identifiers, as the provider spells them.
    """

    labels: list[dict[str, str] | None]
    claim_names: frozenset[str]
    claim_places: frozenset[tuple[str, str]]


def read_zone(endpoints: Sequence[Endpoint], profile: TxtProfile) -> ZoneReading:
    """The record sets with the labels that are believed, and the claims."""
    claims: dict[tuple[str, str, str], dict[str, str]] = {}
    places: set[tuple[str, str]] = set()
    is_record: list[bool] = []
    for endpoint in endpoints:
        labels = None
        if endpoint.record_type == "TXT":
            labels = _read_labels(endpoint.targets[0], profile) if endpoint.targets else {}
            if labels is not None and endpoint.targets:
                claims[(*read_name(endpoint.dns_name, profile), endpoint.set_identifier)] = labels
                places.add((endpoint.dns_name, endpoint.set_identifier))
        is_record.append(labels is None)
    believed = [
        {**endpoint.labels, **_find_labels(endpoint, claims, profile)} if mine else None
        for endpoint, mine in zip(endpoints, is_record, strict=True)
    ]
    return ZoneReading(believed, frozenset(name for name, _ in places), frozenset(places))


def read_owners(endpoints: Sequence[Endpoint], profile: TxtProfile) -> list[str | None]:
    """The owner that is found for each endpoint, empty for none; None for what is a claim itself."""
    labels = read_zone(endpoints, profile).labels
    return [None if found is None else found.get("owner", "") for found in labels]


def read_name(txt_name: str, profile: TxtProfile) -> tuple[str, str]:
    """The name and the type that a TXT name claims; a type of no letters is the legacy format."""
    name = "".join(letter.lower()[:1] for letter in txt_name)
    prefix, suffix = profile.prefix.lower(), profile.suffix.lower()
    if not suffix:
        return _strip(name, prefix, suffix)
    labels = name.split(".")
    count = suffix.count(".") + 1
    if len(labels) < count:
        return "", ""
    stripped, record_type = _strip(".".join(labels[:count]), prefix, suffix)
    rest = labels[count:]
    return ".".join([stripped, *rest]), record_type


def _strip(name: str, prefix: str, suffix: str) -> tuple[str, str]:
    if _TEMPLATE in prefix + suffix:
        for record_type in TYPES:
            before = prefix.replace(_TEMPLATE, record_type.lower())
            after = suffix.replace(_TEMPLATE, record_type.lower())
            if name.startswith(before) and name.endswith(after):
                return name.removeprefix(before).removesuffix(after), record_type
        prefix, suffix = prefix.replace(_TEMPLATE, ""), suffix.replace(_TEMPLATE, "")
    if not (name.startswith(prefix) and name.endswith(suffix)):
        return "", ""
    name = name.removeprefix(prefix).removesuffix(suffix)
    first = name.split("-", maxsplit=1)[0]
    if first.upper() in TYPES:
        return name.removeprefix(f"{first}-"), first.upper()
    return name, ""


def _read_labels(text: str, profile: TxtProfile) -> dict[str, str] | None:
    if profile.encryption_key is not None:
        decrypted = decrypt_labels_text(text, profile.encryption_key)
        if decrypted is not None:
            labels = parse_labels(decrypted.plain)
            nonce = base64.b64encode(decrypted.nonce).decode()
            return None if labels is None else {**labels, ENCRYPTION_NONCE: nonce}
    return parse_labels(text)


def _find_labels(
    endpoint: Endpoint, claims: dict[tuple[str, str, str], dict[str, str]], profile: TxtProfile
) -> dict[str, str]:
    """The labels of the claim that counts for a record set; none where there is no claim."""
    first, *rest = endpoint.dns_name.split(".")
    if first == "*" and profile.wildcard_replacement:
        first = profile.wildcard_replacement
    name, kind = ".".join([first, *rest]), endpoint.record_type
    tried = [kind]
    alias = next((each.value for each in endpoint.provider_specific if each.name == "alias"), "")
    if kind == "A" and alias in ("true", "A"):
        tried.append("CNAME")
    if kind != "AAAA":
        tried.append("")
    return next(
        (claims[key] for each in tried if (key := (name, each, endpoint.set_identifier)) in claims), {}
    )
