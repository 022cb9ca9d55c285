"""A new installation shows what its providers hold, without anybody doing anything."""

from collections import Counter

from providers.registries.labels import parse_labels
from providers.wire.endpoint import Endpoint
from tests.journeys.running import RunningDnsadmin


def _is_claim(endpoint: Endpoint) -> bool:
    return endpoint.record_type == "TXT" and any(
        parse_labels(target) is not None for target in endpoint.targets
    )


def test_every_record_set_of_every_provider_is_in_the_mirror(dnsadmin: RunningDnsadmin) -> None:
    for provider in ("public-dns", "legacy-dns"):
        expected = {key for key, endpoint in dnsadmin.zone(provider).items() if not _is_claim(endpoint)}

        rows = dnsadmin.fetch_all("record-sets/", provider=provider)

        assert {(row["name"], row["record_type"], row["set_identifier"]) for row in rows} == expected


def test_encrypted_claims_are_read_with_the_registered_key(dnsadmin: RunningDnsadmin) -> None:
    rows = dnsadmin.fetch_all("record-sets/", provider="edge-dns")

    owners = Counter(row["owner"] for row in rows)
    assert owners["edge-cluster"] == 408
    assert owners[None] == 1  # the zone's own NS record set


def test_the_findings_name_what_years_left_behind(dnsadmin: RunningDnsadmin) -> None:
    rows = dnsadmin.fetch_all("findings/", provider="legacy-dns")

    kinds = Counter(row["kind"] for row in rows)
    assert kinds["orphan_claim"] == 40
    assert kinds["superseded_claim"] == 12
    assert kinds["unreadable_claim"] == 1
    assert kinds["unregistered_owner"] == 1
    assert kinds["conflict"] >= 5
    assert all(row["explanation"] for row in rows)


def test_every_owner_seen_in_claims_is_known(dnsadmin: RunningDnsadmin) -> None:
    rows = dnsadmin.fetch_all("owners/")

    statuses = {row["owner_id"]: row["status"] for row in rows}
    assert statuses["retired-cluster"] == "discovered"
    assert statuses["blue-cluster"] == "registered"
