"""A manifest that cannot be taken is refused with its file, document and path, and what would be right."""

import pytest

from providers.sources.manifests import InvalidManifest, parse_manifests
from tests.providers.sources.manifests_by_hand import GOOD, address, changed, make_manifest


def refuse(text: bytes, file: str = "www.yaml") -> InvalidManifest:
    with pytest.raises(InvalidManifest) as caught:
        parse_manifests(text, file=file)
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "path", "says"),
    [
        ("recordTTL: 300", 'recordTTL: "300"', "recordTTL", "without quotes"),
        ("recordTTL: 300", "recordTTL: 0777", "recordTTL", "it is an octal number"),
        ("recordTTL: 300", "recordTTL: 1:20", "recordTTL", "it is a number to the base 60"),
        ("recordTTL: 300", "recordTTL: 3e2", "recordTTL", "decimal whole number, such as 300"),
        ("recordTTL: 300", "recordTTL: 300.0", "recordTTL", "decimal whole number"),
        ("recordTTL: 300", "recordTTL: on", "recordTTL", "it is a truth value"),
        ("recordTTL: 300", "recordTTL: true", "recordTTL", "it is true or false"),
        ("recordTTL: 300", "recordTTL: -1", "recordTTL", "a TTL outside 0 to 2147483647"),
        ("recordTTL: 300", "recordTTL: 2147483648", "recordTTL", "a TTL outside"),
        ("recordTTL: 300", f"recordTTL: {'9' * 5000}", "recordTTL", "it is a number"),
        ("recordTTL: 300", "recordTTL: [300]", "recordTTL", "it is a list"),
        ("recordTTL", "recordTtl", "recordTtl", "write 'recordTTL'"),
        ("targets:", "target:", "target", "known here are dnsName, targets"),
        ("[192.0.2.1, 192.0.2.2]", "192.0.2.1", "targets", "a list of texts, even for one"),
        ("[192.0.2.1, 192.0.2.2]", "[]", "targets", "at least one target"),
        ("[192.0.2.1, 192.0.2.2]", "", "targets", "at least one target"),
        ("192.0.2.1,", '192.0.2.3, "",', "targets[1]", "it is empty"),
        ("192.0.2.1,", "~,", "targets[0]", "it is empty"),
        ("192.0.2.1,", "7,", "targets[0]", 'with quotes if it is "7"'),
        ("192.0.2.1,", "192.0.2.1.,", "targets[0]", "must not end with a dot"),
        ("192.0.2.1,", "lb.example.net,", "targets[0]", "a name belongs into a CNAME"),
        ("192.0.2.1,", "'2001:db8::1',", "targets[0]", "belongs into AAAA"),
        ("192.0.2.1,", "' 192.0.2.1',", "targets[0]", "it has white space around it"),
        ("192.0.2.1,", '"192.0.2.1\\u0007",', "targets", "a control character"),
        ("recordType: A", "recordType: a", "recordType", "upper-case letters"),
        ("recordType: A", "recordType:", "recordType", "it is missing"),
        ("recordType: A", f"recordType: {'A' * 21}", "recordType", "more than 20"),
        ("www.example.org", "", "dnsName", "it is missing"),
        ("www.example.org", "www..example.org", "dnsName", "an empty label"),
        ("www.example.org", "-www.example.org", "dnsName", "hyphens inside"),
        ("www.example.org", "a.*.example.org", "dnsName", "the whole first one"),
        ("www.example.org", "w ww.example.org", "dnsName", "white space"),
        ("www.example.org", "stra\u00dfe.example.org", "dnsName", "with xn--"),
        ("www.example.org", "1.5", "dnsName", "1.5 without quotes is a number"),
        ("setIdentifier: eu", "setIdentifier: no", "setIdentifier", 'write "no" if it is a text'),
        ("setIdentifier: eu", "setIdentifier: 2026-11-21", "setIdentifier", "is a date to some programs"),
        ("setIdentifier: eu", "setIdentifier: true", "setIdentifier", 'with quotes if it is "true"'),
        ("setIdentifier: eu", "setIdentifier: {}", "setIdentifier", "it is a mapping"),
        ("{team: blue}", "blue", "labels", "a mapping is expected here"),
        ("team: blue", "team: off", "labels.team", 'write "off"'),
        ("team: blue", "owner: green-cluster", "labels.owner", "the writer of the claim sets it"),
        ("team: blue", "team: 'a,b'", "labels", "which a claim cannot represent"),
        ("team: blue", "team: blue, team: green", "labels.team", "is there twice"),
        ('value: "10"', "value: 10", "providerSpecific[0].value", 'with quotes if it is "10"'),
        ("name: aws/weight", "nam: aws/weight", "providerSpecific[0].nam", "known here are name, value"),
        ("{name: aws/weight", "{name: ''", "providerSpecific[0].name", "it is missing"),
    ],
)
def test_it_says_what_is_wrong_with_a_field(old: str, new: str, path: str, says: str) -> None:
    error = refuse(changed(old, new))

    assert (error.file, error.document) == ("www.yaml", 1)
    assert error.path == f"spec.endpoints[0].{path}"
    assert says in error.reason
    assert str(error) == f"www.yaml, document 1, {error.path}: {error.reason}"


@pytest.mark.parametrize(
    ("old", "new", "path", "says"),
    [
        ("  name: www\n", "", "metadata.name", "it is missing"),
        ("name: www", "name: WWW", "metadata.name", "lower-case letters"),
        ("name: www", f"name: {'w.' * 127}", "metadata.name", "no object can have this name"),
        ("name: www", f"name: {'w.' * 126}ww", "metadata.name", "no object can have this name"),
        ("name: www", "generateName: www-", "metadata.name", "it is missing"),
        ("namespace: web", "namespace: web.example.org", "metadata.namespace", "up to 63"),
        ("namespace: web", "namespce: web", "metadata.namespce", "known here are name, namespace"),
        ("kind: DNSEndpoint", "kind: DnsEndpoint", "kind", "spelled DNSEndpoint"),
        ("kind: DNSEndpoint", "", "kind", "it is missing"),
        ("/v1alpha1", "/v1", "apiVersion", "externaldns.k8s.io/v1alpha1 is"),
        ("  endpoints:", "  endpoint:", "spec.endpoint", "known here are endpoints"),
        ("spec:", "specs:", "specs", "known here are apiVersion, kind"),
        ("    - dnsName", "    - web\n    - dnsName", "spec.endpoints[0]", "a mapping is expected here"),
    ],
)
def test_it_says_what_is_wrong_with_an_object(old: str, new: str, path: str, says: str) -> None:
    error = refuse(changed(old, new))

    assert error.path == path
    assert says in error.reason


@pytest.mark.parametrize(
    ("record_type", "target", "says"),
    [
        ("AAAA", "192.0.2.1", "belongs into A."),
        ("AAAA", "'fe80::1%eth0'", "remove the part from %"),
        ("CNAME", "'lb example'", "white space"),
        ("NS", "ns.example.net.", "must not end with a dot"),
        ("MX", "mail.example.net", "preference (0 to 65535) and a name"),
        ("MX", "65536 mail.example.net", "preference (0 to 65535)"),
        ("SRV", "10 5 sip.example.net", "priority, weight, port"),
        ("SRV", "10 5 \u0665 sip.example.net", "priority, weight, port"),
        ("NAPTR", '\'100 10 "S" "SIP+D2U" "" _sip._udp.example.net\'', "must end with a dot"),
        ("TXT", "'heritage=external-dns,external-dns/owner=green-cluster'", "an ownership claim"),
        ("TXT", "'\"heritage=external-dns,external-dns/owner=green-cluster\"'", "an ownership claim"),
        ("TXT", '\'"heritage=ext" "ernal-dns,external-dns/owner=green-cluster"\'', "an ownership claim"),
    ],
)
def test_it_says_what_is_wrong_with_a_target(record_type: str, target: str, says: str) -> None:
    text = make_manifest("www", f"dnsName: www.example.org, recordType: {record_type}, targets: [{target}]")

    error = refuse(text.encode())

    assert error.path == "spec.endpoints[0].targets[0]"
    assert says in error.reason


def test_it_says_in_which_document_and_item() -> None:
    bad = make_manifest("api", address("a.example.org"), address("b.example.org") + ", recordTTL: x")
    items = "".join(f"- {each}" for each in (GOOD, bad)).replace("\n", "\n  ").replace("  - api", "- api")
    text = f"# one\n---\n{GOOD}---\napiVersion: v1\nkind: List\nitems:\n{items}"

    error = refuse(text.encode(), "deep/all.yml")

    assert (error.file, error.document) == ("deep/all.yml", 2)
    assert error.path == "items[1].spec.endpoints[1].recordTTL"


def test_a_list_with_a_field_of_another_name_is_refused() -> None:
    error = refuse(b"apiVersion: v1\nkind: List\nitem: []\n")

    assert (error.path, "known here are apiVersion, kind, metadata, items" in error.reason) == ("item", True)


@pytest.mark.parametrize(
    ("text", "file", "says"),
    [
        (b"\xff\xfea", "a.yaml", "byte 0 is not UTF-8"),
        (b"a: \x00", "a.yaml", "control character"),
        (b"a: [1\nb: 2", "a.yaml", "not YAML in line 2, column 2"),
        (b"\tkind: List", "a.yaml", "not YAML in line 1"),
        (b'{"kind": "List",}', "a.json", "not JSON in line 1"),
        (b"kind: List", "a.json", "not JSON in line 1, column 1"),
        (b'{"a": {"b": 1, "b": 2}}', "a.json", "a key is there twice"),
        (b"- a", "a.yaml", "a mapping is expected here"),
        (b"replicaCount: 1", "values.yaml", "it is missing"),
        (b"a: !!python/object/apply:os.system [id]", "a.yaml", "a YAML tag (!)"),
        (b"a: !!int 1", "a.yaml", "a YAML tag (!)"),
        (b"? [a]\n: b", "a.yaml", "keys are words"),
    ],
)
def test_it_refuses_what_is_no_manifest(text: bytes, file: str, says: str) -> None:
    error = refuse(text, file)

    assert says in error.reason
    assert str(error).startswith(file)


def test_a_property_stands_once() -> None:
    text = changed('value: "10"}', 'value: "10"}\n        - {name: aws/weight, value: "20"}')

    error = refuse(text)

    assert error.path == "spec.endpoints[0].providerSpecific[1].name"
