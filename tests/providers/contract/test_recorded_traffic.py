"""What a real ExternalDNS sends, played to every backend of ours: it can create, update and delete."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.backends.memory import MemoryBackend
from providers.backends.powerdns import PowerDnsBackend
from providers.wire.canonical_name import canonical_name, canonical_targets
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from tests.depth import deep_after
from tests.external_dns.recordings import RECORDINGS
from tests.providers.contract.backends import BACKENDS
from tests.providers.contract.conftest import Served
from tests.providers.contract.traffic import Recorded, list_before, list_requests
from tests.servers.provider_server import WebhookServer

# v0.15 also writes a claim at a CNAME's own name: no real zone can hold it.
IMPOSSIBLE_CLAIM = ("c.older-version.example.org", "TXT")
LEFT = {
    "claim-beside-another-text": {("a-www", "TXT")},
    # Played up to its first change set: the new claim was made beside the legacy one.
    "legacy-claim-only": {("www", "A"), ("www", "TXT"), ("a-www", "TXT")},
}


@pytest.fixture(params=deep_after(1, BACKENDS))
def webhook(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with BACKENDS[request.param](tmp_path) as backend:
        server = WebhookServer(backend)
        server.start()
        try:
            yield Served(server.url, server.application_type.media_type, 204, backend)
        finally:
            server.stop()


def test_all_that_externaldns_was_recorded_to_ask_for_is_made(webhook: Served) -> None:
    apex = webhook.records()
    for recording in RECORDINGS:
        before = list_before(recording)
        webhook.backend.apply(ChangeSet(create=before))

        for number, request in enumerate(list_requests(recording)):
            _play(webhook, request, f"{recording}, request {number}")

        left = [each for each in webhook.records() if each not in apex]
        wanted = {(f"{name}.{recording}.example.org", kind) for name, kind in LEFT.get(recording, set())}
        assert {_key(each) for each in left} == wanted, recording
        if recording == "claim-beside-another-text":
            assert left[0].targets == ('"something else"',)
        webhook.backend.apply(ChangeSet(delete=tuple(left)))
    assert webhook.records() == apex


def _play(webhook: Served, request: Recorded, place: str) -> None:
    """Send one request; what it asks for must be true afterwards."""
    answer = webhook.call(request.method, request.path, request.body or None)
    if (request.method, request.path) != ("POST", "/records"):
        assert answer.status_code == 200, (place, answer.text)
        return
    held = {_key(each): each for each in webhook.records()}
    left_out = _find_left_out(webhook, {_key(each) for each in (*request.made, *request.gone)})
    assert answer.status_code == (500 if left_out else 204), (place, answer.text)
    for each in request.made:
        if _key(each) not in left_out:
            assert set(canonical_targets(each)) <= set(canonical_targets(held[_key(each)])), place
    for each in request.gone:
        assert _key(each) not in held or not set(each.targets) & set(held[_key(each)].targets), place


def _find_left_out(webhook: Served, asked: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """What a backend cannot hold of this: a claim alone, or with its record where that has no other claim."""
    if isinstance(webhook.backend, MemoryBackend):
        return set()
    left_out = {IMPOSSIBLE_CLAIM} & asked
    if isinstance(webhook.backend, PowerDnsBackend):
        # It takes an asterisk only as the first label: there ExternalDNS needs --txt-wildcard-replacement.
        claims = {key for key in asked if "*" in key[0].removeprefix("*.")}
        wildcards = {key for key in asked if key[0].startswith("*.")}
        has_legacy_claim = any(kind == "TXT" for _, kind in wildcards)
        left_out |= claims | (wildcards if claims and not has_legacy_claim else set())
    return left_out


def _key(endpoint: Endpoint) -> tuple[str, str]:
    return canonical_name(endpoint.dns_name), endpoint.record_type
