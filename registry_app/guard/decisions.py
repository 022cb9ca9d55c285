"""Keep what was refused or held, bounded: the same decision again makes no new row."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import structlog
from django.db import transaction
from django.db.models import F

from registry_app.metrics import GUARD_DECISIONS
from registry_app.models import GuardCount, GuardDecision, GuardEndpoint, GuardRule

# How many rows a request can add or change, and how many are kept for a guard endpoint. Beyond them decisions
# are counted alone.
_MOST_OF_A_REQUEST = 1_000
MOST_KEPT = 10_000
_ROWS = 500

Outcome = GuardDecision.Outcome
_LOG = structlog.get_logger(__name__)


class Decision(NamedTuple):
    """What was decided about a name with its set identifier."""

    outcome: Outcome
    rule: GuardRule
    name: str
    set_identifier: str
    asked: str
    reason: str


def store_decisions(endpoint: GuardEndpoint, decisions: Sequence[Decision], now: datetime) -> None:
    """Count them all, and keep a row of each as long as there is room. Inside the caller's transaction."""
    _count(endpoint, decisions)
    first = decisions[:_MOST_OF_A_REQUEST]
    known = dict(_fetch_known(endpoint, {each.name for each in first}))
    new: dict[tuple[str, ...], GuardDecision] = {}
    for each in first:
        key = (each.name, each.set_identifier, each.rule.value, each.outcome.value)
        if key in known:
            rows = GuardDecision.objects.filter(pk=known[key])
            rows.update(last_at=now, count=F("count") + 1, asked=each.asked, reason=each.reason)
        else:
            new[key] = _build(endpoint, each, now)
    _make_room(endpoint, len(new))
    GuardDecision.objects.bulk_create(new.values(), batch_size=_ROWS, ignore_conflicts=True)


def _count(endpoint: GuardEndpoint, decisions: Iterable[Decision]) -> None:
    counted = Counter((each.outcome, each.rule) for each in decisions)
    for (outcome, rule), number in counted.items():
        GuardCount.objects.get_or_create(guard_endpoint=endpoint, outcome=outcome, rule=rule)
        rows = GuardCount.objects.filter(guard_endpoint=endpoint, outcome=outcome, rule=rule)
        rows.update(count=F("count") + number)
    if counted:
        transaction.on_commit(partial(_note, endpoint.slug, counted), robust=True)


def _note(slug: str, counted: Mapping[tuple[Outcome, GuardRule], int]) -> None:
    """In the metrics, and as one line of the log for each outcome: the names are in the rows."""
    by_outcome: dict[str, dict[str, int]] = {}
    for (outcome, rule), number in counted.items():
        GUARD_DECISIONS.labels(outcome.value, rule.value).inc(number)
        by_outcome.setdefault(outcome.value, {})[rule.value] = number
    for outcome_name, rules in by_outcome.items():
        _LOG.info(
            "guard.decided", guard_endpoint=slug, outcome=outcome_name, names=sum(rules.values()), rules=rules
        )


def _fetch_known(endpoint: GuardEndpoint, names: Iterable[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    ordered = sorted(names)
    for start in range(0, len(ordered), _ROWS):
        rows = GuardDecision.objects.filter(guard_endpoint=endpoint, name__in=ordered[start : start + _ROWS])
        for *key, pk in rows.values_list("name", "set_identifier", "rule", "outcome", "pk"):
            yield tuple(key), pk


def _make_room(endpoint: GuardEndpoint, count: int) -> None:
    """Delete the decisions that were longest not made again."""
    if not count:
        return
    rows = GuardDecision.objects.filter(guard_endpoint=endpoint)
    too_many = rows.count() + count - MOST_KEPT
    if too_many > 0:
        oldest = list(rows.order_by("last_at", "pk").values_list("pk", flat=True)[:too_many])
        rows.filter(pk__in=oldest).delete()


def _build(endpoint: GuardEndpoint, decision: Decision, now: datetime) -> GuardDecision:
    return GuardDecision(
        guard_endpoint=endpoint,
        outcome=decision.outcome,
        rule=decision.rule,
        name=decision.name[:253],
        set_identifier=decision.set_identifier[:255],
        asked=decision.asked[:500],
        reason=decision.reason[:500],
        first_at=now,
        last_at=now,
    )
