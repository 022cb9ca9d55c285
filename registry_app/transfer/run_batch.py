"""One batch: write the claims, read them back, then remove what they replace, and read back again."""

from collections.abc import Sequence

from django.utils import timezone

from providers.http.errors import NothingSent
from providers.registries.errors import RegistryError
from providers.wire.endpoint import Endpoint
from registry_app.models import TransferItem, TransferStep
from registry_app.transfer.change_sets import ChangeBuilder, Moved, changes_in, raise_if_touches_more
from registry_app.transfer.claim_edit import txt_key_of
from registry_app.transfer.item_outcomes import judge_items
from registry_app.transfer.look import look
from registry_app.transfer.review import find_record_difference, key_of, plan_of
from registry_app.transfer.run import Run
from registry_app.transfer.steps import (
    ItemOutcome,
    changes_of_step,
    send_step,
    settle_step,
    store_step,
)
from registry_app.transfer.subjects import TxtKey

_ITEM = TransferItem.Status
_PHASE = TransferStep.Phase


def load_batch(run: Run, number: int) -> list[TransferItem]:
    """The items of a batch that are not over: nothing was sent for them, or their old claim still stands."""
    open_items = run.transfer.items.filter(batch=number, status__in=(_ITEM.PENDING, _ITEM.SENDING))
    return list(open_items.order_by("ordinal"))


def names_of(items: Sequence[TransferItem]) -> set[str]:
    """All names whose endpoints these items are about."""
    names = {item.name for item in items}
    for item in items:
        names.update(txt_key_of(endpoint).name for endpoint in (*item.before, *item.after))
    return names


def run_batch(run: Run, items: Sequence[TransferItem], names: set[str]) -> None:
    """Take a batch as far as it goes; every item ends with a status that the provider showed.

    `run.zone` must hold a reading of `names`. Raises NothingSent, ProviderError, WireError, LeaseLost:
    what was begun is then found and finished by the next run.
    """
    earlier = _load_earlier(run, items)
    to_write = [item for item in items if item.status == _ITEM.PENDING]
    written = [item for item in items if item.status == _ITEM.SENDING]
    written += _run_phase(run, _PHASE.WRITE, to_write, names, earlier)
    to_remove = [item for item in written if plan_of(item, run.transfer.kind).removed]
    _run_phase(run, _PHASE.REMOVE, to_remove, names, earlier)


def _run_phase(
    run: Run,
    phase: str,
    items: Sequence[TransferItem],
    names: set[str],
    earlier: dict[TxtKey, Endpoint],
) -> list[TransferItem]:
    """Store, send and settle one step; the items that stand as wanted in this phase."""
    builder = ChangeBuilder(run.zone, run.profiles, earlier)
    fit, outcomes = _build(run, phase, items, builder)
    run.store_outcomes(outcomes)
    change_set = builder.change_set()
    if change_set.is_empty():
        return _accept_standing(run, phase, fit)
    plans = [plan_of(item, run.transfer.kind) for item in fit]
    raise_if_touches_more(change_set, plans)
    step = store_step(run, phase, fit[0].batch, change_set, fit)
    try:
        send_step(run, step)
    except NothingSent:
        if phase == _PHASE.WRITE:
            run.store_outcomes({item.pk: (_ITEM.PENDING, "") for item in fit})
        raise
    found = look(run, changes_in(change_set), names, since=timezone.now())
    judged = judge_items(fit, run.transfer.kind, phase, found)
    settle_step(run, step, found, judged)
    return [item for item in fit if judged[item.pk][0] in (_ITEM.SENDING, _ITEM.VERIFIED)]


def _build(
    run: Run, phase: str, items: Sequence[TransferItem], builder: ChangeBuilder
) -> tuple[list[TransferItem], dict[int, ItemOutcome]]:
    """The items whose changes could be built, and what becomes of the others: one moved record set never
    holds up the rest of the batch (I17)."""
    fit: list[TransferItem] = []
    outcomes: dict[int, ItemOutcome] = {}
    for item in items:
        plan = plan_of(item, run.transfer.kind)
        try:
            if phase == _PHASE.WRITE:
                _raise_if_record_moved(item, builder)
                builder.add_written(plan)
            else:
                builder.add_removed(plan)
        except (Moved, RegistryError) as problem:
            was_sent = phase == _PHASE.REMOVE and bool(plan.written)
            was_sent = was_sent or any(key in builder.earlier for key in plan.written)
            outcomes[item.pk] = (_ITEM.NEEDS_OPERATOR if was_sent else _ITEM.STALE, str(problem))
        else:
            fit.append(item)
    return fit, outcomes


def _accept_standing(run: Run, phase: str, items: Sequence[TransferItem]) -> list[TransferItem]:
    """Nothing is to be sent: all stands as wanted already, as the last reading shows."""
    outcomes: dict[int, ItemOutcome] = {}
    for item in items:
        outstanding = phase == _PHASE.WRITE and plan_of(item, run.transfer.kind).removed
        outcomes[item.pk] = (_ITEM.SENDING if outstanding else _ITEM.VERIFIED, "")
    run.store_outcomes(outcomes)
    return list(items)


def _raise_if_record_moved(item: TransferItem, builder: ChangeBuilder) -> None:
    if any(key in builder.earlier for key in plan_of(item, "").written):
        return  # sent once already: its claims are what counts now
    difference = find_record_difference(item, builder.zone.endpoints.get(key_of(item)))
    if difference:
        raise Moved(difference)


def _load_earlier(run: Run, items: Sequence[TransferItem]) -> dict[TxtKey, Endpoint]:
    """What this transfer wrote, or may have written, at each TXT name of a batch."""
    if not items:
        return {}
    earlier: dict[TxtKey, Endpoint] = {}
    steps = run.transfer.steps.filter(batch=items[0].batch).exclude(status=TransferStep.Status.NOT_SENT)
    for step in steps.order_by("pk"):
        changes = changes_of_step(step)
        earlier.update({key: change.new for key, change in changes.items() if change.new is not None})
    return earlier
