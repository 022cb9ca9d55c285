"""The smallest user of the write engine: it sends a change set that comes from outside, as a proxy would."""

from datetime import timedelta

from providers.http.errors import NothingSent, ProviderError
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.clock import fetch_now
from registry_app.errors import LeaseLost
from registry_app.loop.step_changes import changes_of_step
from registry_app.models import LoopRun, LoopStep, Owner, Provider
from registry_app.writes.read_back import is_as_written, read_until
from registry_app.writes.session import WriteSession, leased_provider, open_session
from registry_app.writes.step import resume_steps, send_step, settle_step, store_step


class PassOnSession(WriteSession):
    """It never writes to a registry store."""

    def parse_rows(self, body: bytes) -> list[StoredClaimChange]:
        raise AssertionError("no step of this user goes to a store")


def open_run(provider: Provider, owner: Owner) -> LoopRun:
    """A run for the steps to belong to. It is over, so that no loop takes it up."""
    return LoopRun.objects.create(
        owner=owner,
        provider=provider,
        policy="sync",
        source="a test",
        status=LoopRun.Status.VERIFIED,
        epoch=0,
        started_at=fetch_now(),
    )


def pass_on(run_id: int, body: str) -> None:
    """Store the change set, send it once, and settle it with what the provider shows."""
    run = LoopRun.objects.get(pk=run_id)
    with (
        leased_provider(run.provider_id, "a proxy") as leased,
        open_session(leased, PassOnSession) as session,
    ):
        ordinal = run.steps.count() + 1
        step = store_step(session, body.encode(), lambda: LoopStep(run=run, ordinal=ordinal))
        try:
            send_step(session, step)
            _settle(session, step)
        except (NothingSent, LeaseLost, ProviderError, WireError):
            return  # what may have been sent is settled by `finish`


def finish(run_id: int) -> None:
    """Settle what `pass_on` left behind."""
    run = LoopRun.objects.get(pk=run_id)
    with (
        leased_provider(run.provider_id, "a proxy") as leased,
        open_session(leased, PassOnSession) as session,
    ):
        resume_steps(session, run.steps.all(), lambda step: _settle(session, step))


def _settle(session: PassOnSession, step: LoopStep) -> None:
    changes = changes_of_step(step)

    def is_shown() -> bool:
        shown = decode_records(session.client.records().body, max_items=1_000).endpoints
        live = {endpoint_key(each): each for each in shown}
        return all(is_as_written(live.get(key), change.new) for key, change in changes.items())

    allowed = timedelta(seconds=session.provider.read_back_seconds)
    is_done = read_until(is_shown, bool, allowed=allowed, since=step.answered_at or fetch_now())
    status = LoopStep.Status.VERIFIED if is_done else LoopStep.Status.INCOMPLETE
    settle_step(session, step, status)
