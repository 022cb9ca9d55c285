"""The only module that imports Celery. Rows say what there is to do; a task only starts it. A task that is
delivered twice, late or never changes nothing in the end. Arguments are ids only.
"""

from celery import shared_task

from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.guard import session as guarding
from registry_app.guard.left_intents import settle_left_intents
from registry_app.guard.purge import purge_guard
from registry_app.hand_over import advance_hand_over as handing_over
from registry_app.inventory.approval_change import apply_due_looser_approvals
from registry_app.inventory.scheduled_export import export_due_registries
from registry_app.loop import finish_run as finishing
from registry_app.loop import run_loop as looping
from registry_app.loop.loop_run import purge_loop_runs
from registry_app.models import SyncRun
from registry_app.queries.audit_entry import store_checkpoint
from registry_app.queries.guard_endpoint import list_providers_with_steps_left
from registry_app.queries.hand_over import due_hand_overs
from registry_app.queries.invariants import check_quick_invariants
from registry_app.queries.loop import due_loops, unfinished_loop_runs
from registry_app.queries.provider import find_due
from registry_app.queries.registry_profile import due_resyncs
from registry_app.queries.transfer import due_transfers
from registry_app.queries.transfer_items import providers_with_late_arrivals
from registry_app.reconcile import clock_check
from registry_app.reconcile import note_instances as noting
from registry_app.reconcile import search_index as searching
from registry_app.reconcile.contention import check as contending
from registry_app.reconcile.purge_history import purge_deleted_providers, purge_history
from registry_app.reconcile.sweep import mark_abandoned_runs, note_duplicate_providers, note_silent_providers
from registry_app.reconcile.sync import sync_provider
from registry_app.restore import note_restore as restoring
from registry_app.resync import resync_registry as resyncing
from registry_app.transfer import periodic_checks
from registry_app.transfer.send import run_transfer as running

# A task that no worker began by then is enqueued again by a later tick.
TASK_EXPIRES_SECONDS = 60


@shared_task
def tick() -> None:
    """Every few seconds: find what is due and enqueue a task for each. It does nothing else, so that no work
    can keep other work from being enqueued."""
    # What people wait for comes first: workers take tasks in order, and a task behind hundreds of syncs could
    # expire at each tick before one comes to it. Loops come last: they judge a response by the mirror, and a
    # sync that is due as well makes that new.
    for transfer_id in due_transfers():
        run_transfer.apply_async((transfer_id,), expires=TASK_EXPIRES_SECONDS)
    for run_id in unfinished_loop_runs():
        finish_loop_run.apply_async((run_id,), expires=TASK_EXPIRES_SECONDS)
    for provider_id in find_due(fetch_now()):
        run_sync.apply_async((provider_id,), expires=TASK_EXPIRES_SECONDS)
    for provider_id in providers_with_late_arrivals(fetch_now()):
        reopen_if_applied_late.apply_async((provider_id,), expires=TASK_EXPIRES_SECONDS)
    for profile_id in due_resyncs():
        resync_registry.apply_async((profile_id,), expires=TASK_EXPIRES_SECONDS)
    for hand_over_id in due_hand_overs():
        advance_hand_over.apply_async((hand_over_id,), expires=TASK_EXPIRES_SECONDS)
    for loop_id in due_loops():
        run_loop.apply_async((loop_id,), expires=TASK_EXPIRES_SECONDS)
    if searching.is_behind():
        index_record_sets.apply_async(expires=TASK_EXPIRES_SECONDS)


@shared_task
def sweep() -> None:
    """Now and then: see whether the database was restored, end the syncs of workers that died, say which
    providers nobody syncs, which are registered twice and which transfers nobody finishes, let approval
    policies hold whose time has come, finish what a guard left, and compare what instances want with what is
    owned."""
    clock_check.note_clock()
    restoring.note_restore_if_any()
    mark_abandoned_runs()
    note_silent_providers()
    note_duplicate_providers()
    periodic_checks.note_unfinished_transfers()
    apply_due_looser_approvals()
    for provider_id in list_providers_with_steps_left(fetch_now()):
        finish_guard_steps.apply_async((provider_id,), expires=TASK_EXPIRES_SECONDS)
    for provider_id in contending.list_providers_to_check():
        check_contention.apply_async((provider_id,), expires=TASK_EXPIRES_SECONDS)


@shared_task
def expire_transfers() -> None:
    """Now and then: end the transfers that nobody approved in time."""
    periodic_checks.expire_transfers()


@shared_task
def run_sync(provider_id: int) -> None:
    """Sync one provider, if its lease is to be had."""
    if clock_check.note_clock():
        sync_provider(provider_id, actor=SYSTEM, trigger=SyncRun.Trigger.SCHEDULE)


@shared_task
def run_transfer(transfer_id: int) -> None:
    """Bring one transfer as far as it goes, if its provider's lease is to be had."""
    if clock_check.note_clock():
        running.run_transfer(transfer_id)


@shared_task
def advance_hand_over(hand_over_id: int) -> None:
    """Bring one hand-over as far as it goes now."""
    if clock_check.note_clock():
        handing_over.advance_hand_over(hand_over_id)


@shared_task
def reopen_if_applied_late(provider_id: int) -> None:
    """Look whether anything of the failed transfers of one provider arrived late."""
    periodic_checks.reopen_if_applied_late(provider_id)


@shared_task
def resync_registry(profile_id: int) -> None:
    """Hold one ConfigMap registry against its provider, if that is due and the lease is to be had."""
    if clock_check.note_clock():
        resyncing.resync_registry(profile_id)


@shared_task
def run_loop(loop_id: int) -> None:
    """Run one loop once, if it is due and its provider's lease is to be had."""
    if clock_check.note_clock():
        looping.run_loop(loop_id)


@shared_task
def finish_loop_run(run_id: int) -> None:
    """Look what became of a run whose worker is gone, and end it."""
    if clock_check.note_clock():
        finishing.finish_loop_run(run_id)


@shared_task
def finish_guard_steps(provider_id: int) -> None:
    """Look what became of the change sets of a guard that stopped."""
    if clock_check.note_clock():
        guarding.finish_guard_steps(provider_id)


@shared_task
def check_contention(provider_id: int) -> None:
    """Compute the contention of one provider again, if anything it rests on changed, and note what is wrong
    with the instances behind the guard there."""
    contending.check_contention(provider_id)
    noting.note_instances(provider_id)


@shared_task
def index_record_sets() -> None:
    """Bring the index of searches up to date, where the database does not do it by itself."""
    searching.index_waiting()


@shared_task
def checkpoint_audit() -> None:
    """Once an hour: write the end of the audit trail to a file outside the database."""
    store_checkpoint()


@shared_task
def check_invariants() -> None:
    """Once an hour: check what must always be true, as far as rows show it."""
    check_quick_invariants()


@shared_task
def export_registries() -> None:
    """Look every ten minutes whether claims in the database are to be written to files."""
    export_due_registries()


@shared_task
def purge() -> None:
    """Once an hour: delete what is older than the retention settings say."""
    purge_history()
    purge_loop_runs()
    purge_guard()
    settle_left_intents()


@shared_task
def purge_deleted() -> None:
    """Now and then: delete the mirror of providers that were deleted."""
    purge_deleted_providers()
