"""Plan, request, show, approve, reject, cancel, apply, resume and undo transfers."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named, find_provider
from registry_app.management.transfer import (
    add_subcommands,
    build_plan_report,
    build_request,
    build_transfer_report,
    describe_next_step,
    describe_plan,
    describe_transfer,
)
from registry_app.models import Transfer
from registry_app.queries.transfer import due_transfers
from registry_app.queries.transfer_items import providers_with_late_arrivals
from registry_app.transfer.decisions import approve_transfer, cancel_transfer, reject_transfer
from registry_app.transfer.periodic_checks import reopen_if_applied_late
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.transfer_request import TransferRequest
from registry_app.transfer.request_transfer import UndoRequest, preview_undo, request_transfer, request_undo
from registry_app.transfer.send.run_transfer import run_transfer
from registry_app.transfer.transfer_row import find_transfer

_Status = Transfer.Status
_GOOD_ENDS = (_Status.VERIFIED, _Status.ROLLED_BACK)
_MOST_NAMES_BYTES = 10 * 1024 * 1024


class Command(DnsadminCommand):
    help = (
        "Transfers, as the web admin and the API have them. Exit code: 0 done, 1 error (or a transfer that "
        "failed), 2 a plan that would change something (or a transfer still under way), 3 refused by a "
        "safety rule."
    )

    options_of_names: ClassVar = {
        "target_owner_id": "--to",
        "selection": "--owner, --name, --name-suffix, --record-set or --claim",
        "record_set_ids": "--record-set",
        "claim_ids": "--claim",
        "names": "--name",
        "target_intent": "--intent",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_subcommands(parser)

    def _plan(self, options: dict[str, Any]) -> ExitCode:
        return self._report_plans(
            options, preview_transfer(actor_named(options["person"]), _read_request(options))
        )

    def _report_plans(self, options: dict[str, Any], plans: Sequence[ProviderPlan]) -> ExitCode:
        document = {"plans": [build_plan_report(plan) for plan in plans]}
        self.report(options, document, (line for plan in plans for line in describe_plan(plan)))
        if any(plan.refusals for plan in plans):
            return ExitCode.REFUSED
        return ExitCode.CHANGES if any(plan.included for plan in plans) else ExitCode.OK

    def _request(self, options: dict[str, Any]) -> ExitCode:
        transfers = request_transfer(actor_named(options["person"]), _read_request(options))
        return self._report_requested(options, transfers)

    def _report_requested(self, options: dict[str, Any], transfers: list[Transfer]) -> ExitCode:
        """What was stored and, for people, how to continue with what waits for an approval."""
        steps = [line for transfer in transfers for line in describe_next_step(transfer)]
        return self._report(options, transfers, more=steps)

    def _show(self, options: dict[str, Any]) -> ExitCode:
        transfer = find_transfer(options["transfer"])
        self._report(options, [transfer], with_items=True)
        return compute_exit_code([transfer])

    def _approve(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, partial(approve_transfer, side=options["side"]), "fingerprint")

    def _reject(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, reject_transfer, "reason")

    def _cancel(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, cancel_transfer, "reason")

    def _act(self, options: dict[str, Any], act: Callable[..., Transfer], option: str) -> ExitCode:
        actor, transfer = actor_named(options["person"]), find_transfer(options["transfer"])
        return self._report(options, [act(actor, transfer.public_id, **{option: options[option]})])

    def _undo(self, options: dict[str, Any]) -> ExitCode:
        actor, transfer = actor_named(options["person"]), find_transfer(options["transfer"])
        intent = options["intent"]
        if options["plan"]:
            return self._report_plans(
                options, [preview_undo(actor, transfer.public_id, target_intent=intent)]
            )
        asked = UndoRequest(options["reason"], options["confirm"], options["fingerprint"], intent)
        return self._report_requested(options, [request_undo(actor, transfer.public_id, asked)])

    def _apply(self, options: dict[str, Any]) -> ExitCode:
        transfer = find_transfer(options["transfer"])
        run_transfer(transfer.pk)
        transfer = find_transfer(options["transfer"])
        self._report(options, [transfer])
        return compute_exit_code([transfer])

    def _resume(self, options: dict[str, Any]) -> ExitCode:
        named = [find_transfer(text).pk for text in options["transfers"]]
        if not named:
            for provider_id in providers_with_late_arrivals(fetch_now()):
                reopen_if_applied_late(provider_id)
        pks = named or due_transfers()
        for number, pk in enumerate(pks, start=1):
            self.show_progress(f"{number} of {len(pks)}")
            run_transfer(pk)
        rows = {row.pk: row for row in Transfer.objects.select_related("provider").filter(pk__in=pks)}
        transfers = [rows[pk] for pk in pks if pk in rows]
        self._report(options, transfers)
        return compute_exit_code(transfers)

    def _report(
        self,
        options: dict[str, Any],
        transfers: list[Transfer],
        *,
        with_items: bool = False,
        more: Sequence[str] = (),
    ) -> ExitCode:
        reports = [build_transfer_report(transfer, with_items=with_items) for transfer in transfers]
        lines = [line for each in transfers for line in describe_transfer(each, with_items=with_items)]
        self.report(options, {"transfers": reports}, [*lines, *more])
        return ExitCode.OK


def compute_exit_code(transfers: list[Transfer]) -> ExitCode:
    """OK: all ended well. An unfinished one is under way; any other end is an error."""
    statuses = {transfer.status for transfer in transfers}
    unfinished = {_Status.REQUESTED, _Status.APPROVED, _Status.SENDING, _Status.SENT}
    if statuses - unfinished - set(_GOOD_ENDS):
        return ExitCode.ERROR
    return ExitCode.CHANGES if statuses & unfinished else ExitCode.OK


def _read_request(options: dict[str, Any]) -> TransferRequest:
    provider = find_provider(options["provider"]) if options["provider"] else None
    names = [*options["name"], *_read_names(options["names_from"])]
    return build_request(options, names, None if provider is None else provider.pk)


def _read_names(source: str | None) -> list[str]:
    if source is None:
        return []
    try:
        if source == "-":
            text = sys.stdin.read(_MOST_NAMES_BYTES)
        else:
            with Path(source).open(encoding="utf-8") as file:
                text = file.read(_MOST_NAMES_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The names cannot be read from {source}: {type(error).__name__}.") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
