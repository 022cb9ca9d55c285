"""What is true of loops, and what is due of them."""

from datetime import timedelta

from django.db.models import Q, QuerySet

from registry_app.clock import fetch_now
from registry_app.models import Loop, LoopRun, Owner, Provider, Transfer, TransferItem
from registry_app.queries.provider import build_free_query

_MOST_DUE = 500
_LONGEST_WAIT = timedelta(days=2)


def due_loops() -> list[int]:
    """Loops whose next run is due, the longest waiting first, and whose provider nobody syncs right now."""
    return list(_due().order_by("next_run_at", "pk").values_list("pk", flat=True)[:_MOST_DUE])


def is_loop_due(loop_id: int) -> bool:
    """Whether it is one of them."""
    return _due().filter(pk=loop_id).exists()


def unfinished_loop_runs() -> list[int]:
    """Runs whose worker is gone: nobody holds their provider, and they have not ended."""
    now = fetch_now()
    is_time = (
        Q(next_attempt_at__isnull=True)
        | Q(next_attempt_at__lte=now)
        | Q(next_attempt_at__gt=now + _LONGEST_WAIT)
    )
    left = LoopRun.objects.filter(is_time, _is_provider_free(), status=LoopRun.Status.RUNNING)
    return list(left.order_by("pk").values_list("pk", flat=True)[:_MOST_DUE])


def names_held_by_transfers(provider_id: int) -> frozenset[str]:
    """The names that transfers hold that are not over."""
    held = TransferItem.objects.filter(
        transfer__provider_id=provider_id,
        transfer__status__in=Transfer.OPEN_STATUSES,
        lock_key__isnull=False,
    )
    return frozenset(held.order_by().values_list("name", flat=True))


def is_first_contact(owner: Owner, provider: Provider) -> bool:
    """Whether nobody ever said that dnsadmin runs this owner here: no loop, and no run that made anything."""
    runs = LoopRun.objects.filter(owner=owner, provider=provider, created__gt=0)
    return not (Loop.objects.filter(owner=owner, provider=provider).exists() or runs.exists())


def _due() -> "QuerySet[Loop]":
    now = fetch_now()
    # One that waits for longer than any does was put off by a clock that was wrong.
    is_time = Q(next_run_at__isnull=True) | Q(next_run_at__lte=now) | Q(next_run_at__gt=now + _LONGEST_WAIT)
    return Loop.objects.filter(is_time, _is_provider_free(), is_enabled=True, provider__is_enabled=True)


def _is_provider_free() -> Q:
    return build_free_query(fetch_now(), "provider__")
