"""Sync providers now, in this process."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any

import structlog
from django.core.management.base import CommandParser
from django.db import connection

from registry_app.actor import Actor
from registry_app.errors import ClockOff
from registry_app.management.dnsadmin_command import (
    DnsadminCommand,
    ExitCode,
    actor_of_shell,
    find_providers,
    printable,
)
from registry_app.models import Provider, SyncRun
from registry_app.reconcile.sync import sync_provider

_BUSY = "busy"
_BROKEN = "broken"
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ProviderResult:
    """The result of one sync. `status` is the run's, or busy (another worker is there), or broken."""

    provider: str
    status: str
    seen: int = 0
    created: int = 0
    changed: int = 0
    vanished: int = 0
    returned: int = 0
    purged: int = 0
    claims: int = 0
    error_code: str = ""
    error: str = ""

    @property
    def has_changes(self) -> bool:
        return bool(self.created or self.changed or self.vanished or self.returned or self.purged)


class Command(DnsadminCommand):
    help = (
        "Sync providers now, each under its lease. Exit code: 0 nothing changed, 1 a sync failed or "
        "another worker had the lease, 2 something changed, 3 a snapshot was held for review."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("providers", nargs="*", metavar="PROVIDER", help="Name or id.")
        parser.add_argument("--all", action="store_true", help="All providers whose sync is enabled.")
        parser.add_argument("--jobs", type=int, default=4, choices=range(1, 33), metavar="1-32")

    def run(self, options: dict[str, Any]) -> ExitCode:
        providers = find_providers(options["providers"], want_all=options["all"])
        results: list[ProviderResult] = []
        with ThreadPoolExecutor(max_workers=options["jobs"]) as pool:
            actor = actor_of_shell()
            syncs = {pool.submit(_sync, provider, actor): provider for provider in providers}
            for sync in as_completed(syncs):
                results.append(_build_result(syncs[sync], sync))
                self.show_progress(f"{len(results)} of {len(providers)}: {results[-1].provider}")
        results.sort(key=lambda result: result.provider)
        rows = [asdict(result) for result in results]
        # "visits" is the old name.
        self.report(options, {"syncs": rows, "visits": rows}, _describe_results(results))
        return compute_exit_code(results)


def _describe_results(results: list[ProviderResult]) -> Iterator[str]:
    width = max((len(printable(result.provider)) for result in results), default=0)
    for each in results:
        counts = f"{each.seen} seen, {each.created} new, {each.changed} changed, {each.vanished} vanished"
        yield f"{printable(each.provider):{width}}  {each.status:10}  {each.error or counts}"


def _sync(provider: Provider, actor: Actor) -> SyncRun | None:
    try:
        return sync_provider(provider.pk, actor=actor, trigger=SyncRun.Trigger.PERSON)
    finally:
        connection.close()  # this thread's own


def _build_result(provider: Provider, sync: Future[SyncRun | None]) -> ProviderResult:
    """One bad provider never stops the others (I17): its error becomes its line."""
    error = sync.exception()
    if isinstance(error, ClockOff):
        return ProviderResult(provider.name, _BROKEN, error_code=error.code, error=str(error))
    if error is not None:
        _LOG.error("sync.broken", provider=provider.pk, exc_info=error)
        reason = f"The sync failed unexpectedly ({type(error).__name__}); see the log."
        return ProviderResult(provider.name, _BROKEN, error_code="internal_error", error=reason)
    run = sync.result()
    if run is None:
        reason = "Another worker syncs it right now, or a transfer runs there."
        return ProviderResult(provider.name, _BUSY, error_code=_BUSY, error=reason)
    return ProviderResult(
        provider=provider.name,
        status=run.status,
        seen=run.seen,
        created=run.created,
        changed=run.changed,
        vanished=run.vanished,
        returned=run.returned,
        purged=run.purged,
        claims=run.claims,
        error_code=run.error_code,
        error=run.error,
    )


def compute_exit_code(results: list[ProviderResult]) -> ExitCode:
    """The exit code for the worst result."""
    statuses = {result.status for result in results}
    if statuses & {_BUSY, _BROKEN, SyncRun.Status.FAILED, SyncRun.Status.ABANDONED, SyncRun.Status.RUNNING}:
        return ExitCode.ERROR
    if SyncRun.Status.HELD in statuses:
        return ExitCode.REFUSED
    return ExitCode.CHANGES if any(result.has_changes for result in results) else ExitCode.OK
