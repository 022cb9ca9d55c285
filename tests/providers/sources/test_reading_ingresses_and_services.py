"""Ingresses and Services become the endpoints that ExternalDNS makes of them."""

import json
from pathlib import Path

import pytest
import yaml

from providers.registries.labels import RESOURCE
from providers.sources.manifests import InvalidManifest, parse_manifests, read_manifests
from providers.wire.endpoint import Endpoint
from tests.providers.sources.manifests_by_hand import GOOD, address, make_manifest

ALPHA, BETA = "external-dns.alpha.kubernetes.io/", "external-dns.kubernetes.io/"
STATUS = (
    "status: {loadBalancer: {ingress: [{ip: 192.0.2.7}, {hostname: LB.example.net}, {ip: '2001:db8::7'}]}}"
)


def make_ingress(
    spec: str = "rules: [{host: www.example.org}]",
    status: str = STATUS,
    name: str = "web",
    **annotations: str,
) -> str:
    """An Ingress in the namespace `shop`; the annotations are ExternalDNS's, under its older prefix."""
    return _make("networking.k8s.io/v1", "Ingress", name, annotations) + f"spec: {{{spec}}}\n{status}\n"


def make_service(
    spec: str = "type: LoadBalancer", status: str = STATUS, name: str = "web", **annotations: str
) -> str:
    """A Service in the namespace `shop`."""
    return _make("v1", "Service", name, annotations) + f"spec: {{{spec}}}\n{status}\n"


def _make(version: str, kind: str, name: str, annotations: dict[str, str]) -> str:
    said = ", ".join(f"{ALPHA}{key.replace('_', '-')}: {text!r}" for key, text in annotations.items())
    return (
        f"apiVersion: {version}\nkind: {kind}\n"
        f"metadata: {{name: {name}, namespace: shop, annotations: {{{said}}}}}\n"
    )


def wanted(*texts: str) -> list[Endpoint]:
    raw = "---\n".join(texts).encode()
    return [placed.endpoint for placed in parse_manifests(raw, file="all.yaml").endpoints]


def said(*texts: str) -> list[str]:
    """Names, types and targets in one line each, sorted."""
    return sorted(f"{each.dns_name} {each.record_type} {','.join(each.targets)}" for each in wanted(*texts))


def at_all_targets(*names: str) -> list[str]:
    return sorted(
        f"{name} {rest}"
        for name in names
        for rest in ("A 192.0.2.7", "AAAA 2001:db8::7", "CNAME LB.example.net")
    )


def read_directory(directory: Path, *texts: str) -> list[Endpoint]:
    (directory / "all.yaml").write_text("---\n".join(texts))
    return list(read_manifests(directory).endpoints)


def test_every_host_of_rules_certificates_and_annotation_gets_what_the_load_balancer_has() -> None:
    spec = "rules: [{host: WWW.example.org}, {http: {paths: []}}], tls: [{hosts: [tls.example.org]}, {}]"

    found = said(make_ingress(spec, hostname="a.example.org., *.b.example.org"))

    names = ("a.example.org", "*.b.example.org", "tls.example.org", "www.example.org")
    assert found == at_all_targets(*names)
    assert {each.labels[RESOURCE] for each in wanted(make_ingress(spec))} == {"ingress/shop/web"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("defined-hosts-only", ["www.example.org"]),
        ("Annotation-Only", ["api.example.org"]),
    ],
)
def test_an_ingress_may_say_which_of_its_hosts_count(source: str, names: list[str]) -> None:
    text = make_ingress(hostname="api.example.org", ingress_hostname_source=source)

    assert said(text) == at_all_targets(*names)


def test_a_service_gets_its_load_balancer_and_inside_the_cluster_its_own_address() -> None:
    spec = "type: LoadBalancer, clusterIP: 10.0.0.7"
    text = make_service(spec, hostname="www.example.org", internal_hostname="www.inside.example.org")

    assert said(text) == sorted([*at_all_targets("www.example.org"), "www.inside.example.org A 10.0.0.7"])
    assert {each.labels[RESOURCE] for each in wanted(text)} == {"service/shop/web"}


@pytest.mark.parametrize(
    ("spec", "annotations", "expected"),
    [
        ("type: LoadBalancer, externalIPs: [192.0.2.99]", {}, ["www.example.org A 192.0.2.99"]),
        ("type: ExternalName, externalName: db.example.net", {}, ["www.example.org CNAME db.example.net"]),
        ("type: ClusterIP, clusterIP: 10.0.0.7", {}, []),
        ("clusterIP: 10.0.0.7", {"target": "192.0.2.5"}, ["www.example.org A 192.0.2.5"]),
        ("type: NodePort", {"target": "192.0.2.5,lb.example.net."}, None),
    ],
)
def test_services_of_other_types_are_read_as_far_as_a_manifest_tells(
    spec: str, annotations: dict[str, str], expected: list[str] | None
) -> None:
    both = ["www.example.org A 192.0.2.5", "www.example.org CNAME lb.example.net"]

    assert said(make_service(spec, "", hostname="www.example.org", **annotations)) == (
        both if expected is None else expected
    )


def test_annotations_say_targets_ttl_set_identifier_and_properties() -> None:
    annotations = {
        "target": "192.0.2.1, 192.0.2.2",
        "ttl": "1h1.5m",
        "set_identifier": "eu",
        "alias": "true",
        "webhook_weight": "10",
        "webhook_comment": "a b",
        "aws_weight": "99",
    }
    for text in (make_ingress(**annotations), make_service(hostname="www.example.org", **annotations)):
        (endpoint,) = wanted(text)

        assert endpoint.targets == ("192.0.2.1", "192.0.2.2")
        assert (endpoint.record_ttl, endpoint.set_identifier) == (3690, "eu")
        assert [(each.name, each.value) for each in endpoint.provider_specific] == [
            ("alias", "true"),
            ("webhook/comment", "a b"),
            ("webhook/weight", "10"),
        ]


@pytest.mark.parametrize(
    ("ttl", "seconds"), [("600", 600), ("10m", 600), ("1.9s", 1), ("1500ms", 1), ("2147483647", 2147483647)]
)
def test_a_ttl_is_seconds_or_a_duration(ttl: str, seconds: int) -> None:
    assert {each.record_ttl for each in wanted(make_ingress(ttl=ttl))} == {seconds}


def test_both_prefixes_of_the_annotations_are_read() -> None:
    text = make_service(hostname="www.example.org").replace(ALPHA, BETA)

    assert said(text) == at_all_targets("www.example.org")


@pytest.mark.parametrize(
    "text",
    [
        make_ingress(controller="other-controller"),
        make_service(hostname="www.example.org", controller="other-controller"),
        make_ingress("rules: [{http: {paths: []}}]"),
        make_service(),
        make_service("type: NodePort"),
    ],
)
def test_what_is_for_others_or_wants_no_name_is_named_among_the_ignored(text: str) -> None:
    reading = parse_manifests(text.encode(), file="all.yaml")

    assert (reading.endpoints, reading.objects) == ((), 0)
    assert len(reading.ignored) == 1


def test_lists_hold_ingresses_and_services_beside_dns_endpoints() -> None:
    ingress, service = (
        yaml.safe_load(make_ingress()),
        yaml.safe_load(make_service(hostname="api.example.org")),
    )
    mixed = {"apiVersion": "v1", "kind": "List", "items": [ingress, service, yaml.safe_load(GOOD)]}
    bare = {key: value for key, value in ingress.items() if key not in ("apiVersion", "kind")}
    typed = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressList", "items": [bare]}
    services = {"apiVersion": "v1", "kind": "ServiceList", "items": [service]}

    crd = "www.example.org A 192.0.2.1,192.0.2.2"
    assert said(json.dumps(mixed)) == sorted([*at_all_targets("www.example.org", "api.example.org"), crd])
    assert said(json.dumps(typed)) == at_all_targets("www.example.org")
    assert said(json.dumps(services)) == at_all_targets("api.example.org")


def test_ingresses_share_a_host_and_the_first_by_name_stands_for_it(tmp_path: Path) -> None:
    one = make_ingress(name="web-b", target="192.0.2.1,192.0.2.2")
    other = make_ingress(name="web-a", target="192.0.2.3,192.0.2.2")

    (endpoint,) = read_directory(tmp_path, one, other)

    assert endpoint.targets == ("192.0.2.1", "192.0.2.2", "192.0.2.3")
    assert endpoint.labels[RESOURCE] == "ingress/shop/web-a"


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ([make_ingress(target="a.example.net"), make_ingress(target="b.example.net")], "another target"),
        ([make_ingress(ttl="60"), make_ingress(ttl="61")], "another TTL"),
        ([make_ingress(), make_service(hostname="www.example.org")], "a second time"),
        (
            [make_ingress(target="192.0.2.1"), make_manifest("www", address("www.example.org"))],
            "a second time",
        ),
        ([make_ingress("rules: []")], "no Ingress or Service that wants a name"),
    ],
)
def test_what_is_wanted_twice_or_by_nobody_is_refused(texts: list[str], what: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidManifest, match=what):
        read_directory(tmp_path, *texts)


def test_one_target_in_two_spellings_is_one() -> None:
    one, other = (make_ingress(target=text) for text in ("lb.example.net", "LB.example.net."))

    assert len(wanted(one, other)) == 2


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        (make_ingress(status=""), "status.loadBalancer.ingress", "kubectl get"),
        (
            make_service("type: LoadBalancer", "", hostname="www.example.org"),
            "status.loadBalancer",
            "kubectl",
        ),
        (make_service("type: NodePort", hostname="w.example.org"), "hostname", "nodes or pods"),
        (make_service("clusterIP: None", hostname="w.example.org"), "hostname", "nodes or pods"),
        (make_ingress(ttl="soon"), "ttl", "it is no TTL"),
        (make_ingress(ttl="0"), "ttl", "it is no TTL"),
        (make_ingress(ttl="-1m"), "ttl", "it is no TTL"),
        (make_ingress(ttl=""), "ttl", "it is no TTL"),
        (make_ingress(ttl="9" * 4000), "ttl", "it is no TTL"),
        (make_ingress(hostname="a.example.org,"), "hostname", "a comma has no name beside it"),
        (make_ingress(ingress_hostname_source="both"), "ingress-hostname-source", "write defined-hosts-only"),
        (make_ingress("rules: [{host: a..b}]"), "spec.rules[0].host", "it cannot be a name"),
        (make_ingress(target="under score"), "", ""),
        (make_ingress(target="a..b"), "target", "it cannot be a name"),
        (make_ingress(name="Web"), "metadata.name", "no object can have this name"),
        (make_ingress().replace("k8s.io/v1\n", "k8s.io/v1beta1\n"), "apiVersion", "networking.k8s.io/v1 is"),
        (make_ingress().replace("networking.k8s.io/v1\n", "extensions/v1beta1\n"), "apiVersion", "is."),
        (make_ingress().replace("kind: Ingress", "kind: ingress"), "kind", "spelled Ingress"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_its_place(text: str, path: str, reason: str) -> None:
    if not reason:
        assert said(text) == ["www.example.org CNAME underscore"]
        return

    with pytest.raises(InvalidManifest) as refused:
        parse_manifests(text.encode(), file="all.yaml")

    assert path in refused.value.path
    assert reason in refused.value.reason


def test_two_prefixes_that_differ_are_refused() -> None:
    text = make_ingress(ttl="60").replace("annotations: {", f"annotations: {{{BETA}ttl: '61', ")

    with pytest.raises(InvalidManifest, match="says something else"):
        parse_manifests(text.encode(), file="all.yaml")
