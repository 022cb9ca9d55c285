"""DNSRecord objects as claims: read whatever they hold, changed in label and endpoint together."""

import copy
import string

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.errors import ForeignText, UnwritableLabel
from providers.registries.kubernetes_object import JsonValue, KubernetesObject, read_object, read_texts
from providers.registries.labels import format_labels
from providers.registries.stored_claim import StoredClaim
from providers.stores.dns_record_object import (
    OWNER_LABEL,
    build_programmed,
    build_unclaimed,
    format_object_name,
    is_programmed,
    read_claims,
    read_dns_record,
    read_key,
    write_dns_record,
)
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.depth import examples
from tests.reference_server import make_record

BLUE = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=service/shop/www"
GREEN = BLUE.replace("blue", "green")
WWW = EndpointKey("www.example.org", "A", "")

_OWNER_IDS = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?", fullmatch=True)
_LABELS = st.dictionaries(
    st.text(string.ascii_letters + "-/.", min_size=1, max_size=10).filter(lambda key: key != "owner"),
    st.text(string.ascii_letters + string.digits + "-/. ", max_size=20),
    max_size=5,
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
# Objects that look right down to some place, where anything may stand.
_HOSTILE = st.fixed_dictionaries(
    {},
    optional={
        "metadata": _JSON
        | st.fixed_dictionaries(
            {}, optional={"name": _JSON, "labels": _JSON | st.fixed_dictionaries({OWNER_LABEL: _JSON})}
        ),
        "spec": _JSON
        | st.fixed_dictionaries(
            {
                "endpoint": _JSON
                | st.fixed_dictionaries(
                    {},
                    optional={
                        "dnsName": _JSON | st.just("www.example.org"),
                        "recordType": _JSON | st.just("A"),
                        "setIdentifier": _JSON,
                        "targets": _JSON | st.just(["192.0.2.1"]),
                        "recordTTL": _JSON,
                        "labels": _JSON | st.dictionaries(st.sampled_from(["owner", "resource", "x"]), _JSON),
                        "providerSpecific": _JSON,
                    },
                )
            }
        ),
        "status": _JSON | st.fixed_dictionaries({"conditions": _JSON | st.lists(_JSON)}),
    },
)


def builtins_of(record: Endpoint) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = msgspec.json.decode(msgspec.json.encode(record))
    return found


def dns_record(record: Endpoint | None = None, text: str = BLUE) -> KubernetesObject:
    """An object that holds a claim."""
    return write_dns_record(build_unclaimed(record or make_record()), text)


def with_owners(label: str | None, owner: str | None) -> KubernetesObject:
    """An object that names these owners in its two places."""
    obj = copy.deepcopy(build_unclaimed(make_record()))
    metadata: JsonValue = {"name": "www-1", "labels": {} if label is None else {OWNER_LABEL: label}}
    endpoint: JsonValue = {
        **builtins_of(make_record()),
        "labels": {} if owner is None else {"owner": owner},
    }
    return {**obj, "metadata": metadata, "spec": {"endpoint": endpoint}}


def test_an_object_as_an_instance_writes_it_is_its_owner_s_claim() -> None:
    obj: KubernetesObject = {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSRecord",
        "metadata": {"name": "x", "labels": {OWNER_LABEL: "blue-cluster"}},
        "spec": {
            "endpoint": {
                "dnsName": "WWW.example.org",
                "recordType": "A",
                "setIdentifier": "eu",
                "recordTTL": 300,
                "targets": ["192.0.2.1"],
                "labels": {"owner": "blue-cluster", "resource": "service/shop/www"},
                "providerSpecific": [{"name": "aws/weight", "value": "10"}],
            }
        },
    }

    assert read_dns_record(obj) == StoredClaim(EndpointKey("www.example.org", "A", "eu"), BLUE)


@pytest.mark.parametrize("reason", ["Accepted", "Programmed", "Failed"])
def test_a_claim_is_its_owner_s_whether_or_not_its_record_set_stands(reason: str) -> None:
    condition: JsonValue = {"type": "Ready", "status": str(reason == "Programmed"), "reason": reason}
    obj: KubernetesObject = {**dns_record(), "status": {"conditions": [condition]}}

    assert read_dns_record(obj) == StoredClaim(WWW, BLUE)
    assert is_programmed(obj) == (reason == "Programmed")


@pytest.mark.parametrize(
    ("label", "owner", "problem"),
    [
        ("blue-cluster", None, "Its label names an owner, and its endpoint none."),
        (None, "blue-cluster", "Its endpoint names an owner, and its label none: no instance lists it."),
        ("blue-cluster", "green-cluster", "'blue-cluster', and its endpoint 'green-cluster'"),
        ("blue-cluster", 'blue"cluster', "instances disagree"),
        ('blue"cluster', 'blue"cluster', "holds a quote"),
        ("blue,cluster", "blue,cluster", "no claim can represent"),
    ],
)
def test_an_object_that_does_not_name_one_owner_is_not_valid(
    label: str | None, owner: str | None, problem: str
) -> None:
    claim = read_dns_record(with_owners(label, owner))

    assert claim is not None
    assert claim.key == WWW
    assert problem in claim.problem


def test_an_object_that_names_nobody_is_no_claim() -> None:
    assert read_dns_record(with_owners(None, None)) is None
    assert read_dns_record(with_owners("", "")) is None
    assert read_key(with_owners(None, None)) == WWW


def test_an_owned_object_whose_endpoint_cannot_be_read_has_a_place_of_its_own() -> None:
    metadata: JsonValue = {"name": "www-1", "labels": {OWNER_LABEL: "blue-cluster"}}
    without: KubernetesObject = {"metadata": metadata, "spec": {}}
    nameless: KubernetesObject = {"metadata": metadata, "spec": {"endpoint": {"recordType": "A"}}}

    claims = [read_dns_record(obj) for obj in (without, nameless)]

    text = "heritage=external-dns,external-dns/owner=blue-cluster"
    key = EndpointKey("www-1", "", "")
    assert claims == [
        StoredClaim(key, text, "The object has no endpoint."),
        StoredClaim(key, text, "The endpoint of the object cannot be read: a name is missing."),
    ]


def test_several_objects_for_one_record_set_are_read_as_long_as_their_texts_differ() -> None:
    blue, green = dns_record(), dns_record(text=GREEN)

    assert read_claims([blue, green]) == [StoredClaim(WWW, BLUE), StoredClaim(WWW, GREEN)]
    (twice,) = read_claims([blue, copy.deepcopy(blue)])
    assert (twice.key, twice.text) == (WWW, BLUE)
    assert "Two objects claim its record set with the same text" in twice.problem


def test_a_change_of_owner_changes_label_and_endpoint_and_nothing_else() -> None:
    metadata: JsonValue = {"name": "x", "labels": {OWNER_LABEL: "blue-cluster", "app": "y"}, "uid": "1"}
    labels: JsonValue = {
        "owner": "blue-cluster",
        "resource": "service/shop/www",
        "aws-sd-description": "heritage=external-dns,external-dns/owner=blue-cluster",
    }
    endpoint: JsonValue = {**builtins_of(make_record()), "labels": labels, "later": [1, {"x": None}]}
    obj: KubernetesObject = {
        "metadata": metadata,
        "spec": {"endpoint": endpoint, "more": 1},
        "status": {"conditions": []},
        "unknown": True,
    }
    before = copy.deepcopy(obj)

    changed = write_dns_record(obj, GREEN)

    assert obj == before
    assert read_dns_record(changed) == StoredClaim(WWW, GREEN)
    assert read_texts(changed, "metadata", "labels") == {OWNER_LABEL: "green-cluster", "app": "y"}
    assert read_texts(changed, "spec", "endpoint", "labels") == {
        "owner": "green-cluster",
        "resource": "service/shop/www",
        # What no claim can show, a claim does not change.
        "aws-sd-description": "heritage=external-dns,external-dns/owner=blue-cluster",
    }
    assert write_dns_record(changed, BLUE) == before


def test_a_label_that_the_new_text_does_not_have_is_gone() -> None:
    short = "heritage=external-dns,external-dns/owner=green-cluster"

    changed = write_dns_record(dns_record(), short)

    assert read_texts(changed, "spec", "endpoint", "labels") == {"owner": "green-cluster"}


@pytest.mark.parametrize("owner", ["blue cluster", "x" * 64, "-blue", "blue-", "ünïcode", "a/b"])
def test_an_owner_id_that_is_no_label_is_refused_by_name(owner: str) -> None:
    with pytest.raises(UnwritableLabel, match="cannot be a label of a Kubernetes object"):
        write_dns_record(dns_record(), f"heritage=external-dns,external-dns/owner={owner}")


@pytest.mark.parametrize(
    "text",
    [
        "made by hand",
        "heritage=external-dns",
        f'"{BLUE}"',
        f"{BLUE},more",
        "external-dns/owner=blue-cluster,heritage=external-dns",
    ],
)
def test_a_text_that_would_not_be_read_back_the_same_is_refused(text: str) -> None:
    with pytest.raises((ForeignText, UnwritableLabel)):
        write_dns_record(dns_record(), text)


def test_an_object_is_named_as_its_instance_looks_for_it() -> None:
    # printf www.example.org/A/ | sha256sum
    assert format_object_name(make_record()) == "www-example-org-dab90c7f"
    assert format_object_name(make_record(set_identifier="eu")) != format_object_name(make_record())
    assert format_object_name(make_record("*.example.org")).startswith("example-org-")
    assert len(format_object_name(make_record("x" * 63 + ".y" * 200))) <= 253
    assert format_object_name(make_record("*")).startswith("record-")


def test_an_object_we_make_says_all_its_record_set_is_and_names_nobody() -> None:
    record = msgspec.structs.replace(
        make_record("www.example.org.", set_identifier="eu"), labels={"owner": "somebody"}
    )

    obj = build_unclaimed(record)

    assert read_object(obj, "spec", "endpoint") == {
        "dnsName": "www.example.org",
        "recordType": "A",
        "setIdentifier": "eu",
        "recordTTL": 300,
        "targets": ["192.0.2.1"],
    }
    assert read_dns_record(obj) is None
    assert is_programmed(build_programmed(obj, now="2026-01-01T00:00:00Z"))


@given(
    _OWNER_IDS,
    _LABELS,
    st.sampled_from(["A", "AAAA", "CNAME", "TXT"]),
    st.text(string.ascii_letters, max_size=5),
)
@settings(deadline=None)
def test_what_is_written_is_read_again(
    owner_id: str, labels: dict[str, str], record_type: str, set_identifier: str
) -> None:
    text = format_labels({**labels, "owner": owner_id}, quoted=False)
    record = make_record("app.example.org", record_type, set_identifier=set_identifier)

    obj = write_dns_record(build_unclaimed(record), text)

    key = EndpointKey("app.example.org", record_type, set_identifier)
    assert read_dns_record(obj) == StoredClaim(key, text)
    assert read_texts(obj, "metadata", "labels") == {OWNER_LABEL: owner_id}


@given(st.lists(_HOSTILE, max_size=4))
@settings(deadline=None, max_examples=examples(300))
def test_no_object_whatever_it_holds_raises(objects: list[dict[str, object]]) -> None:
    claims = read_claims(objects)

    assert len({(claim.key, claim.text) for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.problem.isprintable()
        assert claim.text.startswith("heritage=external-dns")
        assert claim.text.isprintable()


@given(_HOSTILE, _OWNER_IDS)
@settings(deadline=None, max_examples=examples(300))
def test_writing_into_any_object_sets_both_owners_and_leaves_the_rest(
    obj: dict[str, JsonValue], owner_id: str
) -> None:
    changed = write_dns_record(obj, format_labels({"owner": owner_id}, quoted=False))

    assert read_texts(changed, "metadata", "labels")[OWNER_LABEL] == owner_id
    assert read_texts(changed, "spec", "endpoint", "labels")["owner"] == owner_id
    assert changed.keys() - {"metadata", "spec"} == obj.keys() - {"metadata", "spec"}
    assert changed.get("status") is obj.get("status")
