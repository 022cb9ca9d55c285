"""The proof that the model is faithful: it is given the recorded answers, and sends the recorded requests."""

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from providers.registries.encryption import decrypt_labels_text
from providers.registries.labels import ENCRYPTION_NONCE
from providers.wire.endpoint import Endpoint
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.recordings import KEY, RECORDINGS, Exchange, Playback, parse_body, read_runs
from tests.external_dns.settings import Settings
from tests.servers.http_server import HttpServer

_ENDPOINTS = msgspec.json.Decoder(tuple[Endpoint, ...])


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_model_sends_what_external_dns_sent(name: str) -> None:
    runs = read_runs(name)

    for number, run in enumerate(runs):
        playback = _play(name, run)

        assert [(each.method, each.path) for each in playback.asked] == [(e.method, e.path) for e in run]
        for asked, recorded in zip(playback.asked, run, strict=True):
            assert _normalize(asked) == _normalize(recorded), (name, number, asked.path)
            assert _list_claimed(asked) == _list_recorded(asked), (name, number)
            assert _list_claimed(recorded) == _list_recorded(recorded), (name, number)


def test_a_body_is_written_byte_by_byte_as_go_writes_it() -> None:
    for name in RECORDINGS:
        for run in read_runs(name):
            playback = _play(name, run)

            posted = [each.request for each in playback.asked if each.path == "/adjustendpoints"]
            assert posted == [each.request for each in run if each.path == "/adjustendpoints"]
            # One record set and no random nonce: nothing of its change sets is left to chance.
            if name.startswith(("legacy", "claim", "properties")):
                assert [each.request for each in playback.asked] == [each.request for each in run]


def _play(name: str, run: Sequence[Exchange]) -> Playback:
    """One run of the program: a process of its own, and one loop."""
    playback = Playback(run)
    server = HttpServer(playback)
    server.start()
    try:
        with Instance(Settings(server.url, "a", **RECORDINGS[name])) as instance:
            posted = next(each.request for each in run if each.path == "/adjustendpoints")
            instance.desired = list(_ENDPOINTS.decode(posted))
            result = instance.run_once()
            assert instance.is_alive
    finally:
        server.stop()
    last = run[-1]
    if last.path == "/adjustendpoints":
        assert result.outcome is Outcome.QUIET
    else:
        assert result.outcome is (Outcome.CHANGED if last.status == 204 else Outcome.SOFT_ERROR)
    return playback


def _normalize(exchange: Exchange) -> Any:
    """The body without what is random: the order of the endpoints in a change set, and the nonces of the
    claims that are new. These are opened, and the compressed text inside stays. Old ones stay as they are:
    their nonce was read."""
    body = parse_body(exchange)
    if not isinstance(body, dict):
        return body
    return {
        key: None if endpoints is None else sorted(_open_new_claims(key, endpoints), key=json.dumps)
        for key, endpoints in body.items()
    }


def _open_new_claims(key: str, endpoints: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    nonces: set[str] = set()
    for endpoint in endpoints:
        labels = endpoint.get("labels", {})
        decrypted = decrypt_labels_text(endpoint["targets"][0], KEY)
        if key not in ("create", "updateNew"):
            yield endpoint
        elif ENCRYPTION_NONCE in labels:
            nonces.add(labels[ENCRYPTION_NONCE])
            yield {**endpoint, "labels": {**labels, ENCRYPTION_NONCE: "fresh"}}
        elif decrypted is not None:
            # Under the nonce of its record set, which came before it.
            assert base64.b64encode(decrypted.nonce).decode() in nonces
            yield {**endpoint, "targets": [decrypted.plain, decrypted.compressed.hex()]}
        else:
            yield endpoint


def _list_recorded(exchange: Exchange) -> list[list[str]]:
    """The names of the record sets of each list of a change set, in their order, each once."""
    return [
        list(dict.fromkeys(each["dnsName"] for each in endpoints if each["recordType"] != "TXT"))
        for endpoints in _lists_of(exchange)
    ]


def _list_claimed(exchange: Exchange) -> list[list[str]]:
    """The names that the claims are for: all claims come after all record sets, and in their order."""
    return [
        list(
            dict.fromkeys(each["labels"]["ownedRecord"] for each in endpoints if each["recordType"] == "TXT")
        )
        for endpoints in _lists_of(exchange)
    ]


def _lists_of(exchange: Exchange) -> list[list[dict[str, Any]]]:
    body = parse_body(exchange)
    return [endpoints or [] for endpoints in body.values()] if isinstance(body, dict) else []
