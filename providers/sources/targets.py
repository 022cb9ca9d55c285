"""Targets as ExternalDNS takes them from a DNSEndpoint, by record type. Pure.

ExternalDNS logs a target it cannot take and leaves its endpoint out: under policy sync its record goes. Here
the manifest is refused. Its releases differ on the last dot of CNAME, MX and SRV: both spellings are taken.
"""

import ipaddress

from providers.registries.labels import parse_labels
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint

_DOT_IS_FREE = ("CNAME", "DNAME", "MX", "SRV", "TXT")
_MAX_PORT = 2**16 - 1
_CLAIM = "it is an ownership claim, which is never declared: claims are written with records."
_BETWEEN_STRINGS = str.maketrans("", "", '" ')
# Numbers before the name in a target.
_LEADING_NUMBERS = {"MX": ("preference",), "SRV": ("priority", "weight", "port")}


def find_bad_target(endpoint: Endpoint) -> tuple[int, str] | None:
    """The position of the first target that cannot stand, and what to write; None if all can."""
    for index, target in enumerate(endpoint.targets):
        reason = _find_fault(endpoint, target)
        if reason:
            return index, reason
    return None


def _find_fault(endpoint: Endpoint, target: str) -> str:
    kind = endpoint.record_type
    if target != target.strip():
        return "it has white space around it; remove it."
    if kind == "TXT":
        return _CLAIM if _is_claim(target) else ""
    if kind == "NAPTR":
        return "" if target.endswith(".") else "it must end with a dot."
    if kind in ("A", "AAAA"):
        return _find_fault_of_address(endpoint, target)
    if kind in _LEADING_NUMBERS:
        return _find_fault_of_numbers(kind, target)
    if target.endswith(".") and kind not in _DOT_IS_FREE:
        return "it must not end with a dot."
    if kind in ("CNAME", "DNAME", "NS", "PTR"):
        return _find_fault_of_name(target)
    return ""


def _is_claim(target: str) -> bool:
    """Whether it is one once its strings are put together, however they are cut."""
    return parse_labels(target.translate(_BETWEEN_STRINGS)) is not None


def _find_fault_of_address(endpoint: Endpoint, target: str) -> str:
    if target.endswith("."):
        return "it must not end with a dot."
    version = 4 if endpoint.record_type == "A" else 6
    try:
        address = ipaddress.ip_address(target)
    except ValueError:
        if any(each.name == "alias" for each in endpoint.provider_specific):
            return _find_fault_of_name(target)
        return f"it is no IPv{version} address; a name belongs into a CNAME, or needs the property alias."
    if address.version != version:
        return f"it is an IPv{address.version} address, which belongs into {'AAAA' if version == 4 else 'A'}."
    if "%" in target:
        return "an address in the DNS has no zone; remove the part from % on."
    return ""


def _find_fault_of_numbers(kind: str, target: str) -> str:
    numbers = _LEADING_NUMBERS[kind]
    words = target.split()
    are_numbers = all(word.isascii() and word.isdigit() and len(word) <= 5 for word in words[:-1])
    if len(words) != len(numbers) + 1 or not are_numbers or any(int(word) > _MAX_PORT for word in words[:-1]):
        return f"it must be {', '.join(numbers)} (0 to {_MAX_PORT}) and a name, with spaces between them."
    if words[-1] == ".":
        return ""  # the root: "no such service", "no mail here"
    return _find_fault_of_name(words[-1])


def _find_fault_of_name(text: str) -> str:
    try:
        canonical_name(text)
    except InvalidName as error:
        return f"it cannot be a name: {error.reason}."
    return ""
