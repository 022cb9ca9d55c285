"""What is kept of decisions is bounded, however many different changes an instance asks for."""

from datetime import timedelta

import pytest

from registry_app.clock import fetch_now
from registry_app.guard.decisions import MOST_KEPT, Decision, store_decisions
from registry_app.models import GuardDecision, GuardRule
from tests.factories import make_guard_endpoint, make_provider

pytestmark = pytest.mark.django_db


def test_the_decisions_that_were_longest_not_made_again_go_first() -> None:
    endpoint = make_guard_endpoint(provider=make_provider())
    now = fetch_now()
    for number in range(MOST_KEPT // 1_000 + 1):
        names = (f"app-{number}-{place}.example.org" for place in range(1_000))
        refused = [
            Decision(
                GuardDecision.Outcome.REFUSED, GuardRule.NOT_OWNER, name, "", "delete A", "It is green's."
            )
            for name in names
        ]
        store_decisions(endpoint, refused, now + timedelta(seconds=number))

    rows = GuardDecision.objects.filter(guard_endpoint=endpoint)
    assert rows.count() == MOST_KEPT
    assert not rows.filter(name__startswith="app-0-").exists()
    assert endpoint.counts.get().count == MOST_KEPT + 1_000
