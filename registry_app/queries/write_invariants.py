"""I5, I6, I7, I8 and I10, as far as the rows of transfers and loop runs show them."""

from datetime import timedelta
from itertools import product
from typing import Any

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from registry_app.clock import fetch_now
from registry_app.models import (
    Finding,
    HandOver,
    LoopRun,
    LoopStep,
    Provider,
    Transfer,
    TransferItem,
    TransferStep,
)
from registry_app.queries.invariant import Invariant, Violation, first_of, violation_of

_UNFINISHED_FOR = timedelta(minutes=15)
_AFTER_APPROVAL = (
    Transfer.Status.APPROVED,
    Transfer.Status.SENDING,
    Transfer.Status.SENT,
    Transfer.Status.VERIFIED,
)
_AT_WORK = (Transfer.Status.SENDING, Transfer.Status.SENT)
_SEEN = (LoopStep.Status.VERIFIED, LoopStep.Status.INCOMPLETE)
_UNSETTLED = (
    LoopStep.Status.STORED,
    LoopStep.Status.SENDING,
    LoopStep.Status.ANSWERED,
    LoopStep.Status.UNKNOWN,
)


def find_unjournaled_writes() -> Violation | None:
    """I5. Whatever was sent is in a step with its exact body, under an epoch, stored before."""
    whole = TransferStep.objects.filter(Q(change_set="") | Q(body_digest="") | Q(epoch=0))
    late = TransferStep.objects.filter(answered_at__lt=F("stored_at"))
    has_step = Exists(TransferStep.objects.filter(transfer=OuterRef("transfer"), batch=OuterRef("batch")))
    # An item may be verified without a write only where before and after are the same already.
    unwritten = TransferItem.objects.filter(
        ~has_step, ~Q(before=F("after")), status=TransferItem.Status.VERIFIED
    )
    return first_of(
        violation_of(whole, "A step does not hold what was sent, or under which lease."),
        violation_of(late, "A step was stored after its response came."),
        violation_of(unwritten, "A record set was verified, and no step holds what was written."),
    )


def find_unread_successes() -> Violation | None:
    """I6. Done means: read back."""
    steps = TransferStep.objects.filter(status=TransferStep.Status.VERIFIED).filter(
        Q(read_back__isnull=True) | Q(read_back_at__isnull=True)
    )
    open_items = TransferItem.objects.filter(transfer__status=Transfer.Status.VERIFIED).exclude(
        status=TransferItem.Status.VERIFIED
    )
    return first_of(
        violation_of(steps, "A step is verified without a read-back."),
        violation_of(open_items, "A transfer is verified, and one of its record sets is not."),
    )


def find_stuck_transfers() -> Violation | None:
    """I7. Work in progress has a live lease, is picked up within two lease times, or has a finding."""
    now = fetch_now()
    live = Provider.objects.filter(lease_until__gt=now)
    left = Transfer.objects.filter(
        status__in=_AT_WORK, updated_at__lt=now - 2 * settings.DNSADMIN_LEASE
    ).exclude(provider__in=live)
    has_finding = Exists(
        Finding.objects.filter(provider=OuterRef("provider"), kind=Finding.Kind.TRANSFER_STUCK).exclude(
            state=Finding.State.RESOLVED
        )
    )
    silent = Transfer.objects.filter(
        ~has_finding,
        status__in=(*_AT_WORK, Transfer.Status.NEEDS_OPERATOR),
        started_at__lt=now - _UNFINISHED_FOR,
        updated_at__lt=now - _UNFINISHED_FOR,
    )
    return first_of(
        violation_of(left, "A transfer is open and no worker works on it. Is the scheduler running?"),
        violation_of(silent, "A transfer is unfinished for 15 minutes and has no finding."),
    )


def find_unapproved_writes() -> Violation | None:
    """I8. Nothing is sent but what was approved, by somebody who may, in time."""
    other_plan = Transfer.objects.filter(status__in=_AFTER_APPROVAL).exclude(
        approved_fingerprint=F("plan_fingerprint")
    )
    own = Transfer.objects.filter(
        approval_policy=Provider.ApprovalPolicy.OTHER_PERSON, approved_by=F("requested_by")
    )
    one_sided = [_find_without_both_sides(model) for model in (Transfer, HandOver)]
    late = Transfer.objects.filter(approved_at__gt=F("expires_at"))
    has_step = Exists(TransferStep.objects.filter(transfer=OuterRef("pk")))
    never_approved = Transfer.objects.filter(has_step, approved_at__isnull=True)
    return first_of(
        violation_of(other_plan, "A transfer runs, or ran, under another plan than the approved one."),
        violation_of(own, "A transfer was approved by the person who requested it."),
        violation_of(one_sided[0], "A transfer runs, or ran, without the consents of two people."),
        violation_of(one_sided[1], "A hand-over runs, or ran, without the consents of two people."),
        violation_of(late, "A transfer was approved after it expired."),
        violation_of(never_approved, "A transfer wrote without an approval."),
    )


def _find_without_both_sides(model: type[Transfer] | type[HandOver]) -> QuerySet[Any]:
    """What was approved where both sides must agree, and not by one person for each of them."""
    approved = model._default_manager.filter(
        approval_policy=Provider.ApprovalPolicy.BOTH_SIDES, approved_at__isnull=False
    )
    first, second = ("consent_by", "consent_by_issuer"), ("approved_by", "approved_by_issuer")
    is_same = Q(consent_side="")
    for one, other in product(first, second):
        is_same |= Q(**{one: F(other)})
    return approved.filter(is_same)


def find_claimless_results() -> Violation | None:
    """I10. Only a release or a clean-up, or the undo of an adoption, leaves a record set without a claim."""
    rows = TransferItem.objects.filter(
        status=TransferItem.Status.VERIFIED,
        after=[],
        transfer__kind__in=(Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT, Transfer.Kind.REFORMAT),
    )
    return violation_of(rows, "A record set lost its last claim in a transfer that gives it one.")


TRANSFER_INVARIANTS = (
    Invariant("I5", "every write is journaled before it is sent", find_unjournaled_writes),
    Invariant("I6", "no step is done without a read-back", find_unread_successes),
    Invariant("I7", "every unfinished transfer is picked up", find_stuck_transfers),
    Invariant("I8", "nothing is sent but what was approved", find_unapproved_writes),
    Invariant("I10", "a transferred record set has a claim", find_claimless_results),
)


def find_unjournaled_runs() -> Violation | None:
    """I5. Whatever a loop sent is in a step with its exact body, under an epoch, stored before."""
    whole = LoopStep.objects.filter(Q(change_set="") | Q(body_digest="") | Q(epoch=0))
    late = LoopStep.objects.filter(answered_at__lt=F("stored_at"))
    has_step = Exists(LoopStep.objects.filter(run=OuterRef("pk")))
    unwritten = LoopRun.objects.filter(~has_step, Q(created__gt=0) | Q(updated__gt=0) | Q(deleted__gt=0))
    return first_of(
        violation_of(whole, "A loop's step does not hold what was sent, or under which lease."),
        violation_of(late, "A loop's step was stored after its response came."),
        violation_of(unwritten, "A loop run changed something, and no step holds what was sent."),
    )


def find_unread_runs() -> Violation | None:
    """I6. Done means: read back."""
    steps = LoopStep.objects.filter(status__in=_SEEN, read_back_at__isnull=True)
    not_done = Exists(LoopStep.objects.filter(run=OuterRef("pk")).exclude(status=LoopStep.Status.VERIFIED))
    runs = LoopRun.objects.filter(not_done, status=LoopRun.Status.VERIFIED)
    open_steps = LoopStep.objects.filter(status__in=_UNSETTLED).exclude(run__status=LoopRun.Status.RUNNING)
    return first_of(
        violation_of(steps, "A loop's step has an outcome and was never read back."),
        violation_of(runs, "A loop run is verified, and one of its steps is not."),
        violation_of(open_steps, "A loop run is over, and one of its steps is not."),
    )


def find_abandoned_runs() -> Violation | None:
    """I7. A run in progress has a live lease, or is picked up again."""
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
