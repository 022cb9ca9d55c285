"""Endpoints and Route 53's record sets, both ways."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.backends.errors import ChangeImpossible
from providers.backends.route53_text import find_alias_zone, parse_name
from providers.backends.route53_value import adjust, build_endpoint, build_record_set
from providers.backends.txt_target import format_txt_target, parse_txt_target
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.depth import examples
from tests.reference_server import make_claim, make_record

ZONE = "Z1"
ELB = "shop-1234.eu-central-1.elb.amazonaws.com"


def _with(endpoint: Endpoint, **properties: str) -> Endpoint:
    named = {name.replace("__", "/").replace("_", "-"): value for name, value in properties.items()}
    return Endpoint(
        dns_name=endpoint.dns_name,
        targets=endpoint.targets,
        record_type=endpoint.record_type,
        set_identifier=endpoint.set_identifier,
        record_ttl=endpoint.record_ttl,
        provider_specific=tuple(ProviderSpecificProperty(name, named[name]) for name in sorted(named)),
    )


def _there_and_back(endpoint: Endpoint) -> Endpoint | None:
    return build_endpoint(build_record_set(endpoint, ZONE))


@pytest.mark.parametrize(
    "properties",
    [
        {"aws__weight": "10"},
        {"aws__region": "eu-central-1"},
        {"aws__failover": "PRIMARY"},
        {"aws__multi_value_answer": ""},
        {"aws__geolocation_continent_code": "EU"},
        {"aws__geolocation_country_code": "US", "aws__geolocation_subdivision_code": "CA"},
        {"aws__weight": "0", "aws__health_check_id": "4711"},
    ],
)
def test_every_routing_policy_comes_back(properties: dict[str, str]) -> None:
    endpoint = _with(make_record(set_identifier="eu"), **properties)

    assert _there_and_back(endpoint) == endpoint


@pytest.mark.parametrize("weight", ["", "-1", "256", "ten", "1e2", "٣"])
def test_a_weight_that_is_none_is_refused_and_never_taken_for_zero(weight: str) -> None:
    with pytest.raises(ChangeImpossible, match="weight"):
        build_record_set(_with(make_record(set_identifier="eu"), aws__weight=weight), ZONE)


@pytest.mark.parametrize("properties", [{}, {"aws__weight": "1", "aws__region": "eu-central-1"}])
def test_a_set_needs_exactly_one_routing_policy(properties: dict[str, str]) -> None:
    with pytest.raises(ChangeImpossible, match="routing policy"):
        build_record_set(_with(make_record(set_identifier="eu"), **properties), ZONE)


def test_an_alias_to_a_load_balancer_points_into_its_zone() -> None:
    endpoint = _with(make_record(targets=(ELB,)), alias="true", aws__evaluate_target_health="true")

    record_set = build_record_set(endpoint, ZONE)

    assert record_set["AliasTarget"]["HostedZoneId"] == find_alias_zone(ELB) == "Z215JYRZR1TBD5"
    assert "TTL" not in record_set
    assert build_endpoint(record_set) == endpoint


def test_an_alias_to_elsewhere_keeps_the_zone_it_was_read_with() -> None:
    raw: dict[str, Any] = {
        "Name": "www.example.org.",
        "Type": "A",
        "AliasTarget": {"DNSName": "x.example.com.", "HostedZoneId": "Z9", "EvaluateTargetHealth": False},
    }

    endpoint = build_endpoint(raw)

    assert endpoint is not None
    assert ProviderSpecificProperty("aws/target-hosted-zone", "Z9") in endpoint.provider_specific
    assert build_record_set(endpoint, ZONE)["AliasTarget"] == {
        **raw["AliasTarget"],
        "DNSName": "x.example.com",
    }


def test_an_alias_within_the_zone_gets_its_id() -> None:
    endpoint = _with(make_record(targets=("other.example.org",)), alias="true")

    assert build_record_set(endpoint, ZONE)["AliasTarget"]["HostedZoneId"] == ZONE


def test_a_cname_to_a_load_balancer_is_adjusted_to_aliases_of_both_families() -> None:
    adjusted = adjust([make_record("www.example.org", "CNAME", (ELB,), ttl=60)])

    assert [(each.record_type, each.record_ttl) for each in adjusted] == [("A", 300), ("AAAA", 300)]
    assert all(ProviderSpecificProperty("alias", "true") in each.provider_specific for each in adjusted)
    assert adjust(adjusted) == adjusted
    assert [_there_and_back(each) for each in adjusted] == adjusted


def test_a_cname_stays_one_where_that_is_preferred_and_says_so() -> None:
    (adjusted,) = adjust([make_record("www.example.org", "CNAME", (ELB,))], prefer_cname=True)

    assert adjusted.record_type == "CNAME"
    assert adjusted.provider_specific == (ProviderSpecificProperty("alias", "false"),)


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("\\052.example.org.", "*.example.org"),
        ("a\\100b.example.org.", "a@b.example.org"),
        ("_x.example.org.", "_x.example.org"),
    ],
)
def test_names_lose_their_escapes(shown: str, name: str) -> None:
    assert parse_name(shown) == name


def test_a_long_text_is_held_in_several_strings_and_read_as_one() -> None:
    endpoint = make_record("www.example.org", "TXT", (f'"{"x" * 600}"',))

    value = build_record_set(endpoint, ZONE)["ResourceRecords"][0]["Value"]

    assert [len(text) for text in value.split(" ")] == [257, 257, 92]
    assert _there_and_back(endpoint) == endpoint


@settings(max_examples=examples(2_000), deadline=None)
@given(st.binary(max_size=600))
def test_any_text_comes_back(content: bytes) -> None:
    endpoint = make_record("www.example.org", "TXT", (format_txt_target(content),))

    back = _there_and_back(endpoint)

    assert back is not None
    assert parse_txt_target(back.targets[0]) == content


@pytest.mark.parametrize(
    "endpoint",
    [
        make_record("www.example.org", "CAA", ('0 issue "ca.example.net"',)),
        make_record(targets=()),
        _with(make_record(), color="red"),
        _with(make_record(targets=("a.example.org", "b.example.org")), alias="true"),
    ],
)
def test_what_it_cannot_hold_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(ChangeImpossible, match="Nothing was applied"):
        build_record_set(endpoint, ZONE)


@pytest.mark.parametrize(
    "properties",
    [
        {"webhook/aws-weight": "10"},
        {"webhook/aws-region": "eu-central-1"},
        {"webhook/aws-failover": "PRIMARY"},
        {"webhook/aws-multi-value-answer": ""},
        {"webhook/aws-geolocation-country-code": "DE"},
        {"webhook/aws-weight": "10", "webhook/aws-health-check-id": "4711"},
    ],
)
def test_a_routing_policy_from_an_annotation_is_quiet_after_it_was_made(properties: dict[str, str]) -> None:
    named = tuple(ProviderSpecificProperty(*each) for each in properties.items())
    wanted = msgspec.structs.replace(make_record(set_identifier="eu"), provider_specific=named)

    (adjusted,) = adjust([wanted])

    shown = build_endpoint(build_record_set(adjusted, ZONE))
    assert shown == adjusted == build_endpoint(build_record_set(wanted, ZONE))
    assert adjust([adjusted]) == [adjusted]


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [("v=spf1 -all", '"v=spf1 -all"'), ('"two" "strings"', '"twostrings"'), ('"ready"', '"ready"')],
)
def test_a_text_is_adjusted_to_the_form_in_which_it_is_shown(wanted: str, shown: str) -> None:
    endpoint = make_record("www.example.org", "TXT", (wanted,))

    (adjusted,) = adjust([endpoint])

    assert adjusted.targets == (shown,)
    assert _there_and_back(endpoint) == adjusted


def test_a_claim_keeps_the_set_and_drops_the_other_properties_of_its_record() -> None:
    properties = {"alias": "true", "aws/evaluate-target-health": "true", "webhook/aws-weight": "10"}
    named = tuple(ProviderSpecificProperty(*each) for each in properties.items())
    claim = msgspec.structs.replace(make_claim(set_identifier="eu"), provider_specific=named)

    record_set = build_record_set(claim, ZONE)

    assert (record_set["SetIdentifier"], record_set["Weight"]) == ("eu", 10)
    assert "AliasTarget" not in record_set
