"""Where a claim is: in a TXT record of the zone, or in the row of a registry store."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from providers.wire.canonical_name import canonical_name
from providers.wire.endpoint import Endpoint, EndpointKey

# Wire endpoints as they are stored in a row: a JSON object. `encrypt` beside the wire's own fields names,
# by the position of a target, the registry profile with whose key that target is encrypted when it is sent.
EndpointDict = dict[str, Any]
# The store of what is in the zone itself.
ZONE = ""
# The fields of a plan's endpoint that are not on the wire.
_OURS = ("encrypt", "store")


class ClaimKey(NamedTuple):
    """The place of one or more claims.

    `store` is empty for a TXT record of the zone: then `name` is the TXT name and `record_type` is "TXT".
    Otherwise it is the primary key, as text, of the registry profile whose store holds the row, and the
    rest is the record set the row is for.
    """

    store: str
    name: str
    record_type: str
    set_identifier: str


def build_txt_key(name: str, set_identifier: str = "") -> ClaimKey:
    """The place of a TXT record; `name` is canonical."""
    return ClaimKey(ZONE, name, "TXT", set_identifier)


def build_row_key(store: str, key: EndpointKey) -> ClaimKey:
    """The place of the row for a record set in a store."""
    return ClaimKey(store, *key)


def endpoint_key_of(key: ClaimKey) -> EndpointKey:
    """Which endpoint of the zone is there, or which record set the row is for."""
    return EndpointKey(key.name, key.record_type, key.set_identifier)


def claim_key_of(endpoint: EndpointDict) -> ClaimKey:
    """The place of an endpoint of a plan, whatever spelling its provider gave it."""
    return ClaimKey(
        str(endpoint.get("store", ZONE)),
        canonical_name(str(endpoint["dnsName"])),
        str(endpoint.get("recordType", "TXT")).upper(),
        str(endpoint.get("setIdentifier", "")),
    )


def build_claim_dict(
    key: ClaimKey, targets: Sequence[str], encrypt: Mapping[str, str] | None = None
) -> EndpointDict:
    """The claims at one place as a plan has them: one target for each of them."""
    values: EndpointDict = {
        "dnsName": key.name,
        "targets": list(targets),
        "recordType": key.record_type,
    }
    if key.set_identifier:
        values["setIdentifier"] = key.set_identifier
    if key.store:
        values["store"] = key.store
    if encrypt:
        values["encrypt"] = dict(encrypt)
    return values


def format_endpoint(endpoint: Endpoint, store: str) -> EndpointDict:
    """An endpoint of the zone, or a row of a store, as a plan has it."""
    values: EndpointDict = msgspec.to_builtins(endpoint)
    return {**values, "store": store} if store else values


def parse_endpoint(values: EndpointDict) -> Endpoint:
    """The wire endpoint of a plan's endpoint, without the fields that only plans have."""
    return msgspec.convert({name: each for name, each in values.items() if name not in _OURS}, Endpoint)


def build_row(key: ClaimKey, texts: Sequence[str]) -> Endpoint:
    """The rows of a store for one record set as one value: several claims are several targets."""
    return Endpoint(
        dns_name=key.name,
        targets=tuple(texts),
        record_type=key.record_type,
        set_identifier=key.set_identifier,
    )


def describe_place(key: ClaimKey, stores: Mapping[str, str]) -> str:
    """The place as text; `stores` are the names of the registry stores."""
    if not key.store:
        return f"the TXT record {key.name}"
    row = f"{key.name} {key.record_type}"
    if key.set_identifier:
        row += f" ({key.set_identifier})"
    return f"the row for {row} in {stores.get(key.store, 'a registry store')}"
