"""Whatever a provider does wrong is said, and never keeps the run from cleaning up behind itself."""

import msgspec
import pytest

from providers.conformance.subject import Verdict
from providers.wire.change_set import ChangeSet
from tests.faults import read_faults, write_faults
from tests.faults.fault import Fault
from tests.providers.conformance.by_meaning import ByMeaning
from tests.providers.conformance.test_conforming_providers import ask, told
from tests.reference_server import ReferenceProvider, make_zone
from tests.servers.provider_server import PluginServer

_REFUSED = (
    "An update with the claim rebuilt",
    "An update of a claim whose labels are in another order",
    "An update with txt/force-update",
    "A delete with the claim rebuilt",
    "A delete of a claim whose labels are in another order",
)


def test_nothing_that_listens_is_one_failure() -> None:
    with ReferenceProvider() as provider:
        url = provider.url

    report = ask(url, zone="example.org")

    assert not report.is_conformant
    assert all(each.verdict == Verdict.FAILED for each in report.observations)


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (read_faults.status(503), "GET /records responds with 200"),
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
        ("GET /", read_faults.status(204), "The bare URL responds with success"),
        ("POST /propertyvaluesequal", read_faults.status(404), "POST /propertyvaluesequal responds with 200"),
        ("POST /propertyvaluesequal", read_faults.body(b"{}"), "POST /propertyvaluesequal responds with 200"),
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
        assert told(report, "Everything created for this run is deleted")[0] == Verdict.PASSED
        assert provider.zone_bytes() == before


def test_a_provider_that_refuses_what_external_dns_sends_fails() -> None:
    with ReferenceProvider(make_zone(count=3)) as provider:
        before = provider.zone_bytes()

        report = ask(provider.url, zone="example.org")

        assert not report.is_conformant
        assert [told(report, title)[0] for title in _REFUSED] == [Verdict.FAILED] * len(_REFUSED)
        assert "sends the same change again and again" in told(report, _REFUSED[0])[1]
        assert told(report, "A text beside a claim")[0] == Verdict.NOTED
        assert provider.zone_bytes() == before


def test_where_no_claims_of_others_stand_what_happens_only_to_those_is_noted() -> None:
    with ReferenceProvider() as provider:
        report = ask(provider.url, zone="example.org")

    failed = {title for title in _REFUSED if told(report, title)[0] == Verdict.FAILED}
    noted = {title for title in _REFUSED if told(report, title)[0] == Verdict.NOTED}
    assert failed == {_REFUSED[0], _REFUSED[3]}
    assert noted == set(_REFUSED) - failed


def test_a_create_that_merges_targets_is_told_as_that() -> None:
    class Merging(ByMeaning):
        def apply(self, change_set: ChangeSet) -> None:
            held = {each.dns_name: each for each in self.contents() if each.record_type == "A"}
            over = [each for each in change_set.create if each.dns_name in held and each.record_type == "A"]
            merged = [
                msgspec.structs.replace(each, targets=(*held[each.dns_name].targets, *each.targets))
                for each in over
            ]
            super().apply(
                msgspec.structs.replace(
                    change_set,
                    create=tuple(each for each in change_set.create if each not in over),
                    update_old=(*change_set.update_old, *(held[each.dns_name] for each in over)),
                    update_new=(*change_set.update_new, *merged),
                )
            )

    class MergingProvider(ReferenceProvider):
        backend_type = Merging

    with MergingProvider(make_zone(count=3)) as provider:
        report = ask(provider.url, zone="example.org")

    verdict, detail = told(report, "A create of an existing record set")
    assert verdict == Verdict.FAILED
    assert "it merges targets" in detail
