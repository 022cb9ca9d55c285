"""One sync of one provider: fetch, decode, compare, check plausibility, store or hold."""

import os
import socket
import threading
import time
import uuid
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import structlog

from providers.client.provider_client import RecordsAnswer
from providers.http.errors import ProviderError
from providers.registries.stored_claim import StoreContents
from providers.wire.errors import WireError
from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost, SecretUnavailable
from registry_app.mirror.baseline import thresholds_of
from registry_app.mirror.body_digest import compute_body_digest
from registry_app.mirror.changed_part import WholeReadingNeeded
from registry_app.mirror.client import build_client
from registry_app.mirror.domain_filter import NegotiatedFilter, fetch_domain_filter, is_negotiation_due
from registry_app.mirror.open_stores import StoreAnswer, fetch_answers, open_stores
from registry_app.mirror.reading import Reading, compute_accepted_digest, fetch_reading
from registry_app.mirror.snapshot import Snapshot, compute_response_digest, decode_answer
from registry_app.mirror.snapshot_facts import gather_facts
from registry_app.models import Provider, SyncRun
from registry_app.models.provider import MEBIBYTE
from registry_app.queries.provider import last_snapshot
from registry_app.reconcile.check_partial_syncs import (
    PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE,
    find_disagreements,
    note_disagreements,
)
from registry_app.reconcile.check_plausibility import (
    compute_snapshot_fingerprint,
    find_reasons_to_hold,
    is_still_held,
    known_filter_of,
)
from registry_app.reconcile.failure import mark_lost, store_failure
from registry_app.reconcile.first_sync import store_first_response
from registry_app.reconcile.held_snapshot import note_still_held, store_held
from registry_app.reconcile.lease import Lease, release_lease, renew_lease, take_lease
from registry_app.reconcile.note_sync import note_sync
from registry_app.reconcile.read_changes import Changes, find_changes, read_changes
from registry_app.reconcile.rows.comparison import compare_with_mirror
from registry_app.reconcile.store_findings import has_passing_findings
from registry_app.reconcile.store_snapshot import note_unchanged, store_snapshot
from registry_app.reconcile.sync_context import SyncContext, SyncResult, fetch_own_writes
from registry_app.reconcile.sync_run import begin_run, begin_scheduled_run

_Why = SyncRun.WholeReading
_logger = structlog.get_logger(__name__)


def sync_provider(provider_id: int, *, actor: Actor, trigger: str) -> SyncRun | None:
    """Sync once. None if another worker has the lease, or if the schedule triggered it and the provider is
    not due any more (another task was first, its sync is off, or it asked for a later try). One that the
    schedule triggered and that found nothing new may be counted in an earlier row: it has no primary key.

    An error of the provider or the connection ends in a failed run, not in an exception. An unexpected
    error also fails the run, and is raised again for the log.
    """
    lease = take_lease(provider_id, name_holder())
    if lease is None:
        return None
    try:
        # With its secrets, in one statement: the client is built from them.
        provider = Provider.objects.defer(None).get(pk=provider_id)
        if trigger == SyncRun.Trigger.SCHEDULE:
            run = begin_scheduled_run(lease, provider)
        else:
            run = begin_run(lease, provider, trigger, actor.name, lease.taken_at)
        return None if run is None else _sync_in_a_run(lease, provider, run)
    finally:
        release_lease(lease)


def sync_under_lease(
    lease: Lease,
    provider: Provider,
    *,
    trigger: str,
    transfer_id: int | None = None,
    requested_by: str = "",
    answer: RecordsAnswer | None = None,
) -> SyncRun:
    """Sync under a lease that the caller has and keeps. With `answer`, which the caller just read under this
    lease, the records are not read again.

    A lease lost on the way ends in an abandoned run that stored nothing. `provider` is read again.
    """
    provider.refresh_from_db()
    requested_by = requested_by or (f"transfer #{transfer_id}" if transfer_id else "")
    run = begin_run(lease, provider, trigger, requested_by, fetch_now())
    return _sync_in_a_run(lease, provider, run, answer)


def name_holder() -> str:
    """A name for one holder of a lease: where it runs, and which of the runs there it is."""
    where = f"{socket.gethostname()[:100]}:{os.getpid()}:{threading.get_ident()}"
    return f"{where}:{uuid.uuid4().hex[:8]}"


def _sync_in_a_run(
    lease: Lease, provider: Provider, run: SyncRun, answer: RecordsAnswer | None = None
) -> SyncRun:
    began = time.monotonic()
    try:
        return _sync(lease, provider, run, answer)
    except LeaseLost as error:
        return mark_lost(run, error, fetch_now())
    except (ProviderError, WireError, SecretUnavailable) as error:
        return _fail(lease, provider, run, error)
    except Exception as error:
        # The one place for it: whatever is wrong with one sync must not stop the others (I17).
        _fail(lease, provider, run, error)
        raise
    finally:
        note_sync(provider, run, time.monotonic() - began)


def _sync(lease: Lease, provider: Provider, run: SyncRun, answer: RecordsAnswer | None) -> SyncRun:
    # A held provider may fail in between: what was held then still waits.
    held = last_snapshot(provider.pk) if provider.status != Provider.Status.OK else None
    reading = fetch_reading(provider)
    known_filter = known_filter_of(provider, held)
    fetched = _fetch(lease, provider, known_filter, reading, run.started_at, answer)
    run.fetch_milliseconds, run.body_bytes = int(fetched.answer.seconds * 1000), fetched.size
    run.body_digest = fetched.digest
    crash_point("sync.fetched")
    context = SyncContext(lease, provider, run, reading, held, {})
    now = fetch_now()
    found: Changes | SyncRun.WholeReading
    try:
        _raise_if_all_is_compared(context, fetched, known_filter, now)
        if _is_unchanged(context, fetched):
            return note_unchanged(context, fetched.domain_filter, now)
        found = find_changes(context, fetched.answer, fetched.digest)
        if found.is_only_reordered:
            return note_unchanged(context, fetched.domain_filter, now)
    except WholeReadingNeeded as needed:
        found = needed.why
    fingerprint = compute_snapshot_fingerprint(fetched.digest, reading.digest, fetched.domain_filter)
    if held is not None and is_still_held(held, fingerprint):
        return note_still_held(context, held)
    return _sync_changed(fetch_own_writes(context), fetched, known_filter, fingerprint, found)


def _sync_changed(
    context: SyncContext,
    fetched: "FetchResult",
    known_filter: NegotiatedFilter | None,
    fingerprint: str,
    found: Changes | SyncRun.WholeReading,
) -> SyncRun:
    """Read what changed, or all of it: `found` is what changed, or why that does not tell."""
    # Reading and comparing a MiB takes about a tenth of a second; ten times that is allowed for.
    seconds = (fetched.size + fetched.stored_size) / MEBIBYTE
    renew_lease(context.lease, seconds=seconds)
    part = None
    if isinstance(found, Changes):
        try:
            part = read_changes(context, found, fetched.domain_filter, known_filter)
            _raise_if_checked(context, found, part)
            return store_snapshot(context, part)
        except WholeReadingNeeded as needed:
            found = needed.why
        renew_lease(context.lease, seconds=seconds)
    context.run.whole_reading = found
    _logger.info("sync.read_whole", provider=context.provider.name, why=found.value)
    if found is _Why.FIRST:
        run = store_first_response(context, fetched.answer, fetched.digest, fetched.domain_filter)
        if run is not None:
            return run
    return _sync_whole(context, fetched, known_filter, fingerprint, part)


def _raise_if_all_is_compared(
    context: SyncContext, fetched: "FetchResult", known_filter: NegotiatedFilter | None, now: datetime
) -> None:
    """Raise WholeReadingNeeded where also a response that is the same says something new."""
    if not fetched.is_filter_as(known_filter):
        raise WholeReadingNeeded(_Why.DOMAIN_FILTER)
    if has_passing_findings(context.provider.pk, now):
        raise WholeReadingNeeded(_Why.PASSING_FINDINGS)


def _raise_if_checked(context: SyncContext, changes: Changes, part: SyncResult) -> None:
    """Raise WholeReadingNeeded where a part does tell, and the whole must agree."""
    if changes.index.partial_syncs >= PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE:
        raise WholeReadingNeeded(_Why.CHECK)
    # What is implausible is read as a whole before it is held.
    if find_reasons_to_hold(context, part):
        raise WholeReadingNeeded(_Why.IMPLAUSIBLE)


def _sync_whole(
    context: SyncContext,
    fetched: "FetchResult",
    known_filter: NegotiatedFilter | None,
    fingerprint: str,
    part: SyncResult | None,
) -> SyncRun:
    """Read all of it. `part` is the result of reading what changed alone, which must be the same."""
    provider = context.provider
    snapshot = fetched.decode(context.reading, provider.max_items)
    renew_lease(context.lease, seconds=(fetched.size + fetched.stored_size) / MEBIBYTE)
    plan = compare_with_mirror(
        provider.pk, snapshot, context.transfers, context.deleted.keys, thresholds=thresholds_of(provider)
    )
    renew_lease(context.lease)
    result = SyncResult(snapshot, plan, fetched.domain_filter, known_filter, gather_facts(snapshot))
    reasons = find_reasons_to_hold(context, result)
    if reasons:
        return store_held(context, result, reasons, fingerprint)
    if part is not None:
        note_disagreements(provider, find_disagreements(part, result))
    return store_snapshot(context, result)


@dataclass(frozen=True)
class FetchResult:
    """The responses of a provider and of its registry stores, not decoded yet."""

    domain_filter: NegotiatedFilter | None
    answer: RecordsAnswer
    stores: tuple[StoreAnswer, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The digest of all that was fetched, in hexadecimal."""
        return compute_response_digest(compute_body_digest(self.answer.body), self.stores)

    @property
    def size(self) -> int:
        """The bytes of the body."""
        return len(self.answer.body)

    @cached_property
    def contents(self) -> tuple[StoreContents, ...]:
        """The claims of the registry stores. Raises RegistryUnreadable."""
        return tuple(store.read() for store in self.stores)

    @property
    def stored_size(self) -> int:
        """About how many bytes the claims of registry stores would take in a body."""
        return sum(len(claim.text) + len(claim.key.name) for each in self.contents for claim in each.claims)

    def is_filter_as(self, known: NegotiatedFilter | None) -> bool:
        """Whether the filter is the known one, as far as both are known."""
        return known is None or self.domain_filter is None or known.says_the_same(self.domain_filter)

    def decode(self, reading: Reading, max_items: int) -> Snapshot:
        """The snapshot. Raises WireError."""
        return decode_answer(
            self.answer,
            reading.profiles,
            reading.registries,
            self.contents,
            max_items=max_items,
            response_digest=self.digest,
        )


def _fetch(
    lease: Lease,
    provider: Provider,
    known: NegotiatedFilter | None,
    reading: Reading,
    now: datetime,
    answer: RecordsAnswer | None,
) -> FetchResult:
    """Read the provider, unless there is an answer already, and its registry stores. Raises ProviderError,
    SecretUnavailable, LeaseLost."""
    with build_client(provider) as client:
        domain_filter = known
        if is_negotiation_due(provider, known, now):
            domain_filter = fetch_domain_filter(client, now)
            now = fetch_now()
        # A slow answer may take longer than a lease.
        renew_lease(lease, seconds=provider.deadline_seconds, now=now)
        answer = answer or client.records()
        # Only those that the answer is read with; one that was registered just now is read the next time.
        stores = open_stores(provider, client) if reading.registries.are_any else {}
        if stores:
            renew_lease(lease, seconds=provider.deadline_seconds * len(stores))
        return FetchResult(domain_filter, answer, fetch_answers(stores.values()))


def _is_unchanged(context: SyncContext, fetched: FetchResult) -> bool:
    digest = compute_accepted_digest(fetched.digest, fetched.answer.content_type, context.reading)
    return context.provider.accepted_digest == digest


def _fail(lease: Lease, provider: Provider, run: SyncRun, error: Exception) -> SyncRun:
    try:
        return store_failure(lease, provider, run, error)
    except LeaseLost as lost:
        return mark_lost(run, lost, fetch_now())
