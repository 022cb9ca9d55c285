"""What the next sync of the new owner would do, and whose word that rests on."""

import pytest

from registry_app.models import InstancePolicy, Transfer, TransferItem
from registry_app.transfer.plan.verdicts import compute_verdict

pytestmark = pytest.mark.one_database

NO_OP, RETARGET, DELETE, UNKNOWN, _NOT_REPLACED, _KEPT = TransferItem.Verdict.values


@pytest.mark.parametrize(
    ("policy", "intent", "expected"),
    [
        ("sync", "same", NO_OP),
        ("sync", "other", RETARGET),
        ("sync", "not_wanted", DELETE),
        ("sync", "unknown", UNKNOWN),
        ("upsert-only", "same", NO_OP),
        ("upsert-only", "other", RETARGET),
        ("upsert-only", "not_wanted", NO_OP),
        ("upsert-only", "unknown", UNKNOWN),
        ("create-only", "same", NO_OP),
        ("create-only", "other", NO_OP),
        ("create-only", "not_wanted", NO_OP),
        ("create-only", "unknown", NO_OP),
        ("unknown", "same", NO_OP),
        ("unknown", "other", RETARGET),
        ("unknown", "not_wanted", DELETE),
        ("unknown", "unknown", UNKNOWN),
    ],
)
def test_policy_and_intent_decide_together(policy: str, intent: str, expected: str) -> None:
    verdict = compute_verdict("green-cluster", policy, intent, "alice")

    assert verdict.value == expected


def test_every_policy_and_every_intent_has_a_verdict_with_a_reason() -> None:
    for policy in InstancePolicy.values:
        for intent in Transfer.TargetIntent.values:
            verdict = compute_verdict("green-cluster", policy, intent, "alice")

            assert verdict.reason.endswith(".")
            assert "green-cluster" in verdict.reason
            # A person's word is named as theirs; a stored policy as the instance's.
            assert "alice says" in verdict.reason or "policy" in verdict.reason
