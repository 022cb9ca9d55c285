"""What needs attention, what there is, and what happened last, as far as the actor may read it: each in a
query or two, bounded."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from registry_app.actor import Actor
from registry_app.models import (
    PROVIDER_SECRETS,
    AuditEntry,
    Finding,
    Freeze,
    HandOver,
    HandOverItem,
    HeldDelete,
    HeldSnapshot,
    KeptCount,
    OwnershipState,
    Provider,
    RecordEvent,
    Transfer,
)
from registry_app.queries.freeze import FreezeState, compute_freeze_state
from registry_app.queries.kept_count import count_by
from registry_app.queries.provider import active_freezes, describe_freshness, providers_for_display
from registry_app.queries.readable import readable
from registry_app.queries.transfer import transfers_for_display

_MOST = 10
# Whether a freeze with a weekly window is in force is no question for the database.
_MOST_BEGUN = 100
_NAMED = (
    Finding.Kind.PROVIDER_FAILING,
    Finding.Kind.SNAPSHOT_HELD,
    Finding.Kind.TRANSFER_STUCK,
    Finding.Kind.DATABASE_RESTORED,
)


_FREEZES = {Freeze.Kind.FREEZE: "Frozen", Freeze.Kind.PIN: "Pinned"}


@dataclass(frozen=True)
class Attention:
    """One line of what a person should look at."""

    tone: str
    text: str
    kind: str
    pk: int | None = None


@dataclass(frozen=True)
class Dashboard:
    attention: list[Attention]
    states: list[tuple[str, str, int]]
    findings: list[tuple[str, str, int, int]]
    record_sets: int
    providers: list[tuple[Provider, str]]
    transfers: list[Transfer]
    events: list[RecordEvent]
    audit: list[AuditEntry]
    restored: int


def fetch_dashboard(actor: Actor, now: datetime) -> Dashboard:
    """Everything the first page shows that the actor may read."""
    providers = list(readable(actor, providers_for_display())[:50])
    states = _count_states(actor)
    findings = _count_findings(actor)
    events = RecordEvent.objects.select_related("provider").defer(*PROVIDER_SECRETS)
    return Dashboard(
        attention=[
            *_restored(actor),
            *_held(actor),
            *_held_deletes(actor),
            *_unfinished_transfers(actor),
            *_hand_overs(actor),
            *_failing(actor),
            *_errors(findings),
            *_frozen(actor, now),
        ],
        states=states,
        findings=findings,
        record_sets=sum(amount for *_, amount in states),
        providers=[(provider, describe_freshness(provider, now)) for provider in providers],
        transfers=list(readable(actor, transfers_for_display())[:_MOST]),
        events=list(readable(actor, events)[:_MOST]),
        audit=list(readable(actor, AuditEntry.objects.all())[:_MOST]),
        restored=sum(1 for provider in providers if provider.restored_at is not None),
    )


def _count_states(actor: Actor) -> list[tuple[str, str, int]]:
    counts = dict(count_by(actor, KeptCount.Noun.RECORD_SET, "state"))
    return [(str(state.value), str(state.label), counts.get(state.value, 0)) for state in OwnershipState]


def _restored(actor: Actor) -> list[Attention]:
    rows = readable(actor, Provider.objects.filter(restored_at__isnull=False)).values_list("pk", "name")
    text = "nothing is sent to {} until its snapshot is accepted"
    return [
        Attention("bad", f"The database was restored: {text.format(name)}", "provider", pk)
        for pk, name in rows[:_MOST]
    ]


def _held(actor: Actor) -> list[Attention]:
    opened = readable(actor, HeldSnapshot.objects.filter(status=HeldSnapshot.Status.OPEN))
    rows = opened.values_list("pk", "provider__name")
    return [
        Attention("bad", f"A snapshot of {name} is held: accept or reject it", "heldsnapshot", pk)
        for pk, name in rows[:_MOST]
    ]


def _held_deletes(actor: Actor) -> list[Attention]:
    """Each guard endpoint with deletes that wait, the most first."""
    rows = readable(actor, HeldDelete.objects.filter(status=HeldDelete.Status.HELD)).order_by()
    counted = rows.values_list("guard_endpoint_id", "guard_endpoint__slug").annotate(amount=Count("pk"))
    return [
        Attention(
            "warn",
            f"Held deletes of {slug}: {amount}. Release or keep {'it' if amount == 1 else 'them'}",
            f"helddelete:{pk}",
        )
        for pk, slug, amount in counted.order_by("-amount", "guard_endpoint__slug")[:_MOST]
    ]


def _unfinished_transfers(actor: Actor) -> list[Attention]:
    texts = {
        Transfer.Status.NEEDS_OPERATOR: ("bad", "needs an operator"),
        Transfer.Status.REQUESTED: ("warn", "waits for approval"),
        Transfer.Status.SENDING: ("busy", "is being sent"),
        Transfer.Status.SENT: ("busy", "is being read back"),
    }
    rows = readable(actor, Transfer.objects.filter(status__in=list(texts))).order_by("-status", "-id")
    lines = rows.values_list("pk", "status", "item_count", "provider__name")[:_MOST]
    found = [
        Attention(
            texts[Transfer.Status(status)][0],
            f"Transfer #{pk} ({count} at {name}) {texts[Transfer.Status(status)][1]}",
            "transfer",
            pk,
        )
        for pk, status, count, name in lines
    ]
    return sorted(found, key=lambda line: ("bad", "warn", "busy").index(line.tone))


def _hand_overs(actor: Actor) -> list[Attention]:
    """Those that wait for approval, and those with names that cannot move."""
    state = HandOver.Status
    blocked = Q(items__state__in=(HandOverItem.State.BLOCKED, HandOverItem.State.FAILED))
    rows = readable(actor, HandOver.objects.filter(status__in=(state.REQUESTED, state.RUNNING)))
    rows = rows.annotate(stuck=Count("items", filter=blocked))
    shown = rows.filter(Q(status=state.REQUESTED) | Q(stuck__gt=0)).order_by("-status", "-id")
    columns = ("pk", "status", "stuck", "from_owner__owner_id", "to_owner__owner_id", "provider__name")
    return [
        Attention(
            "warn",
            f"Hand-over #{pk} ({source} to {target} at {name}) "
            + ("waits for approval" if status == state.REQUESTED else _count_stuck(stuck)),
            "handover",
            pk,
        )
        for pk, status, stuck, source, target, name in shown.values_list(*columns)[:_MOST]
    ]


def _count_stuck(number: int) -> str:
    return f"has {number} name{'s' if number > 1 else ''} that cannot move"


def _failing(actor: Actor) -> list[Attention]:
    rows = readable(actor, Provider.objects.filter(is_enabled=True, status=Provider.Status.FAILING))
    lines = rows.values_list("pk", "name", "consecutive_failures", "last_error_code")[:_MOST]
    return [
        Attention("bad", f"{name} fails ({code or 'no reason'}), {failures} times in a row", "provider", pk)
        for pk, name, failures, code in lines
    ]


def _count_findings(actor: Actor) -> list[tuple[str, str, int, int]]:
    """Kind, what it is called, its worst severity and how many are open; the worst first."""
    noun, state = KeptCount.Noun.FINDING, Finding.State.OPEN
    worst: dict[str, int] = {}
    amounts: Counter[str] = Counter()
    for kind, severity, amount in count_by(actor, noun, "type", "severity", state=state):
        worst[kind] = max(severity, worst.get(kind, 0))
        amounts[kind] += amount
    kinds = dict(Finding.Kind.choices)
    return sorted(
        ((kind, str(kinds.get(kind, kind)), worst[kind], amount) for kind, amount in amounts.items()),
        key=lambda line: (-line[2], -line[3], line[0]),
    )


def _errors(findings: list[tuple[str, str, int, int]]) -> list[Attention]:
    """Kinds of findings that are errors, but for those whose subjects are named one by one."""
    return [
        Attention("bad", f"{label}: {amount}", f"finding:{kind}")
        for kind, label, worst, amount in findings
        if worst >= Finding.Severity.ERROR and kind not in _NAMED
    ]


def _frozen(actor: Actor, now: datetime) -> list[Attention]:
    begun = readable(actor, active_freezes(now)).filter(starts_at__lte=now)[:_MOST_BEGUN]
    in_force = [each for each in begun if compute_freeze_state(each, now) is FreezeState.ACTIVE]
    return [
        Attention(
            "warn",
            f"{_FREEZES[Freeze.Kind(freeze.kind)]}: {freeze.subject}. {freeze.reason}"[:200],
            "freeze",
            freeze.pk,
        )
        for freeze in in_force[:_MOST]
    ]
