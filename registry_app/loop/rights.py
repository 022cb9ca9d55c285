"""Whether a run changes only what whoever asked for it may change."""

from registry_app.errors import RefusedBySafety
from registry_app.loop.batches import list_keys
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan
from registry_app.loop.send_batch import list_rows_to_tidy
from registry_app.queries.loop_access import find_names_beyond_rights


def find_rights_refusals(request: LoopRequest, plan: LoopPlan) -> list[RefusedBySafety]:
    """One where the plan changes a name to which whoever asked has no right."""
    actor = request.on_behalf_of
    if actor is None:
        return []
    names = {key.name for key in list_keys(plan.changes)}
    names |= {row.record.dns_name for row in list_rows_to_tidy(plan)}
    denied = find_names_beyond_rights(actor, request.provider, request.owner, names)
    if not denied:
        return []
    more = f" and {len(denied) - 1} more" if len(denied) > 1 else ""
    return [
        RefusedBySafety(
            f"{actor.name or 'Nobody'} requested this run and may not change {denied[0]}{more}.",
            now="Nothing was sent.",
            todo="Ask somebody who may change all of it, or wait for the scheduled run.",
            code="not_allowed",
        )
    ]
