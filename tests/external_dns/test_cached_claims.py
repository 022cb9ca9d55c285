"""With --txt-cache-interval an instance believes its own change set before it was sent."""

from collections.abc import Iterator

import pytest

from providers.wire.change_set import ChangeSet
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.faults import read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import ReferenceProvider, make_claim, make_record

_CACHE_SECONDS = 60.0
_WANTED = make_record("new.example.org", ttl=0)


class _Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def provider() -> Iterator[ReferenceProvider]:
    with ReferenceProvider([make_record("other.example.org")]) as running:
        yield running


@pytest.mark.parametrize(
    "fault",
    [write_faults.success_with_nothing_applied(), read_faults.status(503)],
    ids=lambda each: each.name,
)
def test_a_create_that_was_dropped_is_not_asked_again_until_the_cache_ends(
    provider: ReferenceProvider, fault: Fault
) -> None:
    clock = _Clock()
    settings = Settings(provider.url, "blue-cluster", txt_cache_seconds=_CACHE_SECONDS)
    with Instance(settings, [_WANTED], clock=clock) as instance:
        provider.faults.plan("POST /records", fault)
        instance.run_once()
        asked = provider.history.requests("GET /records")

        clock.seconds = _CACHE_SECONDS - 1
        assert instance.run_once().outcome is Outcome.QUIET
        assert provider.history.requests("GET /records") == asked

        clock.seconds = _CACHE_SECONDS
        assert instance.run_once().outcome is Outcome.CHANGED
    assert "new.example.org" in {each.dns_name for each in provider.endpoints()}


def test_without_a_cache_it_is_asked_again_at_the_next_loop(provider: ReferenceProvider) -> None:
    with Instance(Settings(provider.url, "blue-cluster"), [_WANTED]) as instance:
        provider.faults.plan("POST /records", write_faults.success_with_nothing_applied())
        assert instance.run_once().outcome is Outcome.CHANGED

        assert instance.run_once().outcome is Outcome.CHANGED
        assert instance.run_once().outcome is Outcome.QUIET


def test_a_cached_instance_acts_on_a_claim_that_has_moved_since() -> None:
    record, claim = make_record("www.example.org", ttl=0), make_claim("www.example.org", ttl=0)
    moved = make_claim("www.example.org", owner="green-cluster", ttl=0)
    with ReferenceProvider([record, claim], value_exact=False) as provider:
        settings = Settings(provider.url, "blue-cluster", txt_cache_seconds=_CACHE_SECONDS)
        with Instance(settings, [record], clock=_Clock()) as cached:
            assert cached.run_once().outcome is Outcome.QUIET
            provider.backend.apply(ChangeSet(update_old=(claim,), update_new=(moved,)))

            cached.desired = []
            assert cached.run_once().outcome is Outcome.CHANGED

        assert provider.endpoints() == ()


def test_a_whole_life_behind_one_read_follows_what_was_sent(provider: ReferenceProvider) -> None:
    settings = Settings(provider.url, "blue-cluster", txt_cache_seconds=_CACHE_SECONDS)
    before = provider.endpoints()
    with Instance(settings, clock=_Clock()) as instance:
        for target in ("192.0.2.7", "192.0.2.8"):
            instance.desired = [make_record("new.example.org", targets=(target,), ttl=0)]
            assert instance.run_once().outcome is Outcome.CHANGED
            assert instance.run_once().outcome is Outcome.QUIET
        instance.desired = []
        assert instance.run_once().outcome is Outcome.CHANGED
        assert instance.run_once().outcome is Outcome.QUIET

    assert provider.endpoints() == before
    assert len(provider.history.requests("GET /records")) == 1
