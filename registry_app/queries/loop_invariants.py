"""I5, I6 and I7, as far as the rows of loop runs show them."""

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q

from registry_app.clock import fetch_now
from registry_app.models import LoopRun, LoopStep, Provider
from registry_app.queries.invariant import Invariant, Violation, first_of, violation_of

_SEEN = (LoopStep.Status.VERIFIED, LoopStep.Status.INCOMPLETE)
_UNSETTLED = (
    LoopStep.Status.STORED,
    LoopStep.Status.SENDING,
    LoopStep.Status.ANSWERED,
    LoopStep.Status.UNKNOWN,
)


def find_unjournaled_runs() -> Violation | None:
    """I5. Whatever a loop sent stands in a step with its exact body, under an epoch, stored before."""
    whole = LoopStep.objects.filter(Q(change_set="") | Q(body_digest="") | Q(epoch=0))
    late = LoopStep.objects.filter(answered_at__lt=F("stored_at"))
    has_step = Exists(LoopStep.objects.filter(run=OuterRef("pk")))
    unwritten = LoopRun.objects.filter(~has_step, Q(created__gt=0) | Q(updated__gt=0) | Q(deleted__gt=0))
    return first_of(
        (
            violation_of(whole, "A loop's step does not hold what was sent, or under which lease."),
            violation_of(late, "A loop's step was stored after its response came."),
            violation_of(unwritten, "A loop run changed something, and no step holds what was sent."),
        )
    )


def find_unread_runs() -> Violation | None:
    """I6. Done means: read back."""
    steps = LoopStep.objects.filter(status__in=_SEEN, read_back_at__isnull=True)
    not_done = Exists(LoopStep.objects.filter(run=OuterRef("pk")).exclude(status=LoopStep.Status.VERIFIED))
    runs = LoopRun.objects.filter(not_done, status=LoopRun.Status.VERIFIED)
    open_steps = LoopStep.objects.filter(status__in=_UNSETTLED).exclude(run__status=LoopRun.Status.RUNNING)
    return first_of(
        (
            violation_of(steps, "A loop's step has an outcome and was never read back."),
            violation_of(runs, "A loop run is verified, and one of its steps is not."),
            violation_of(open_steps, "A loop run is over, and one of its steps is not."),
        )
    )


def find_abandoned_runs() -> Violation | None:
    """I7. A run that is under way has a live lease, or is looked at again."""
    now = fetch_now()
    live = Provider.objects.filter(lease_until__gt=now)
    left = LoopRun.objects.filter(
        Q(next_attempt_at__isnull=True) | Q(next_attempt_at__lt=now - 2 * settings.DNSADMIN_LEASE),
        status=LoopRun.Status.RUNNING,
        started_at__lt=now - 2 * settings.DNSADMIN_LEASE,
    ).exclude(provider__in=live)
    return violation_of(left, "A loop run is open and no worker works on it. Is the scheduler running?")


LOOP_INVARIANTS = (
    Invariant("I5", "every change set of a loop is journaled before it is sent", find_unjournaled_runs),
    Invariant("I6", "no loop run is done without a read-back", find_unread_runs),
    Invariant("I7", "every unfinished loop run is picked up", find_abandoned_runs),
)
