"""A 5xx ends the loop, everything else ends the process."""

import gzip
from collections.abc import Iterator
from dataclasses import replace

import pytest

from providers.servers.wsgi_application import Answer, RequiredCredential
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_endpoints
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings, Version
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.faults.framing_faults import Framing
from tests.reference_server import ReferenceProvider, make_record, make_zone

_ROUTES = ("GET /records", "POST /adjustendpoints", "POST /records")
_WANTED = make_record("new.example.org")


@pytest.fixture
def provider() -> Iterator[ReferenceProvider]:
    with ReferenceProvider(make_zone("blue-cluster", 3)) as running:
        yield running


def _start(provider: ReferenceProvider, **values: object) -> Instance:
    settings = replace(Settings(provider.url, "blue-cluster"), **values)  # type: ignore[arg-type]
    instance = Instance(settings, [*_list_owned(provider), _WANTED])
    instance.start()
    return instance


def _list_owned(provider: ReferenceProvider) -> list[Endpoint]:
    return [each for each in provider.endpoints() if each.record_type != "TXT"]


def _holds_wanted(provider: ReferenceProvider) -> bool:
    return {_WANTED.dns_name, f"a-{_WANTED.dns_name}"} <= {each.dns_name for each in provider.endpoints()}


@pytest.mark.parametrize("status", [500, 503, 510])
@pytest.mark.parametrize("route", _ROUTES)
def test_it_lives_on_after_a_5xx_and_does_it_at_its_next_loop(
    provider: ReferenceProvider, route: str, status: int
) -> None:
    instance = _start(provider)
    provider.faults.plan(route, read_faults.status(status))

    first = instance.run_once()

    assert (first.outcome, instance.is_alive) == (Outcome.SOFT_ERROR, True)
    assert str(status) in first.reason
    assert not _holds_wanted(provider)
    assert instance.run_once().outcome is Outcome.CHANGED
    assert _holds_wanted(provider)
    assert instance.run_once().outcome is Outcome.QUIET


@pytest.mark.parametrize("status", [201, 202, 302, 400, 401, 404, 409, 413, 429, 511])
@pytest.mark.parametrize("route", _ROUTES)
def test_any_other_status_ends_it(provider: ReferenceProvider, route: str, status: int) -> None:
    instance = _start(provider)
    provider.faults.plan(route, read_faults.status(status))

    result = instance.run_once()

    assert (result.outcome, instance.is_alive) == (Outcome.DEAD, False)
    assert instance.last_result == result
    with pytest.raises(RuntimeError, match="Start it first"):
        instance.run_once()


def test_a_200_for_a_change_set_ends_today_s_version_and_not_an_older_one(
    provider: ReferenceProvider,
) -> None:
    for version, outcome in ((Version.CURRENT, Outcome.DEAD), (Version.OLDER, Outcome.CHANGED)):
        instance = _start(provider, version=version)
        provider.faults.plan("POST /records", read_faults.status(200))

        assert instance.run_once().outcome is outcome


@pytest.mark.parametrize(
    "fault",
    [
        framing_faults.reset(),
        framing_faults.closed(),
        framing_faults.truncated(10, Framing.CONTENT_LENGTH),
        framing_faults.truncated(10, Framing.CHUNKED),
        framing_faults.truncated(10, Framing.CLOSE_DELIMITED),
        framing_faults.never_ends(),
        read_faults.gzip_bomb(2**26),
        read_faults.byte_order_mark(),
        read_faults.empty_object(),
        read_faults.not_a_number(),
        read_faults.deep_nesting(),
    ],
    ids=lambda fault: fault.name,
)
def test_an_answer_that_breaks_off_or_cannot_be_read_ends_it(
    provider: ReferenceProvider, fault: Fault
) -> None:
    instance = _start(provider, max_body_bytes=2**20)
    provider.faults.plan("GET /records", fault)

    assert instance.run_once().outcome is Outcome.DEAD
    assert not _holds_wanted(provider)


@pytest.mark.parametrize(
    "fault",
    [framing_faults.silence(), framing_faults.headers_only(), framing_faults.slow_drip()],
    ids=lambda fault: fault.name,
)
def test_an_answer_that_takes_too_long_ends_it(provider: ReferenceProvider, fault: Fault) -> None:
    instance = _start(provider, timeout_seconds=0.5)
    provider.faults.plan("GET /records", fault)

    assert instance.run_once().outcome is Outcome.DEAD


@pytest.mark.parametrize(
    "fault",
    [
        framing_faults.framed(Framing.CHUNKED),
        framing_faults.framed(Framing.CLOSE_DELIMITED),
        read_faults.wrong_content_type(),
        read_faults.shuffled(),
        read_faults.trailing_text(),
    ],
    ids=lambda fault: fault.name,
)
def test_odd_answers_that_go_can_read_do_not_end_it(provider: ReferenceProvider, fault: Fault) -> None:
    instance = _start(provider)
    provider.faults.plan("GET /records", fault)

    assert instance.run_once().outcome is Outcome.CHANGED


def test_a_compressed_answer_is_asked_for_and_understood(provider: ReferenceProvider) -> None:
    instance = _start(provider)
    headers = (("Content-Type", WEBHOOK_MEDIA_TYPE), ("Content-Encoding", "gzip"))
    answer = Answer(200, headers, gzip.compress(encode_endpoints(provider.endpoints())))
    provider.faults.plan("GET /records", Fault("gzip", lambda exchange, _plan: exchange.send(answer)))

    assert instance.run_once().outcome is Outcome.CHANGED
    assert {each.headers["accept-encoding"] for each in provider.history.requests()} == {"gzip"}


def test_a_body_may_be_as_long_as_the_limit_and_no_longer(provider: ReferenceProvider) -> None:
    size = len(encode_endpoints(provider.endpoints()))
    for limit, outcome in ((size - 1, Outcome.DEAD), (2 * size, Outcome.CHANGED)):
        assert _start(provider, max_body_bytes=limit).run_once().outcome is outcome


def test_a_provider_that_is_away_ends_it_until_it_is_started_again(provider: ReferenceProvider) -> None:
    instance = _start(provider)
    provider.stop()
    assert instance.run_once().outcome is Outcome.DEAD
    assert instance.start().outcome is Outcome.DEAD
    provider.start()

    assert instance.start().outcome is Outcome.STARTED
    assert instance.run_once().outcome is Outcome.CHANGED


def test_a_dropped_connection_behind_a_change_set_ends_it_though_all_was_done(
    provider: ReferenceProvider,
) -> None:
    instance = _start(provider)
    provider.faults.plan("POST /records", write_faults.applied_then_reset())

    result = instance.run_once()

    assert result.outcome is Outcome.DEAD
    assert [each.dns_name for each in result.sent.create] == ["new.example.org", "a-new.example.org"]
    assert _holds_wanted(provider)


@pytest.mark.parametrize(
    ("fault", "times", "outcome", "tries"),
    [
        (read_faults.status(503), 4, Outcome.STARTED, 5),
        (read_faults.status(503), 5, Outcome.DEAD, 5),
        (framing_faults.closed(), 4, Outcome.STARTED, 5),
        (read_faults.status(404), 1, Outcome.DEAD, 1),
        (read_faults.wrong_content_type("application/json"), 1, Outcome.DEAD, 1),
        (read_faults.wrong_content_type(f"{WEBHOOK_MEDIA_TYPE}; charset=utf-8"), 1, Outcome.DEAD, 1),
        (read_faults.body(b'{"include":["a.org"],"regexInclude":"b"}'), 1, Outcome.DEAD, 1),
        (read_faults.body(b'{"include":[]}'), 1, Outcome.STARTED, 1),
        (read_faults.body(b"not JSON"), 1, Outcome.DEAD, 1),
    ],
)
def test_it_starts_after_five_tries_at_most_and_with_the_exact_media_type(
    provider: ReferenceProvider, fault: Fault, times: int, outcome: Outcome, tries: int
) -> None:
    provider.faults.plan("GET /", fault, times=times)

    instance = _start(provider)

    assert instance.last_result is not None
    assert instance.last_result.outcome is outcome
    assert len(provider.history.requests("GET /")) == tries
    if outcome is Outcome.STARTED:
        assert instance.run_once().outcome is Outcome.CHANGED


def test_a_url_may_hold_a_path_and_a_user() -> None:
    credential = RequiredCredential.basic("blue", "a secret/")
    with ReferenceProvider(base_path="/guard/blue", credential=credential) as provider:
        url = provider.url.replace("://", "://blue:a%20secret%2F@")

        with Instance(Settings(url, "blue-cluster"), [_WANTED]) as instance:
            assert instance.run_once().outcome is Outcome.CHANGED
        with Instance(Settings(provider.url, "blue-cluster")) as instance:
            assert instance.last_result is not None
            assert "status 401" in instance.last_result.reason

        assert _holds_wanted(provider)
        assert {each.path for each in provider.history.requests()} == {
            "/guard/blue",
            "/guard/blue/records",
            "/guard/blue/adjustendpoints",
        }
