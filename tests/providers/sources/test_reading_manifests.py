"""What one file says becomes endpoints."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from providers.registries.labels import RESOURCE
from providers.sources.manifest_tree import MAX_DEPTH
from providers.sources.manifests import InvalidManifest, parse_manifests
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.providers.sources.manifests_by_hand import GOOD, SERVICE, address, changed, make_manifest

WWW = Endpoint(
    dns_name="www.example.org",
    targets=("192.0.2.1", "192.0.2.2"),
    record_type="A",
    set_identifier="eu",
    record_ttl=300,
    labels={"team": "blue", RESOURCE: "crd/web/www"},
    provider_specific=(ProviderSpecificProperty("aws/weight", "10"),),
)


def parse(text: str | bytes, file: str = "www.yaml") -> list[Endpoint]:
    raw = text.encode() if isinstance(text, str) else text
    return [placed.endpoint for placed in parse_manifests(raw, file=file).endpoints]


def test_every_field_of_an_endpoint_is_read() -> None:
    reading = parse_manifests(GOOD.encode(), file="www.yaml")

    assert [placed.endpoint for placed in reading.endpoints] == [WWW]
    assert (reading.documents, reading.objects, reading.ignored) == (1, 1, ())


def test_json_says_the_same_as_yaml() -> None:
    text = json.dumps(yaml.safe_load(GOOD), indent="\t")

    assert parse(text, "www.json") == [WWW]
    assert parse(json.dumps(yaml.safe_load(GOOD)), "www.yaml") == [WWW]


@pytest.mark.parametrize("kind", [("v1", "List"), ("externaldns.k8s.io/v1alpha1", "DNSEndpointList")])
@pytest.mark.parametrize("file", ["all.yaml", "all.json"])
def test_a_list_says_what_its_items_say(kind: tuple[str, str], file: str) -> None:
    items = [yaml.safe_load(GOOD), yaml.safe_load(make_manifest("api", address("api.example.org")))]
    inner = {"apiVersion": "v1", "kind": "List", "items": items[1:]}
    text = json.dumps({"apiVersion": kind[0], "kind": kind[1], "metadata": {}, "items": [items[0], inner]})

    names = [each.dns_name for each in parse(text, file)]

    assert names == ["www.example.org", "api.example.org"]


def test_documents_follow_each_other_and_empty_ones_do_not_count() -> None:
    second = make_manifest("api", address("api.example.org"))
    text = f"---\n{GOOD}---\n---\n# nothing here\n---\n{second}...\n"

    reading = parse_manifests(text.encode(), file="all.yaml")

    assert [placed.place.document for placed in reading.endpoints] == [1, 4]
    assert (reading.documents, reading.objects) == (2, 2)


def test_json_values_follow_each_other_too() -> None:
    text = f"{json.dumps(yaml.safe_load(GOOD))}\n{json.dumps(yaml.safe_load(SERVICE))} "

    reading = parse_manifests(text.encode(), file="all.json")

    assert (len(reading.endpoints), reading.documents) == (1, 2)


def test_objects_of_other_kinds_are_left_and_named() -> None:
    other_group = GOOD.replace("externaldns.k8s.io", "externaldns.nginx.org")
    text = f"{SERVICE}---\n{other_group}---\napiVersion: v1\nkind: Secret\nmetadata: 7\n"

    reading = parse_manifests(text.encode(), file="all.yaml")

    assert reading.endpoints == ()
    assert reading.ignored == (
        "Service www (all.yaml, document 1)",
        "DNSEndpoint www (all.yaml, document 2)",
        "Secret (all.yaml, document 3)",
    )


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("WWW.Example.ORG.", "www.example.org"),
        ("'*.example.org'", "*.example.org"),
        ("_sip._tcp.example.org", "_sip._tcp.example.org"),
        ("bücher.example.org", "xn--bcher-kva.example.org"),
    ],
)
def test_names_come_out_in_the_one_spelling_that_is_compared(written: str, name: str) -> None:
    endpoints = parse(changed("www.example.org", written))

    assert [each.dns_name for each in endpoints] == [name]


def test_what_is_not_said_is_not_there() -> None:
    bare = address("www.example.org")
    empty = f"{bare}, setIdentifier: , recordTTL: ~, labels: null, providerSpecific: "

    assert parse(make_manifest("www", bare)) == parse(make_manifest("www", empty))
    assert parse(make_manifest("www", bare))[0] == Endpoint(
        dns_name="www.example.org",
        targets=("192.0.2.1",),
        record_type="A",
        labels={RESOURCE: "crd/web/www"},
    )


def test_without_a_namespace_it_is_the_default_one() -> None:
    endpoint = parse(changed("  namespace: web\n", ""))[0]

    assert endpoint.labels[RESOURCE] == "crd/default/www"


def test_a_resource_that_is_declared_gives_way_to_the_real_one() -> None:
    endpoint = parse(changed("team: blue", "resource: ingress/web/other"))[0]

    assert endpoint.labels == {RESOURCE: "crd/web/www"}


@pytest.mark.parametrize("spec", ["spec: {}", "spec: {endpoints: []}", "spec:", "status: {}"])
def test_a_dns_endpoint_may_want_nothing(spec: str) -> None:
    text = GOOD.split("spec:")[0] + spec

    reading = parse_manifests(text.encode(), file="www.yaml")

    assert (reading.endpoints, reading.objects) == ((), 1)


@pytest.mark.parametrize(
    ("record_type", "target"),
    [
        ("AAAA", '"2001:db8::1"'),
        ("CNAME", "lb.example.net"),
        ("CNAME", "lb.example.net."),
        ("MX", "10 mail.example.net"),
        ("MX", "0 ."),
        ("SRV", "10 5 5060 sip.example.net."),
        ("SRV", "10 5 5060 sip.example.net"),
        ("NS", "ns.example.net"),
        ("TXT", '"v=spf1 -all"'),
        ("TXT", "'\"ends with a dot.\"'"),
        ("TXT", "heritage=somebody-else"),
        ("NAPTR", '\'100 10 "S" "SIP+D2U" "" _sip._udp.example.net.\''),
        ("CAA", "'0 issue \"ca.example.net\"'"),
    ],
)
def test_targets_of_every_type_are_taken(record_type: str, target: str) -> None:
    text = make_manifest("www", f"dnsName: www.example.org, recordType: {record_type}, targets: [{target}]")

    (endpoint,) = parse(text)

    assert endpoint.targets == (yaml.safe_load(target),)


def test_an_alias_may_be_an_address_record_with_a_name() -> None:
    aliased = "providerSpecific: [{name: alias, value: 'true'}]"
    text = make_manifest("www", f"{address('www.example.org', 'lb.example.net')}, {aliased}")

    assert parse(text)[0].targets == ("lb.example.net",)


def test_what_kubectl_prints_is_read() -> None:
    fields = "[{manager: kubectl, fieldsV1: {f:spec: {}}}]"
    managed = f"metadata:\n  uid: 7f0a\n  generation: 2\n  managedFields: {fields}"
    text = GOOD.replace("metadata:", managed) + "status: {observedGeneration: 2}\n"

    assert parse(text) == [WWW]


KUBECTL = shutil.which("kubectl")


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")
def test_where_kubectl_is_installed_it_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(f"---\n{GOOD}---\n---\n{make_manifest('api', address('api.example.org'))}")

    command = [str(KUBECTL), "patch", "--local", "-f", str(path), "--type=merge", "-p", "{}", "-o", "json"]
    environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
    said = subprocess.run(command, capture_output=True, timeout=60, env=environment, check=True).stdout

    assert parse(said, "said.json") == parse(path.read_bytes())


@pytest.mark.parametrize("file", ["www.yaml", "www.json"])
def test_a_byte_order_mark_does_not_matter(file: str) -> None:
    text = "\ufeff" + json.dumps(yaml.safe_load(GOOD))

    assert parse(text, file) == [WWW]


def test_a_word_may_be_marked_as_text_instead_of_quoted() -> None:
    assert parse(changed('value: "10"', "value: !!str 10")) == [WWW]


@pytest.mark.parametrize("file", ["deep.yaml", "deep.json"])
def test_as_deep_as_allowed_is_read(file: str) -> None:
    levels = MAX_DEPTH - 1
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "data": ' + "[" * levels + "]" * levels + "}"

    assert parse_manifests(text.encode(), file=file).ignored == (f"ConfigMap ({file}, document 1)",)


def test_half_a_file_is_never_taken() -> None:
    text = f"{GOOD}---\n{GOOD.replace('300', 'soon')}"

    with pytest.raises(InvalidManifest):
        parse(text)
