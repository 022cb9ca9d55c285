"""Many questions of the plugin protocol: each once, within one deadline, and our word where none comes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from providers.backends.memory import MemoryBackend
from providers.client.protocol_clients import PluginClient, WebhookClient
from providers.http.bounded_http import Limits
from providers.wire.endpoint import ValuePair
from tests.faults import read_faults
from tests.providers.client.making import LOOPBACK, PATIENT
from tests.reference_server import ReferenceProvider
from tests.servers.provider_server import PluginServer

CALL = "POST /propertyvaluesequal"
WEIGHTS = [ValuePair("aws/weight", str(number), f"0{number}") for number in range(10)]
NOTHING = ValuePair("alias", "", "")


class _Counting(MemoryBackend):
    """One for which weights are numbers."""

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return int(previous) == int(current)


class _CountingProvider(ReferenceProvider):
    backend_type = _Counting


@contextmanager
def _plugin() -> Iterator[ReferenceProvider]:
    with _CountingProvider(server_type=PluginServer) as provider:
        yield provider


def _client(url: str, limits: Limits = PATIENT) -> PluginClient:
    return PluginClient(url, policy=LOOPBACK, limits=limits)


def test_each_pair_is_asked_once_and_the_provider_decides() -> None:
    other = ValuePair("aws/weight", "1", "2")
    with _plugin() as provider:
        equal = _client(provider.url).find_equal_values([*WEIGHTS, other])

        assert len(provider.history.requests(CALL)) == 11
    assert equal == frozenset(WEIGHTS)


def test_a_pair_that_could_not_be_asked_is_equal_where_it_is_the_same_text() -> None:
    with _plugin() as provider:
        for _ in range(2):
            provider.faults.plan(CALL, read_faults.status(404))

        equal = _client(provider.url).find_equal_values([NOTHING, *WEIGHTS])

    assert equal == frozenset({NOTHING, *WEIGHTS[1:]})


def test_a_provider_that_has_no_word_is_asked_three_times() -> None:
    with ReferenceProvider() as provider:
        equal = _client(provider.url).find_equal_values([NOTHING, *WEIGHTS])

        assert len(provider.history.requests(CALL)) == 3
    assert equal == frozenset({NOTHING})


def test_all_questions_share_one_deadline() -> None:
    with _plugin() as provider:
        for _ in range(100):
            provider.faults.plan(CALL, read_faults.status(503))
        began = time.monotonic()

        equal = _client(provider.url, Limits(seconds=0.5)).find_equal_values([NOTHING, *WEIGHTS])

        assert time.monotonic() - began < 1.5
    assert equal == frozenset({NOTHING})


def test_the_webhook_protocol_has_no_such_question() -> None:
    with ReferenceProvider() as provider:
        client = WebhookClient(provider.url, policy=LOOPBACK, limits=PATIENT)

        assert client.find_equal_values(WEIGHTS) == frozenset()
        assert provider.history.requests(CALL) == ()
