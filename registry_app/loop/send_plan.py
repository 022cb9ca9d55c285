"""Apply a plan: batch after batch, each stored, sent once and read back before the next is built."""

from collections.abc import Iterable
from itertools import zip_longest

from providers.wire.endpoint import EndpointKey
from registry_app.loop.batches import cut_into_batches, list_keys, select_changes
from registry_app.loop.plan_loop import LoopPlan, keep_names, plan_again
from registry_app.loop.refusals import find_stop_refusals
from registry_app.loop.send_batch import send_batch
from registry_app.loop.session import LoopSession
from registry_app.models import LoopRun
from registry_app.writes.pace import Pace


def send_plan(session: LoopSession, run: LoopRun, plan: LoopPlan) -> str:
    """Everything the plan changes, and nothing else, as far as it goes. The reason to stop early, or "".

    After each batch the provider is read, and the next one is planned again from that. Raises NothingSent,
    ProviderError, WireError, LeaseLost: what was begun is then found and finished by looking.
    """
    batches = cut_into_batches(list_keys(plan.changes), session.provider.effective_batch_size)
    # What is wanted elsewhere stands already, or is left alone: it need not be looked through each time.
    plan = keep_names(plan, _names_of(list_keys(plan.changes)))
    pace = Pace(session)
    for batch, next_batch in zip_longest(batches, batches[1:], fillvalue=()):
        next_names = _names_of(next_batch)
        chosen = select_changes(plan.changes, batch)
        found = None
        if not chosen.is_empty():
            stop = _find_reason_to_stop(session, pace)
            if stop:
                return stop
            found = send_batch(session, run, plan, chosen, _names_of(batch) | next_names)
        if found is not None:
            pace.note_batch(has_changed=any(item.outcome == "verified" for item in found[1]))
        if next_names:
            snapshot = found[0] if found else session.read(next_names)
            plan = plan_again(session, plan, snapshot, next_names)
    return ""


def _names_of(keys: Iterable[EndpointKey]) -> frozenset[str]:
    return frozenset(key.name for key in keys)


def _find_reason_to_stop(session: LoopSession, pace: Pace) -> str:
    for refusal in find_stop_refusals(session.provider):
        return str(refusal)
    if pace.is_over_time():
        return "It reached the longest time of a run. The next run continues."
    return pace.describe_failures()
