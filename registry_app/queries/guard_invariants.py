"""I5, I6 and I7, as far as the change sets that the guard sent show them."""

from django.conf import settings
from django.db.models import F, Q

from registry_app.clock import fetch_now
from registry_app.models import UNSETTLED, GuardStep, StepStatus
from registry_app.queries.invariant import Invariant, Violation, first_of, violation_of
from registry_app.queries.provider import build_free_query

_SEEN = (GuardStep.Status.VERIFIED, GuardStep.Status.INCOMPLETE)


def find_unjournaled_changes() -> Violation | None:
    """I5. Whatever the guard sent is in a step with its exact body, under an epoch, stored before."""
    whole = GuardStep.objects.filter(Q(change_set="") | Q(body_digest="") | Q(epoch=0))
    late = GuardStep.objects.filter(answered_at__lt=F("stored_at"))
    return first_of(
        violation_of(whole, "A guard's step does not hold what was sent, or under which lease."),
        violation_of(late, "A guard's step was stored after its response came."),
    )


def find_unread_changes() -> Violation | None:
    """I6. Done means: read back."""
    steps = GuardStep.objects.filter(status__in=_SEEN, read_back_at__isnull=True)
    return violation_of(steps, "A guard's step has an outcome and was never read back.")


def find_abandoned_changes() -> Violation | None:
    """I7. What the guard sent is read back, at the latest by a worker."""
    now = fetch_now()
    left = GuardStep.objects.filter(
        build_free_query(now, "provider__"),
        status__in=(StepStatus.STORED, *UNSETTLED),
        stored_at__lt=now - 2 * settings.DNSADMIN_LEASE,
        provider__deleted_at__isnull=True,
    )
    return violation_of(left, "A guard's step is open and nobody read it back. Is the scheduler running?")


GUARD_INVARIANTS = (
    Invariant("I5", "every change set of the guard is journaled before it is sent", find_unjournaled_changes),
    Invariant("I6", "no step of the guard is done without a read-back", find_unread_changes),
    Invariant("I7", "every unfinished step of the guard is picked up", find_abandoned_changes),
)
