"""Exports from the running web role: whole, streamed, and what the name server has."""

import json
from typing import Any

import dns.rdatatype
import dns.zone
import requests

from providers.wire.endpoint import EndpointKey
from tests.journeys.running import RunningDnsadmin


def _download(dnsadmin: RunningDnsadmin, path: str) -> requests.Response:
    bearer = {"Authorization": f"Bearer {dnsadmin.token}"}
    answer = dnsadmin.session.get(f"{dnsadmin.url}api/v1/{path}", headers=bearer, timeout=60)
    answer.raise_for_status()
    return answer


def test_an_export_is_streamed_and_has_every_row_of_the_list(dnsadmin: RunningDnsadmin) -> None:
    answer = _download(dnsadmin, "record-sets/export/?provider=public-dns")

    *rows, closing = [json.loads(line) for line in answer.iter_lines()]
    shown: list[dict[str, Any]] = dnsadmin.fetch_all("record-sets/", provider="public-dns")
    assert "Content-Length" not in answer.headers
    assert rows == shown
    assert closing == {"closing": True, "rows": len(shown)}


def test_the_zone_file_of_the_mirror_holds_what_the_name_server_has(dnsadmin: RunningDnsadmin) -> None:
    text = _download(dnsadmin, "providers/public-dns/zone-file/").text

    zone = dns.zone.from_text(text, origin=".", relativize=False, check_origin=False)
    found = {
        EndpointKey(name.to_text(omit_final_dot=True), dns.rdatatype.to_text(each.rdtype), "")
        for name, node in zone.nodes.items()
        for each in node.rdatasets
    }
    assert found == dnsadmin.zone("public-dns").keys()
    assert text.endswith(" 0 in comments\n")
