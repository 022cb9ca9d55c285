"""Every backend of ours passes the report that we hold other providers to."""

import pytest

from providers.conformance.run import run_conformance
from providers.conformance.subject import Subject, Verdict
from providers.http.address_policy import AddressPolicy
from tests.providers.contract.conftest import Served


@pytest.mark.parametrize("protocol", ["webhook"])
def test_it_passes_and_leaves_the_zone_as_it_was(served: Served) -> None:
    before = served.records()
    subject = Subject(served.url, protocol="webhook", policy=AddressPolicy(allow_loopback=True))

    report = run_conformance(subject, zone="example.org")

    assert report.wrote
    failed = [each for each in report.observations if each.verdict == Verdict.FAILED]
    assert not failed
    assert sorted(served.records(), key=repr) == sorted(before, key=repr)
