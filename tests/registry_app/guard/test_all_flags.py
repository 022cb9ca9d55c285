"""With every setting of the TXT registry an instance does through the guard what it does without it."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.backends.memory import ApplyMode, MemoryBackend
from providers.registries.encryption import decrypt_labels_text
from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.models import (
    DatabaseClaim,
    GuardDecision,
    GuardEndpoint,
    GuardRule,
    Provider,
    RegistryProfile,
)
from registry_app.models import Instance as InstanceRow
from tests.depth import SEED, deep_after, examples
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.recordings import KEY
from tests.external_dns.settings import Settings, Version
from tests.providers.planning.planned import wanted
from tests.registry_app.guard.keeping import ForgettingBackend
from tests.registry_app.guard.serving import guarded
from tests.servers.provider_server import WebhookServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
FLAGS: dict[str, Mapping[str, Any]] = {
    "defaults": {},
    "encrypted": {"encryption_key": KEY, "wildcard_replacement": "any"},
    "prefix": {"txt_prefix": "x."},
    "suffix": {"txt_suffix": "-own"},
    "template": {"txt_prefix": "%{record_type}-of-"},
    "wildcard replacement": {"wildcard_replacement": "any"},
    "older version": {"version": Version.OLDER, "txt_prefix": "old-"},
}
_ROUNDS: list[list[Endpoint]] = [
    [
        wanted("www.example.org"),
        wanted("www.example.org", "AAAA", ["2001:db8::1"]),
        wanted("*.w.example.org"),
    ],
    [
        wanted("www.example.org", targets=["192.0.2.9"]),
        wanted("*.w.example.org", ttl=60),
        wanted("new.example.org"),
    ],
    [
        wanted("www.example.org", "CNAME", ["lb.example.net"]),
        wanted("*.w.example.org"),
        wanted("new.example.org"),
    ],
    [wanted("www.example.org", targets=["192.0.2.9"]), wanted("*.w.example.org")],
    [wanted("www.example.org", set_identifier="eu"), wanted("www.example.org", set_identifier="us")],
]


_Plain = tuple[str, str, str, tuple[str, ...], int]


def _plain(endpoint: Endpoint) -> _Plain:
    """Without what is different each time: the nonce of an encrypted claim."""
    opened = [decrypt_labels_text(each, KEY) for each in endpoint.targets]
    texts = tuple(
        text if found is None else found.plain for text, found in zip(endpoint.targets, opened, strict=True)
    )
    return endpoint.dns_name, endpoint.record_type, endpoint.set_identifier, texts, endpoint.record_ttl


Rounds = Sequence[list[Endpoint]]


def _run(instance: Instance, backend: Any, rounds: Rounds) -> list[tuple[list[Outcome], set[_Plain]]]:
    seen = []
    for desired in rounds:
        instance.desired = desired
        outcomes = [instance.run_once().outcome for _ in range(2)]
        seen.append((outcomes, {_plain(each) for each in backend.records()}))
    return seen


@contextmanager
def _serving(kind: type[MemoryBackend] = MemoryBackend) -> Iterator[tuple[str, MemoryBackend]]:
    backend = kind(mode=ApplyMode.EACH, encryption_keys=[KEY])
    server = WebhookServer(backend)
    server.start()
    try:
        yield server.url, backend
    finally:
        server.stop()


def _compare(folder: Path, flags: Mapping[str, Any], rounds: Rounds) -> None:
    with _serving() as (url, backend), Instance(Settings(url, "blue-cluster", **flags)) as instance:
        straight = _run(instance, backend, rounds)
    behind = _run_guarded(folder, flags, rounds, "txt")

    decisions = GuardDecision.objects.exclude(rule__in=(GuardRule.EMPTY_SET, GuardRule.DELETE_ALL))
    assert list(decisions.values_list("name", "rule", "reason")) == []
    assert behind == straight


def _run_guarded(
    folder: Path, flags: Mapping[str, Any], rounds: Rounds, kind: str
) -> list[tuple[list[Outcome], set[_Plain]]]:
    limits: dict[str, Any] = {"first_changes_at": fetch_now(), "delete_percent": 100}
    with (
        _serving(ForgettingBackend) as (url, backend),
        guarded(folder, mode=GuardEndpoint.Mode.ENFORCE, **limits) as guard,
    ):
        Provider.objects.update(url=url)
        profile = RegistryProfile.objects.create(
            name="of blue",
            kind=kind,
            prefix=flags.get("txt_prefix", ""),
            suffix=flags.get("txt_suffix", ""),
            wildcard_replacement=flags.get("wildcard_replacement", ""),
            encryption_key=KEY.decode() if "encryption_key" in flags else "",
        )
        profile.providers.set([guard.endpoint.provider])
        InstanceRow.objects.update(registry_profile=profile)
        with Instance(Settings(guard.url, "blue-cluster", **flags)) as instance:
            return _run(instance, backend, rounds)


def _compare_kept(folder: Path, flags: Mapping[str, Any], rounds: Rounds) -> None:
    with _serving() as (url, backend), Instance(Settings(url, "blue-cluster", **flags)) as instance:
        straight = _run(instance, backend, rounds)

    kept = _run_guarded(folder, flags, rounds, "database")

    decisions = GuardDecision.objects.exclude(rule__in=(GuardRule.EMPTY_SET, GuardRule.DELETE_ALL))
    assert list(decisions.values_list("name", "rule", "reason")) == []
    assert kept == [(outcomes, {each for each in zone if each[1] != "TXT"}) for outcomes, zone in straight]
    rows = DatabaseClaim.objects.values_list("name", "record_type", "set_identifier")
    assert set(rows) == {each[:3] for each in kept[-1][1]}
    assert set(DatabaseClaim.objects.values_list("owner_id", "meant_targets")) <= {("blue-cluster", None)}


@pytest.mark.parametrize("flags", deep_after(2, FLAGS.values()))
def test_it_comes_to_the_same_with_and_without_the_guard(tmp_path: Path, flags: Mapping[str, Any]) -> None:
    _compare(tmp_path, flags, _ROUNDS)


@pytest.mark.parametrize("flags", deep_after(2, FLAGS.values()))
def test_it_comes_to_the_same_with_its_claims_in_the_database(
    tmp_path: Path, flags: Mapping[str, Any]
) -> None:
    _compare_kept(tmp_path, flags, _ROUNDS)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(examples(64)))
def test_whatever_it_wants_it_comes_to_the_same(tmp_path: Path, seed: int) -> None:
    flags, rounds = _choose(seed)

    _compare(tmp_path, flags, rounds)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(examples(64)))
def test_whatever_it_wants_it_comes_to_the_same_with_its_claims_in_the_database(
    tmp_path: Path, seed: int
) -> None:
    flags, rounds = _choose(seed)

    _compare_kept(tmp_path, flags, rounds)


def _choose(seed: int) -> tuple[Mapping[str, Any], Rounds]:
    chance = random.Random(SEED * 1_000 + seed)
    always = wanted("always.example.org")
    rounds = [[always, *_wish(chance)] for _ in range(8)]
    return chance.choice(list(FLAGS.values())), rounds


def _wish(chance: random.Random) -> list[Endpoint]:
    shapes = [(), ("A",), ("A", "AAAA"), ("CNAME",)]
    targets = {
        "A": ["192.0.2.1", "192.0.2.2"],
        "AAAA": ["2001:db8::1"],
        "CNAME": ["one.example.net", "b.example.net"],
    }
    return [
        wanted(name, kind, [chance.choice(targets[kind])], ttl=chance.choice((0, 60)))
        for name in ("www.example.org", "*.w.example.org", "deep.api.example.org", "api.example.org")
        for kind in chance.choice(shapes)
    ]
