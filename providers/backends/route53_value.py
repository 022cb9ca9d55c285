"""Endpoints and Route 53 record sets, both ways, and the form in which wanted endpoints come back. Pure.

Facts of ExternalDNS's own provider: alias records carry `alias` `true` and a TTL of 300, a plain CNAME
`alias` `false`, and routing policies are the `aws/...` properties beside a set identifier. To a webhook
ExternalDNS passes a property on only as `webhook/aws-weight` and the like: the two names mean the same here.
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import msgspec

from providers.backends.errors import ChangeImpossible, describe
from providers.backends.route53_text import find_alias_zone, format_value, parse_name, parse_value
from providers.backends.single_change import key_of
from providers.backends.txt_target import (
    REGISTRY_PROPERTIES,
    is_claim,
    meaningful_properties,
    put_claims_first,
)
from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint, ProviderSpecificProperty

# As the service's own API has it: Name, Type, TTL, ResourceRecords, AliasTarget, SetIdentifier, ...
RecordSet = Mapping[str, Any]

ALIAS, EVALUATE, TARGET_ZONE = "alias", "aws/evaluate-target-health", "aws/target-hosted-zone"
_HEALTH_CHECK, _MULTI_VALUE = "aws/health-check-id", "aws/multi-value-answer"
_GEO = {
    "aws/geolocation-continent-code": "ContinentCode",
    "aws/geolocation-country-code": "CountryCode",
    "aws/geolocation-subdivision-code": "SubdivisionCode",
}
_KNOWN = {ALIAS, EVALUATE, TARGET_ZONE, _HEALTH_CHECK, _MULTI_VALUE, *_GEO} | {
    "aws/weight",
    "aws/region",
    "aws/failover",
}
_FROM_ANNOTATION = {f"webhook/{name.replace('/', '-')}": name for name in _KNOWN if "/" in name}
_SERVED_TYPES = {*KNOWN_RECORD_TYPES} - {"DNAME"}
_ALIAS_TYPES = ("A", "AAAA")
_DEFAULT_TTL = 300


def build_endpoint(record_set: RecordSet) -> Endpoint | None:
    """What the wire shows of a record set; None for types that ExternalDNS does not know."""
    if record_set["Type"] not in _SERVED_TYPES:
        return None
    alias = record_set.get("AliasTarget")
    endpoint = Endpoint(
        dns_name=parse_name(record_set["Name"]),
        record_type=record_set["Type"],
        set_identifier=record_set.get("SetIdentifier", ""),
        provider_specific=tuple(_iterate_properties(record_set)),
    )
    if alias:
        target = alias["DNSName"].removesuffix(".")
        return msgspec.structs.replace(endpoint, targets=(target,), record_ttl=_DEFAULT_TTL)
    values = (each["Value"] for each in record_set.get("ResourceRecords", ()))
    targets = tuple(parse_value(endpoint.record_type, value) for value in values)
    return msgspec.structs.replace(
        endpoint,
        targets=put_claims_first(targets) if endpoint.record_type == "TXT" else targets,
        record_ttl=record_set.get("TTL", 0),
    )


def build_record_set(endpoint: Endpoint, zone_id: str, *, held: RecordSet | None = None) -> dict[str, Any]:
    """The record set that holds an endpoint. A TXT target that `held` has already stays as it is there, split
    into the same strings. Raises ChangeImpossible for what Route 53 cannot hold."""
    key = key_of(endpoint)
    properties = _read_properties(endpoint)
    _raise_if_unplaceable(endpoint, properties)
    record_set: dict[str, Any] = {"Name": key.name, "Type": key.record_type}
    if key.record_type in _ALIAS_TYPES and properties.get(ALIAS) == "true":
        target = endpoint.targets[0]
        record_set["AliasTarget"] = {
            "DNSName": target,
            "HostedZoneId": properties.get(TARGET_ZONE) or find_alias_zone(target) or zone_id,
            "EvaluateTargetHealth": properties.get(EVALUATE, "true") == "true",
        }
    else:
        record_set["TTL"] = endpoint.record_ttl or _DEFAULT_TTL
        record_set["ResourceRecords"] = [{"Value": value} for value in _format_values(endpoint, held or {})]
    if endpoint.set_identifier:
        record_set |= {"SetIdentifier": endpoint.set_identifier, **_build_routing(endpoint, properties)}
    if _HEALTH_CHECK in properties:
        record_set["HealthCheckId"] = properties[_HEALTH_CHECK]
    return record_set


def is_same_record_set(held: RecordSet, wanted: RecordSet, zone_id: str) -> bool:
    """Whether what was read is what is wanted, however the service spells it."""
    endpoint = build_endpoint(held)
    try:
        again = build_record_set(endpoint, zone_id, held=held) if endpoint is not None else {}
    except ChangeImpossible:
        return False
    return _sort_values(again) == _sort_values(wanted)


def _sort_values(record_set: RecordSet) -> RecordSet:
    values = sorted(each["Value"] for each in record_set.get("ResourceRecords", ()))
    return {**record_set, "ResourceRecords": values}


def adjust(endpoints: Sequence[Endpoint], *, prefer_cname: bool = False) -> list[Endpoint]:
    """Wanted endpoints as they would be read back: a CNAME to a service of AWS becomes an alias, of A and of
    AAAA; what is an alias has its TTL and says whether the target's health counts."""
    adjusted: list[Endpoint] = []
    twins: list[Endpoint] = []
    for endpoint in endpoints:
        properties = _read_properties(endpoint)
        is_cname = endpoint.record_type == "CNAME"
        is_alias = properties.get(ALIAS) == "true" and (is_cname or endpoint.record_type in _ALIAS_TYPES)
        if ALIAS not in properties and is_cname and not prefer_cname:
            is_alias = len(endpoint.targets) == 1 and bool(find_alias_zone(endpoint.targets[0]))
        if not is_alias:
            adjusted.append(_as_plain(endpoint, properties))
            continue
        alias = _as_alias(endpoint, properties)
        if is_cname:
            alias = msgspec.structs.replace(alias, record_type="A")
            twins.append(msgspec.structs.replace(alias, record_type="AAAA"))
        adjusted.append(alias)
    return adjusted + twins


def comparable_properties(endpoint: Endpoint) -> Mapping[str, str]:
    """The properties that count in an old value, under their names here."""
    return {
        _FROM_ANNOTATION.get(name, name): value for name, value in meaningful_properties(endpoint).items()
    }


def _read_properties(endpoint: Endpoint) -> dict[str, str]:
    """The properties of an endpoint under their names here; of a claim, which carries a copy of its record's,
    those that say which set it belongs to."""
    named = {
        _FROM_ANNOTATION.get(each.name, each.name): each.value
        for each in endpoint.provider_specific
        if not each.name.startswith(REGISTRY_PROPERTIES)
    }
    if not is_claim(endpoint):
        return named
    kept = (_KNOWN - {ALIAS, EVALUATE, TARGET_ZONE}) if endpoint.set_identifier else set()
    return {name: value for name, value in named.items() if name in kept}


def _as_alias(endpoint: Endpoint, properties: dict[str, str]) -> Endpoint:
    evaluate = properties.get(EVALUATE, "true")
    if evaluate not in ("true", "false"):
        evaluate = "false"
    kept = {name: value for name, value in properties.items() if name not in (ALIAS, EVALUATE)}
    return msgspec.structs.replace(
        endpoint,
        targets=tuple(target.removesuffix(".") for target in endpoint.targets),
        record_ttl=_DEFAULT_TTL if endpoint.record_ttl else 0,
        provider_specific=_as_properties({**kept, EVALUATE: evaluate, ALIAS: "true"}),
    )


def _as_plain(endpoint: Endpoint, properties: dict[str, str]) -> Endpoint:
    kept = {name: value for name, value in properties.items() if name not in (ALIAS, EVALUATE)}
    if endpoint.record_type == "CNAME":
        kept[ALIAS] = "false"
    return msgspec.structs.replace(
        endpoint,
        targets=tuple(_adjust_target(endpoint.record_type, target) for target in endpoint.targets),
        provider_specific=_as_properties(kept),
    )


def _adjust_target(record_type: str, target: str) -> str:
    """A target as it would be read back; what cannot be held stays as it is; `find_problems` reports it."""
    try:
        return parse_value(record_type, format_value(record_type, target))
    except ValueError:
        return target


def _as_properties(properties: Mapping[str, str]) -> tuple[ProviderSpecificProperty, ...]:
    return tuple(ProviderSpecificProperty(name, properties[name]) for name in sorted(properties))


def _iterate_properties(record_set: RecordSet) -> Iterator[ProviderSpecificProperty]:
    found: dict[str, str] = {}
    alias = record_set.get("AliasTarget")
    if alias:
        found |= {ALIAS: "true", EVALUATE: str(alias["EvaluateTargetHealth"]).lower()}
        if not find_alias_zone(alias["DNSName"]):
            found[TARGET_ZONE] = alias["HostedZoneId"]
    elif record_set["Type"] == "CNAME":
        found[ALIAS] = "false"
    for name, field in (("aws/weight", "Weight"), ("aws/region", "Region"), ("aws/failover", "Failover")):
        if record_set.get(field) not in (None, ""):
            found[name] = str(record_set[field])
    if record_set.get("MultiValueAnswer"):
        found[_MULTI_VALUE] = ""
    geo = record_set.get("GeoLocation") or {}
    found |= {name: geo[field] for name, field in _GEO.items() if geo.get(field)}
    if record_set.get("HealthCheckId"):
        found[_HEALTH_CHECK] = record_set["HealthCheckId"]
    yield from _as_properties(found)


def _build_routing(endpoint: Endpoint, properties: Mapping[str, str]) -> dict[str, Any]:
    routing: dict[str, Any] = {}
    if "aws/weight" in properties:
        weight = properties["aws/weight"]
        if not weight.isascii() or not weight.isdigit() or int(weight) > 255:
            raise _impossible(endpoint, f"the weight {weight[:20]!r} is not a number from 0 to 255")
        routing["Weight"] = int(weight)
    if "aws/region" in properties:
        routing["Region"] = properties["aws/region"]
    if "aws/failover" in properties:
        routing["Failover"] = properties["aws/failover"]
    if _MULTI_VALUE in properties:
        routing["MultiValueAnswer"] = True
    geo = {field: properties[name] for name, field in _GEO.items() if name in properties}
    if geo:
        routing["GeoLocation"] = geo
    if len(routing) != 1:
        raise _impossible(endpoint, "a set identifier needs exactly one routing policy (aws/weight, ...)")
    return routing


def _raise_if_unplaceable(endpoint: Endpoint, properties: Mapping[str, str]) -> None:
    unknown = sorted(name for name in properties if name not in _KNOWN)
    problem = ""
    if endpoint.record_type.upper() not in _SERVED_TYPES:
        problem = f"type {endpoint.record_type[:20]} is not served"
    elif not endpoint.targets:
        problem = "it has no target"
    elif unknown:
        problem = f"Route 53 has no place for {', '.join(unknown)[:200]}"
    elif properties.get(ALIAS) == "true" and len(endpoint.targets) > 1:
        problem = "an alias has one target"
    elif endpoint.record_type.upper() == "CNAME" and len(endpoint.targets) > 1:
        problem = "a CNAME has exactly one target"
    elif properties.get(ALIAS) != "true" and _find_no_address(endpoint):
        problem = (
            f"the target {_find_no_address(endpoint)[:100]!r} is no address of type {endpoint.record_type}"
        )
    if problem:
        raise _impossible(endpoint, problem)


def _find_no_address(endpoint: Endpoint) -> str:
    """The first target of an A or AAAA that is no address of its kind; else empty."""
    kinds: dict[str, type[IPv4Address | IPv6Address]] = {"A": IPv4Address, "AAAA": IPv6Address}
    kind = kinds.get(endpoint.record_type.upper())
    if kind is None:
        return ""
    for target in endpoint.targets:
        try:
            kind(target)
        except ValueError:
            return target or "(empty)"
    return ""


def _impossible(endpoint: Endpoint, problem: str) -> ChangeImpossible:
    return ChangeImpossible(f"{describe(key_of(endpoint))}: {problem}. Nothing was applied.")


def _format_values(endpoint: Endpoint, held: RecordSet) -> Iterator[str]:
    record_type = endpoint.record_type.upper()
    kept = {}
    if record_type == "TXT":
        kept = {parse_value("TXT", each["Value"]): each["Value"] for each in held.get("ResourceRecords", ())}
    for target in endpoint.targets:
        try:
            yield kept.get(target) or format_value(record_type, target)
        except ValueError as error:
            raise _impossible(endpoint, f"the target {target[:100]!r} cannot be held: {error}") from error
