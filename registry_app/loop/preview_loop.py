"""What a run would do now, without doing it."""

from registry_app.errors import RefusedBySafety
from registry_app.loop.failures import telling_failures
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan, plan_loop
from registry_app.loop.refusals import find_sending_refusals, raise_if_unplannable
from registry_app.loop.rights import find_rights_refusals
from registry_app.loop.session import LoopSession
from registry_app.writes.session import leased_provider, open_session


def preview_loop(request: LoopRequest) -> tuple[LoopPlan, list[RefusedBySafety]]:
    """The plan from a fresh reading of the provider under its lease, and why it would not be sent.

    Changes nothing. Raises RefusedBySafety, StateMoved (somebody else has the provider), and
    ProviderTrouble in the provider's own words.
    """
    raise_if_unplannable(request)
    with (
        telling_failures(request.provider),
        leased_provider(request.provider.pk, "loop") as leased,
        open_session(leased, LoopSession) as session,
    ):
        plan = plan_loop(session, request)
    return plan, [*find_rights_refusals(request, plan), *find_sending_refusals(request)]
