"""What people declare, read as one endpoint that can stand. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import RESOURCE, format_labels
from providers.sources.targets import find_bad_target
from providers.wire.canonical_name import InvalidName, canonical_name, has_second_reading
from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.poison import find_poison
from registry_app.errors import InvalidRequest

# The wire's words for what a program calls otherwise here.
_FIELDS = {
    "recordTTL": "ttl",
    "dnsName": "name",
    "providerSpecific": "provider_specific",
    "labels": "resource",
}
_FIELDS |= {"recordType": "record_type", "setIdentifier": "set_identifier"}


class Undeclarable(Exception):
    """`field` cannot be as it was given; `reason` says what would be right."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason


def read_declared(given: Iterable[Mapping[str, Any]], *, path: str = "") -> dict[EndpointKey, Endpoint]:
    """The endpoints by their key. Raises InvalidRequest with every field that cannot be, by dotted path."""
    found: dict[EndpointKey, Endpoint] = {}
    problems: dict[str, list[str]] = {}
    for number, values in enumerate(given):
        where = f"{path}{number}." if path else ""
        try:
            endpoint = _read_endpoint(values)
            key = EndpointKey(endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)
            if key in found:
                raise Undeclarable("name", "It is declared twice: one name, type and set identifier, once.")
            found[key] = endpoint
        except Undeclarable as error:
            problems[f"{where}{error.field}"] = [error.reason]
    if problems:
        raise InvalidRequest("Not all of this can stand at a provider.", fields=problems)
    return found


def _read_endpoint(values: Mapping[str, Any]) -> Endpoint:
    kind = str(values["record_type"]).upper()
    if kind not in KNOWN_RECORD_TYPES:
        raise Undeclarable("record_type", f"Choose among {', '.join(KNOWN_RECORD_TYPES)}.")
    endpoint = Endpoint(
        dns_name=_read_name(str(values["name"])),
        targets=tuple(values["targets"]),
        record_type=kind,
        set_identifier=values.get("set_identifier", ""),
        record_ttl=values.get("ttl", 0),
        labels=_read_labels(values.get("resource", "")),
        provider_specific=tuple(
            ProviderSpecificProperty(*pair) for pair in values.get("provider_specific", ())
        ),
    )
    if not endpoint.targets:
        raise Undeclarable("targets", "At least one target belongs here.")
    poison = find_poison(endpoint)
    if poison is not None:
        raise Undeclarable(_FIELDS.get(poison.field, poison.field), f"It holds {poison.reason}.")
    bad = find_bad_target(endpoint)
    if bad is not None:
        raise Undeclarable(f"targets.{bad[0]}", bad[1])
    return endpoint


def _read_name(text: str) -> str:
    try:
        name = canonical_name(text)
        if has_second_reading(text):
            raise Undeclarable("name", "Programs read it as different names; write it in ASCII, with xn--.")
    except InvalidName as error:
        raise Undeclarable("name", f"It cannot be a name: {error.reason}.") from None
    return name


def _read_labels(resource: str) -> dict[str, str]:
    labels = {RESOURCE: resource} if resource else {}
    try:
        format_labels(labels)
    except UnwritableLabel as error:
        raise Undeclarable("resource", str(error)) from None
    return labels
