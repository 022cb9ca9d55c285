"""What a run would do now, without doing it."""

from collections.abc import Iterator
from contextlib import contextmanager

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.errors import DnsadminError, RefusedBySafety
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan, plan_loop
from registry_app.loop.refusals import find_rights_refusals, find_sending_refusals, raise_if_unplannable
from registry_app.loop.session import LoopSession
from registry_app.models import Provider
from registry_app.reconcile.failure import describe_failure
from registry_app.writes.session import leased_provider, open_session


class ProviderTrouble(DnsadminError):
    """The provider did not respond, or its response could not be used."""

    code = "provider_trouble"


@contextmanager
def provider_errors_translated(provider: Provider) -> Iterator[None]:
    """Raise ProviderTrouble for whatever a provider's client or codec raises. Nothing was sent by then."""
    try:
        yield
    except (ProviderError, WireError) as error:
        code, text = describe_failure(error)
        raise ProviderTrouble(
            f"{provider.name}: {text}",
            now="Nothing was planned or sent.",
            todo="Correct the provider, then try again.",
            code=code,
        ) from error


def preview_loop(request: LoopRequest) -> tuple[LoopPlan, list[RefusedBySafety]]:
    """The plan from a fresh reading of the provider under its lease, and why it would not be sent.

    Changes nothing. Raises RefusedBySafety, StateMoved (somebody else has the provider), and
    ProviderTrouble.
    """
    raise_if_unplannable(request)
    with (
        provider_errors_translated(request.provider),
        leased_provider(request.provider.pk, "loop") as leased,
        open_session(leased, LoopSession) as session,
    ):
        plan = plan_loop(session, request)
    return plan, [*find_rights_refusals(request, plan), *find_sending_refusals(request)]
