"""What each instance of an owner would do to a record set, and that the worst of it counts."""

from dataclasses import replace

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.models import Transfer, TransferItem
from registry_app.queries.instance import InstanceFacts
from registry_app.queries.loop import DeclaredSet
from registry_app.transfer.plan.verdicts import InstanceVerdicts
from registry_app.transfer.plan.verdicts_by_facts import Verdict
from tests.reference_server import make_record

pytestmark = pytest.mark.one_database

NO_OP, RETARGET, DELETE, UNKNOWN = (
    TransferItem.Verdict.NO_OP,
    TransferItem.Verdict.RETARGET,
    TransferItem.Verdict.DELETE,
    TransferItem.Verdict.UNKNOWN,
)
HERE, ELSEWHERE = 1, 2
WWW = EndpointKey("www.example.org", "A", "")
EAST = InstanceFacts("default", "east", policy="sync", cluster="east")
WEST = InstanceFacts("default", "west", policy="sync", cluster="west")
INTENTS = Transfer.TargetIntent


def _judge(*instances: InstanceFacts, intent: str = "same", key: EndpointKey = WWW) -> Verdict:
    return InstanceVerdicts("default", instances, HERE, intent=intent, stated_by="alice").judge(key)


def test_with_no_instance_known_the_owner_is_judged_as_one_of_unknown_policy() -> None:
    assert [_judge(intent=intent).value for intent in ("same", "other", "not_wanted", "unknown")] == [
        NO_OP,
        RETARGET,
        DELETE,
        UNKNOWN,
    ]


def test_the_reason_names_the_instance() -> None:
    for policy in ("sync", "upsert-only", "create-only", "unknown"):
        verdict = _judge(replace(EAST, policy=policy), intent="unknown")

        assert "instance east of default" in verdict.reason


@pytest.mark.parametrize(
    ("instance", "why"),
    [
        (replace(EAST, provider_id=ELSEWHERE), "writes through another provider"),
        (replace(EAST, managed_types=("CNAME",)), "does not manage A record sets"),
        (replace(EAST, domain_include=("example.net",)), "its domain filter leaves it out"),
        (replace(EAST, domain_include=(".www.example.org",)), "its domain filter leaves it out"),
        (replace(EAST, domain_exclude=("www.example.org",)), "its domain filter leaves it out"),
    ],
)
def test_an_instance_that_does_not_manage_a_record_set_does_nothing_to_it(
    instance: InstanceFacts, why: str
) -> None:
    for intent in INTENTS.values:
        verdict = _judge(instance, intent=intent)

        assert verdict.value == NO_OP
        assert verdict.reason == f"The instance east of default {why}." or why in verdict.reason


def test_one_that_does_not_manage_it_takes_nothing_from_what_another_does() -> None:
    verdict = _judge(EAST, replace(WEST, provider_id=ELSEWHERE), intent="not_wanted")

    assert verdict.value == DELETE
    assert verdict.reason.index("east") < verdict.reason.index("west")
    assert "west of default writes through another provider" in verdict.reason


@pytest.mark.parametrize(
    ("policies", "intent", "expected"),
    [
        (("sync", "upsert-only"), "not_wanted", DELETE),
        (("upsert-only", "sync"), "not_wanted", DELETE),
        (("upsert-only", "unknown"), "not_wanted", DELETE),
        (("upsert-only", "create-only"), "not_wanted", NO_OP),
        (("sync", "create-only"), "unknown", UNKNOWN),
        (("upsert-only", "create-only"), "other", RETARGET),
        (("upsert-only", "create-only"), "same", NO_OP),
    ],
)
def test_the_worst_of_several_counts(policies: tuple[str, str], intent: str, expected: str) -> None:
    first, second = policies

    verdict = _judge(replace(EAST, policy=first), replace(WEST, policy=second), intent=intent)

    assert verdict.value == expected


def test_the_intent_of_an_owner_is_not_that_of_each_of_its_instances() -> None:
    # The accident this is about: east wants the record set, and west deletes what it does not want.
    for intent in ("same", "other"):
        verdict = _judge(EAST, WEST, intent=intent)

        assert verdict.value == UNKNOWN
        assert "the instance east of default may delete what it does not want" in verdict.reason
        assert "the instance west of default may delete what it does not want" in verdict.reason


def test_replicas_and_instances_with_other_filters_want_what_the_owner_wants() -> None:
    replica = replace(EAST, name="east-2")
    disjoint = replace(WEST, domain_include=("example.net",))

    assert _judge(EAST, replica).value == NO_OP
    assert _judge(replace(EAST, domain_include=("example.org",)), disjoint).value == NO_OP


def test_a_loop_counts_beside_the_instances_in_clusters() -> None:
    loop = InstanceFacts("default", "dnsadmin's loop", policy="sync", provider_id=HERE, is_loop=True)
    current = make_record(WWW.name)
    declared = DeclaredSet("sync", frozenset({"A"}), {WWW: current})
    settings_of_the_loop = replace(EAST, cluster="", profile="7")

    def judge(*instances: InstanceFacts) -> Verdict:
        found = InstanceVerdicts(
            "default", instances, HERE, intent="same", stated_by="alice", declared=declared
        )
        return found.judge_record(WWW, current)

    as_it_is = "The loop of default declares it with the same values."
    assert judge(loop, settings_of_the_loop) == Verdict(NO_OP, as_it_is)
    assert judge(loop, EAST).value == UNKNOWN
    assert as_it_is in judge(loop, EAST).reason


@pytest.mark.deep
def test_the_reasons_of_hundreds_of_instances_stay_readable() -> None:
    many = [replace(EAST, name=f"i{number}", cluster=f"c{number}") for number in range(300)]

    verdict = _judge(*many)

    assert verdict.value == UNKNOWN
    assert len(verdict.reason) < 2_000
    assert "It has 300" in verdict.reason
