"""What the sample zones hold. Pure: the same zones every time, but for the nonces of encrypted claims."""

from collections.abc import Iterator

import msgspec

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.registries.new_claim import build_new_claim
from providers.wire.endpoint import Endpoint

SERVICES = (
    "account address analytics api assets audit auth billing blog booking careers cart catalog checkout "
    "consent content contracts coupons currency delivery docs email events feed fraud gateway geo grafana "
    "help identity images inbox inventory invoices jobs kiosk ledger loyalty mail-relay maps media metrics "
    "notifications offers orders partners payments pricing profile queue ratings recommendations refunds "
    "reports returns reviews search shipping status stock support tax tracking uploads vouchers "
    "warehouse wiki"
).split()
REGIONS = ("eu-west", "us-east", "ap-south")
STAGES = ("", "staging", "qa", "dev")
POPS = (
    "ams arn atl bom cdg dfw dub fra gru hkg icn jnb lax lhr mad mia nrt ord sea sin syd waw yyz zrh"
).split()

EDGE_PREFIX = "_extdns."
SHOP_PREFIX = "_shop."


class SampleZone(msgspec.Struct, frozen=True):
    """One zone and everything in it, claims included. Its SOA and NS are the zone file's own."""

    provider: str
    description: str
    domain: str
    endpoints: tuple[Endpoint, ...]


def build_sample_zones(edge_key: bytes) -> tuple[SampleZone, ...]:
    """The three zones. `edge_key` (32 bytes) encrypts the claims of `edge-cluster`."""
    return (
        SampleZone(
            "public-dns",
            "Two clusters share one zone; no ExternalDNS manages a part of it.",
            "example.org",
            tuple(_public_zone()),
        ),
        SampleZone(
            "edge-dns",
            "One owner that encrypts its claims and writes them under a prefix.",
            "example.net",
            tuple(_edge_zone(edge_key)),
        ),
        SampleZone(
            "legacy-dns",
            "An old zone: legacy claims, orphans, conflicts.",
            "example.com",
            tuple(_legacy_zone()),
        ),
    )


def _claimed(
    record: Endpoint, owner_id: str, resource: str, profile: TxtProfile = DEFAULT_PROFILE
) -> Iterator[Endpoint]:
    yield record
    yield build_new_claim(record, owner_id, profile, resource=resource)


def _address(name: str, number: int, network: int = 2) -> Endpoint:
    # TEST-NET-1, -2 and -3: addresses that belong to nobody.
    prefix = {1: "192.0.2", 2: "198.51.100", 3: "203.0.113"}[network]
    return Endpoint(dns_name=name, record_type="A", targets=(f"{prefix}.{number % 254 + 1}",), record_ttl=300)


def _address_6(name: str, number: int) -> Endpoint:
    return Endpoint(dns_name=name, record_type="AAAA", targets=(f"2001:db8::{number:x}",), record_ttl=300)


def _alias(name: str, target: str) -> Endpoint:
    return Endpoint(dns_name=name, record_type="CNAME", targets=(target,), record_ttl=300)


def _public_zone() -> Iterator[Endpoint]:
    number = 0
    for index, service in enumerate(SERVICES):
        owner_id = "green-cluster" if index % 3 == 2 else "blue-cluster"
        for stage in STAGES:
            for region in REGIONS:
                number += 1
                place = f"{stage}.{region}" if stage else region
                name = f"{service}.{place}.example.org"
                resource = f"ingress/{stage or 'prod'}/{service}"
                yield from _claimed(_address(name, number), owner_id, resource)
                if not stage and index % 2 == 0:
                    yield from _claimed(_address_6(name, number), owner_id, resource)
        front = _alias(f"{service}.example.org", f"{service}.eu-west.example.org")
        yield from _claimed(front, owner_id, f"ingress/prod/{service}")
    for pull_request in range(1201, 1401):
        name = f"pr-{pull_request}.preview.example.org"
        yield from _claimed(
            _address(name, pull_request, 3), "green-cluster", f"service/preview/pr-{pull_request}"
        )
    yield from _claimed(_address("*.apps.example.org", 7, 3), "blue-cluster", "service/ingress/wildcard")
    yield from _unmanaged()


def _unmanaged() -> Iterator[Endpoint]:
    """Made by hand, long ago, by people who left no claim."""
    yield Endpoint(dns_name="example.org", record_type="A", targets=("192.0.2.10",), record_ttl=3600)
    yield Endpoint(
        dns_name="example.org",
        record_type="MX",
        targets=("10 mx1.example.org", "20 mx2.example.org"),
        record_ttl=3600,
    )
    yield Endpoint(dns_name="example.org", record_type="TXT", targets=('"v=spf1 mx -all"',), record_ttl=3600)
    hosts = "www mx1 mx2 ns1 ns2 vpn office printer intranet ftp ldap ntp radius wlan backup nas door".split()
    for number, host in enumerate(hosts):
        yield _address(f"{host}.example.org", number + 20, 1)


def _edge_zone(key: bytes) -> Iterator[Endpoint]:
    profile = TxtProfile(prefix=EDGE_PREFIX, encryption_key=key)
    number = 0
    for pop in POPS:
        for node in range(1, 17):
            number += 1
            record = _address(f"cache-{node:02}.{pop}.edge.example.net", number, 3)
            yield from _claimed(record, "edge-cluster", f"service/cdn/cache-{node:02}", profile)
        record = _alias(f"{pop}.cdn.example.net", f"cache-01.{pop}.edge.example.net")
        yield from _claimed(record, "edge-cluster", f"service/cdn/{pop}", profile)


def _legacy_claim(record: Endpoint, owner_id: str, resource: str) -> Endpoint:
    """As ExternalDNS wrote it before v0.12: a TXT record at the record's own name."""
    return msgspec.structs.replace(
        build_new_claim(record, owner_id, DEFAULT_PROFILE, resource=resource), dns_name=record.dns_name
    )


def _legacy_zone() -> Iterator[Endpoint]:
    shop = TxtProfile(prefix=SHOP_PREFIX)
    for number, service in enumerate(SERVICES):
        for place in ("de", "es", "fr", "it", "pl"):
            record = _address(f"{service}.{place}.shop.example.com", number, 2)
            resource = f"ingress/shop-{place}/{service}"
            yield record
            yield _legacy_claim(record, "default", resource)
            if place == "de" and number < 12:  # upgraded half-way: both formats side by side
                yield build_new_claim(record, "default", DEFAULT_PROFILE, resource=resource)
            if place == "fr" and number < 6:  # a cluster with a prefix of its own sees no claim but its own
                yield build_new_claim(record, "shop-cluster", shop, resource=resource)
    for number in range(40):  # the records are gone, their claims stayed
        record = _address(f"campaign-{number:02}.promo.example.com", number)
        yield build_new_claim(record, "default", DEFAULT_PROFILE, resource=f"service/promo/{number:02}")
    unreadable = _address("kiosk-lobby.example.com", 9, 1)
    yield unreadable
    yield Endpoint(
        dns_name="a-kiosk-lobby.example.com",
        record_type="TXT",
        targets=('"heritage=external-dns,external-dns/resource=service/kiosk/lobby"',),
        record_ttl=300,
    )
    forgotten = _address("forgotten.example.com", 12, 1)
    yield from _claimed(forgotten, "retired-cluster", "service/default/forgotten")
