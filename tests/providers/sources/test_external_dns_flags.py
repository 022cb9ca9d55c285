"""The flags of ExternalDNS, wherever they are."""

import pytest

from providers.sources.errors import InvalidManifest, Place
from providers.sources.external_dns_flags import FlagSet, find_flag_sets, parse_duration, read_command_line
from providers.sources.manifest_tree import parse_documents

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: external-dns-blue}
spec:
  template:
    spec:
      containers:
        - {name: other, image: nginx:1, args: [--txt-owner-id=wrong]}
        - name: external-dns
          image: registry.k8s.io/external-dns/external-dns:v0.22.0
          args:
            - --txt-owner-id=blue-cluster
            - --domain-filter=a.example.org
            - --domain-filter=b.example.org
            - --policy
            - upsert-only
            - --no-txt-encrypt-enabled
            - --once
          env:
            - {name: EXTERNAL_DNS_TXT_PREFIX, value: extdns-}
            - {name: EXTERNAL_DNS_POLICY, value: sync}
            - {name: EXTERNAL_DNS_MANAGED_RECORD_TYPES, value: "A\\nAAAA"}
            - {name: EXTERNAL_DNS_TXT_ENCRYPT_AES_KEY, valueFrom: {secretKeyRef: {name: key, key: aes}}}
"""
VALUES = """
fullnameOverride: external-dns-green
provider: {name: webhook}
txtOwnerId: green-cluster
txtSuffix: ""
policy: sync
domainFilters: [green.example.org]
extraArgs:
  webhook-provider-url: http://webhook.example.org:8888
  txt-cache-interval: 1h30m
  exclude-domains: [x.green.example.org, y.green.example.org]
"""


def _find(text: str) -> list[FlagSet]:
    documents = parse_documents(text.encode(), Place("file.yaml"))
    return [flags for place, node in documents for flags in find_flag_sets(node, place)]


def test_a_deployment_has_flags_and_variables_and_a_flag_goes_first() -> None:
    (found,) = _find(DEPLOYMENT)

    assert found.name == "external-dns-blue"
    assert found.flags == {
        "txt-owner-id": ("blue-cluster",),
        "domain-filter": ("a.example.org", "b.example.org"),
        "policy": ("upsert-only",),
        "txt-encrypt-enabled": ("false",),
        "once": ("true",),
        "txt-prefix": ("extdns-",),
        "managed-record-types": ("A", "AAAA"),
    }
    assert found.unknown == ("txt-encrypt-aes-key",)
    assert found.list("domain-filter") == ("a.example.org", "b.example.org")


def test_a_list_as_kubectl_prints_it_has_all_of_them() -> None:
    item = DEPLOYMENT.replace("\n", "\n    ").strip()
    text = f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n  - kind: Service\n"

    assert [found.name for found in _find(text)] == ["external-dns-blue"]


@pytest.mark.parametrize(
    "extra", ["", "[--txt-cache-interval=1h30m, --webhook-provider-url=http://w.example.org]"]
)
def test_values_of_the_chart_with_extra_arguments_either_way(extra: str) -> None:
    text = VALUES if not extra else VALUES.partition("extraArgs:")[0] + f"extraArgs: {extra}"

    (found,) = _find(text)

    assert (found.name, found.find("txt-owner-id")) == ("external-dns-green", "green-cluster")
    assert found.find("provider") == "webhook"
    assert found.find("webhook-provider-url").startswith("http://w")
    assert parse_duration(found.find("txt-cache-interval")) == 5400
    assert "txt-suffix" not in found.flags


def test_a_command_line_and_what_is_none() -> None:
    found = read_command_line("external-dns --txt-owner-id='a b' --policy sync --dry-run", "by-hand")

    assert found.flags == {"txt-owner-id": ("a b",), "policy": ("sync",), "dry-run": ("true",)}
    with pytest.raises(InvalidManifest):
        read_command_line("--txt-owner-id='a", "by-hand")


@pytest.mark.parametrize(
    "text", ["[]", "a: 1", "kind: Deployment", "kind: Pod\nspec: {containers: 3}", "null"]
)
def test_other_documents_have_none(text: str) -> None:
    assert _find(text) == []


@pytest.mark.parametrize("args", ["{a: b}", "[[--policy=sync]]", "[--txt-owner-id=$(OWNER)]"])
def test_flags_that_cannot_be_read_are_named_by_their_place(args: str) -> None:
    container = f"{{image: external-dns, args: {args}}}"
    with pytest.raises(InvalidManifest, match="containers"):
        _find(f"kind: Pod\nspec: {{containers: [{container}]}}")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("90s", 90),
        ("1h", 3600),
        ("1h1m1.5s", 3662),
        ("1500ms", 2),
        ("1", None),
        ("", None),
    ],
)
def test_durations_are_those_of_go(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds
