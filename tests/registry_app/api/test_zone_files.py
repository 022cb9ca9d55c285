"""The mirror of a provider as a zone file that a name server's tools read."""

from typing import Any

import dns.rdatatype
import dns.zone
import pytest
from rest_framework.test import APIClient

from providers.backends.zone import parse_zone
from registry_app.models import AuditEntry
from tests.factories import make_owner, make_provider, make_record_set, make_user
from tests.registry_app.admin.world import make_claim, make_claimed
from tests.registry_app.api.client import API, make_client

pytestmark = pytest.mark.django_db

_LINE_BREAK = "x\nevil.example.org. IN A 192.0.2.66\r; \u2028"


@pytest.fixture
def client() -> APIClient:
    return make_client(make_user("alice"), "read")


def _download(client: APIClient, provider: str = "blue-zone") -> str:
    response = client.get(f"{API}/providers/{provider}/zone-file/")
    assert response.status_code == 200, response.content
    text: str = response.content.decode()
    assert text.splitlines()[-1].startswith("; closing: ")
    return text


def _parse(text: str) -> dict[tuple[str, str], tuple[int, set[str]]]:
    """By name and type: TTL and values."""
    zone = dns.zone.from_text(text, origin=".", relativize=False, check_origin=False)
    return {
        (name.to_text(), dns.rdatatype.to_text(each.rdtype)): (each.ttl, {rdata.to_text() for rdata in each})
        for name, node in zone.nodes.items()
        for each in node.rdatasets
    }


def test_every_record_set_and_every_claim_is_in_the_file(client: APIClient) -> None:
    zone, blue = make_provider(), make_owner()
    make_claimed(zone, blue, "www.example.org", targets=["192.0.2.1", "192.0.2.2"], ttl=60)
    make_record_set(zone, "*.example.org", record_type="CNAME", targets=["www.example.org"])
    make_record_set(zone, "example.com", record_type="MX", targets=["10 mail.example.com"], ttl=3600)
    make_record_set(zone, "_a._tcp.example.org", record_type="SRV", targets=["1 2 443 www.example.org."])
    make_record_set(make_provider("green-zone"), "other.example.org")

    text = _download(client)
    found = _parse(text)

    claim = found.pop(("a-www.example.org.", "TXT"))
    assert "owner=blue-cluster" in claim[1].pop()
    assert found == {
        ("www.example.org.", "A"): (60, {"192.0.2.1", "192.0.2.2"}),
        ("*.example.org.", "CNAME"): (300, {"www.example.org."}),
        ("example.com.", "MX"): (3600, {"10 mail.example.com."}),
        ("_a._tcp.example.org.", "SRV"): (300, {"1 2 443 www.example.org."}),
    }
    assert text.endswith("; closing: 4 record sets, 1 ownership records (claims), 0 in comments\n")


def test_our_own_zone_files_read_it_back(client: APIClient) -> None:
    zone = make_provider()
    targets = ['"a \\"quoted\\" \\\\ ; text"', f'"{"x" * 600}"', '"weiß"']
    make_record_set(zone, "txt.example.org", record_type="TXT", targets=targets, ttl=60)
    soa = "$ORIGIN example.org.\n@ 60 IN SOA ns1.example.org. root.example.org. 1 2 3 4 5\n"

    text = _download(client).replace("$ORIGIN .\n", soa)

    (shown,) = parse_zone(text, "example.org").endpoints.values()
    assert (shown.dns_name, shown.record_type, shown.record_ttl) == ("txt.example.org", "TXT", 60)
    assert set(shown.targets) == set(targets)


@pytest.mark.parametrize(
    "values",
    [
        {"set_identifier": _LINE_BREAK},
        {"targets": [_LINE_BREAK]},
        {"targets": ["192.0.2.1\nevil.example.org. IN A 192.0.2.66"]},
        {"record_type": "CNAME", "targets": [_LINE_BREAK]},
        {"record_type": "NAPTR", "targets": ['1 1 "s" "x" "" .\nevil.example.org. IN A 192.0.2.66']},
        {"record_type": "ODD", "targets": [_LINE_BREAK]},
        {"name": "b\\097d.example.org"},
        {"provider_specific": [{"name": "alias", "value": _LINE_BREAK}]},
    ],
)
def test_what_a_zone_file_cannot_hold_is_a_comment_on_its_own_lines(
    client: APIClient, values: dict[str, Any]
) -> None:
    make_record_set(make_provider(), **{"name": "www.example.org", **values})

    text = _download(client)

    assert _parse(text) == {}
    assert "; not here: " in text
    assert text.endswith("1 in comments\n")
    assert all(line.startswith((";", "$")) or not line for line in text.splitlines())


def test_hostile_text_stays_inside_its_value_or_its_comment(client: APIClient) -> None:
    zone, blue = make_provider(f"zone {_LINE_BREAK}"), make_owner()
    properties = [{"name": "aws/weight", "value": _LINE_BREAK}]
    row = make_record_set(
        zone, "txt.example.org", record_type="TXT", targets=[_LINE_BREAK], provider_specific=properties
    )
    make_claim(row, blue, txt_name="claim.example.org", raw=_LINE_BREAK)
    make_claim(row, blue, identity=b"x", txt_name=_LINE_BREAK, raw='"heritage=external-dns"')

    found = _parse(_download(client, str(zone.pk)))

    assert found.keys() == {("txt.example.org.", "TXT"), ("claim.example.org.", "TXT")}
    assert len(found["txt.example.org.", "TXT"][1]) == 1


def test_what_is_missing_and_what_is_kept_elsewhere_is_not_in_the_file(client: APIClient) -> None:
    zone, blue = make_provider(), make_owner()
    gone = make_record_set(zone, "gone.example.org")
    type(gone).objects.update(missing_since=gone.changed_at)
    make_claim(gone, blue, txt_name="")

    assert _parse(_download(client)) == {}


def test_it_has_a_harmless_file_name_and_is_in_the_audit_trail(client: APIClient) -> None:
    zone = make_provider('blue/../"zone"')

    response = client.get(f"{API}/providers/{zone.pk}/zone-file/", headers={"Accept": "text/dns"})

    assert response.headers["Content-Type"] == "text/dns; charset=utf-8"
    assert 'filename="blue-..-zone-.2' not in response.headers["Content-Disposition"]
    assert response.headers["Content-Disposition"].count('"') == 2
    assert "/" not in response.headers["Content-Disposition"]
    entry = AuditEntry.objects.get(action="export.made")
    assert (entry.object_type, entry.object_id) == ("provider", str(zone.pk))
    assert entry.after == {"list": "zone-file", "format": "zone", "filters": {}}


def test_a_token_without_the_right_to_read_gets_no_file() -> None:
    zone = make_provider()

    response = make_client(make_user("bob"), "plan").get(f"{API}/providers/{zone.pk}/zone-file/")

    assert response.status_code == 403
    assert not AuditEntry.objects.filter(action="export.made").exists()
