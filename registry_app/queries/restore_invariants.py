"""I21, as far as rows and the copies outside the database show it."""

from django.db.models import F, Q

from registry_app.models import LoopStep, Transfer, TransferStep
from registry_app.outside_copy import find_copy_ahead
from registry_app.queries.invariant import Invariant, Violation, first_of, violation_of

_UNSENT = ("stored", "not_sent")


def find_unnoted_restore() -> Violation | None:
    """I21. The database is not behind what is known of it outside, and nothing was sent too early."""
    return first_of((_find_copy_ahead(), *_find_early_sends()))


def _find_copy_ahead() -> Violation | None:
    ahead = find_copy_ahead()
    if ahead is None:
        return None
    sample = (f"generation {ahead.generation}, {ahead.sends} requests, audit entry {ahead.sequence}",)
    explanation = (
        "A copy outside the database is ahead of it: the database was restored, or its last audit "
        "entries were cut off. Nothing is sent. A worker records it within seconds."
    )
    return Violation(1, sample, explanation)


def _find_early_sends() -> list[Violation | None]:
    restored = Q(transfer__provider__restored_at__isnull=False)
    early = Q(stored_at__gt=F("transfer__provider__restored_at"))
    steps = TransferStep.objects.filter(restored & early).exclude(status__in=_UNSENT)
    loop_steps = LoopStep.objects.filter(
        run__provider__restored_at__isnull=False, stored_at__gt=F("run__provider__restored_at")
    ).exclude(status__in=_UNSENT)
    started = Transfer.objects.filter(
        provider__restored_at__isnull=False,
        created_at__lt=F("provider__restored_at"),
        status__in=Transfer.OPEN_STATUSES,
    )
    return [
        violation_of(steps, "Something was sent to a provider that is not accepted since a restore."),
        violation_of(loop_steps, "A loop sent something to a provider that is not accepted since a restore."),
        violation_of(started, "A transfer of before a restore is still open."),
    ]


RESTORE_INVARIANTS = (
    Invariant("I21", "a restored database sends nothing before it is accepted", find_unnoted_restore),
)
