"""What needs attention, what there is, and what happened last: each in a query or two, bounded."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, Sum

from registry_app.models import (
    PROVIDER_SECRETS,
    AuditEntry,
    Finding,
    Freeze,
    HandOver,
    HandOverItem,
    HeldDelete,
    HeldSnapshot,
    OwnershipState,
    Provider,
    RecordEvent,
    RecordSet,
    Transfer,
)
from registry_app.queries.freeze import FreezeState, compute_freeze_state
from registry_app.queries.provider import active_freezes, describe_freshness, providers_for_display
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


def fetch_dashboard(now: datetime) -> Dashboard:
    """Everything the first page shows. Its cost does not depend on who looks."""
    providers = list(providers_for_display()[:50])
    total = Provider.objects.aggregate(total=Sum("record_set_count"))["total"] or 0
    findings = _count_findings()
    return Dashboard(
        attention=[
            *_restored(),
            *_held(),
            *_held_deletes(),
            *_unfinished_transfers(),
            *_hand_overs(),
            *_failing(),
            *_errors(findings),
            *_frozen(now),
        ],
        states=count_states(total),
        findings=findings,
        record_sets=total,
        providers=[(provider, describe_freshness(provider, now)) for provider in providers],
        transfers=list(transfers_for_display()[:_MOST]),
        events=list(RecordEvent.objects.select_related("provider").defer(*PROVIDER_SECRETS)[:_MOST]),
        audit=list(AuditEntry.objects.all()[:_MOST]),
        restored=sum(1 for provider in providers if provider.restored_at is not None),
    )


def count_states(total: int) -> list[tuple[str, str, int]]:
    """The few that are not owned are counted by their partial index; the owned are the rest."""
    not_owned = RecordSet.objects.exclude(state=OwnershipState.OWNED).values_list("state")
    counts: dict[str, int] = dict(not_owned.annotate(amount=Count("id")).order_by("state"))
    counts[OwnershipState.OWNED] = max(total - sum(counts.values()), 0)
    return [(str(state.value), str(state.label), counts.get(state.value, 0)) for state in OwnershipState]


def _restored() -> list[Attention]:
    rows = Provider.objects.filter(restored_at__isnull=False).values_list("pk", "name")
    text = "nothing is sent to {} until its snapshot is accepted"
    return [
        Attention("bad", f"The database was restored: {text.format(name)}", "provider", pk)
        for pk, name in rows[:_MOST]
    ]


def _held() -> list[Attention]:
    rows = HeldSnapshot.objects.filter(status=HeldSnapshot.Status.OPEN).values_list("pk", "provider__name")
    return [
        Attention("bad", f"A snapshot of {name} is held: accept or reject it", "heldsnapshot", pk)
        for pk, name in rows[:_MOST]
    ]


def _held_deletes() -> list[Attention]:
    """Each guard endpoint with deletes that wait, the most first."""
    rows = HeldDelete.objects.filter(status=HeldDelete.Status.HELD).order_by()
    counted = rows.values_list("guard_endpoint_id", "guard_endpoint__slug").annotate(amount=Count("pk"))
    return [
        Attention(
            "warn",
            f"Held deletes of {slug}: {amount}. Release or keep {'it' if amount == 1 else 'them'}",
            f"helddelete:{pk}",
        )
        for pk, slug, amount in counted.order_by("-amount", "guard_endpoint__slug")[:_MOST]
    ]


def _unfinished_transfers() -> list[Attention]:
    texts = {
        Transfer.Status.NEEDS_OPERATOR: ("bad", "needs an operator"),
        Transfer.Status.REQUESTED: ("warn", "waits for approval"),
        Transfer.Status.SENDING: ("busy", "is being sent"),
        Transfer.Status.SENT: ("busy", "is being read back"),
    }
    rows = Transfer.objects.filter(status__in=list(texts)).order_by("-status", "-id")
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


def _hand_overs() -> list[Attention]:
    """Those that wait for approval, and those with names that cannot move."""
    state = HandOver.Status
    blocked = Q(items__state__in=(HandOverItem.State.BLOCKED, HandOverItem.State.FAILED))
    rows = HandOver.objects.filter(status__in=(state.REQUESTED, state.RUNNING)).annotate(
        stuck=Count("items", filter=blocked)
    )
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


def _failing() -> list[Attention]:
    rows = Provider.objects.filter(is_enabled=True, status=Provider.Status.FAILING)
    lines = rows.values_list("pk", "name", "consecutive_failures", "last_error_code")[:_MOST]
    return [
        Attention("bad", f"{name} fails ({code or 'no reason'}), {failures} times in a row", "provider", pk)
        for pk, name, failures, code in lines
    ]


def _count_findings() -> list[tuple[str, str, int, int]]:
    """Kind, what it is called, its worst severity and how many are open; the worst first."""
    rows = Finding.objects.filter(state=Finding.State.OPEN)
    counted = rows.values_list("kind").annotate(worst=Max("severity"), amount=Count("id"))
    kinds = dict(Finding.Kind.choices)
    return [
        (kind, str(kinds.get(kind, kind)), worst, amount)
        for kind, worst, amount in counted.order_by("-worst", "-amount", "kind")
    ]


def _errors(findings: list[tuple[str, str, int, int]]) -> list[Attention]:
    """Kinds of findings that are errors, but for those whose subjects are named one by one."""
    return [
        Attention("bad", f"{label}: {amount}", f"finding:{kind}")
        for kind, label, worst, amount in findings
        if worst >= Finding.Severity.ERROR and kind not in _NAMED
    ]


def _frozen(now: datetime) -> list[Attention]:
    begun = active_freezes(now).filter(starts_at__lte=now)[:_MOST_BEGUN]
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
