"""Whatever a provider does wrong is said, and never keeps the run from cleaning up behind itself."""

import pytest

from providers.conformance.observation import Verdict
from providers.servers import read_faults, write_faults
from providers.servers.faults import Fault
from providers.servers.plugin_server import PluginServer
from tests.providers.conformance.test_conforming_providers import ask, told
from tests.reference_server import ReferenceProvider, make_zone


def test_nothing_that_listens_is_one_failure() -> None:
    with ReferenceProvider() as provider:
        url = provider.url

    report = ask(url, zone="example.org")

    assert not report.is_conformant
    assert all(each.verdict == Verdict.FAILED for each in report.observations)


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (read_faults.status(503), "GET /records answers 200"),
        (read_faults.empty_object(), "The body is one whole array"),
    ],
)
def test_a_bad_answer_to_records_is_a_failure(fault: Fault, title: str) -> None:
    with ReferenceProvider(make_zone(count=3)) as provider:
        provider.faults.plan("GET /records", fault)

        report = ask(provider.url)

    assert told(report, title)[0] == Verdict.FAILED


@pytest.mark.parametrize(
    ("call", "fault", "title"),
    [
        ("GET /", read_faults.status(204), "The bare URL answers with success"),
        ("POST /propertyvaluesequal", read_faults.status(404), "POST /propertyvaluesequal answers 200"),
        ("POST /propertyvaluesequal", read_faults.body(b"{}"), "POST /propertyvaluesequal answers 200"),
        ("POST /propertyvaluesequal", read_faults.body(b'{"equals":false}'), "A value equals itself"),
    ],
)
def test_a_plugin_that_answers_otherwise_than_it_should_fails(call: str, fault: Fault, title: str) -> None:
    with ReferenceProvider(make_zone(count=3), server_type=PluginServer) as provider:
        provider.faults.plan(call, fault)

        report = ask(provider.url, protocol="plugin")

    assert told(report, title)[0] == Verdict.FAILED


def test_success_with_nothing_applied_is_a_failure() -> None:
    with ReferenceProvider(make_zone(count=3)) as provider:
        before = provider.zone_bytes()
        provider.faults.plan("POST /records", write_faults.success_with_nothing_applied())

        report = ask(provider.url, zone="example.org")

        assert told(report, "A (a) comes back")[0] == Verdict.FAILED
        assert "does not show it" in told(report, "A (a) comes back")[1]
        assert provider.zone_bytes() == before


def test_an_answer_that_never_comes_does_not_keep_it_from_cleaning_up() -> None:
    with ReferenceProvider(make_zone(count=3)) as provider:
        before = provider.zone_bytes()
        provider.faults.plan("POST /records", write_faults.applied_then_reset())

        report = ask(provider.url, zone="example.org")

        assert not report.is_conformant
        assert told(report, "Everything made for this run is gone")[0] == Verdict.PASSED
        assert provider.zone_bytes() == before
