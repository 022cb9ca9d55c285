"""Preview, request, list, show, approve, reject, cancel, pause, resume hand-overs, and begin their waves."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from registry_app.hand_over.decide_hand_over import (
    approve_hand_over,
    cancel_hand_over,
    pause_hand_over,
    reject_hand_over,
    resume_hand_over,
    start_next_wave,
)
from registry_app.hand_over.hand_over_row import find_hand_over
from registry_app.hand_over.request_hand_over import preview_hand_over, request_hand_over
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named, find_provider
from registry_app.management.hand_over import (
    add_subcommands,
    build_plan_report,
    build_report,
    build_request,
    describe_hand_over,
    describe_next_step,
    describe_plan,
)
from registry_app.models import HandOver
from registry_app.queries.hand_over import hand_overs_for_display
from registry_app.queries.hand_over_items import fetch_item_facts, list_items


class Command(DnsadminCommand):
    help = (
        "Hand-overs, as the web admin and the API have them. Exit code: 0 done, 1 error (or a hand-over that "
        "ended otherwise), 2 a preview of names that would move (or a hand-over still under way), 3 refused "
        "by a safety rule."
    )

    options_of_names: ClassVar = {
        "to_owner": "--to",
        "waves": "--waves-by",
        "wave_values": "--wave-value",
        "allowed_verdicts": "--verdict",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_subcommands(parser)

    def run(self, options: dict[str, Any]) -> ExitCode:
        return super().run({**options, "act": options["act"].replace("-", "_")})

    def _preview(self, options: dict[str, Any]) -> ExitCode:
        plan = preview_hand_over(actor_named(options["person"]), build_request(options))
        self.report(options, build_plan_report(plan), describe_plan(plan))
        return ExitCode.CHANGES

    def _request(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["person"])
        row = request_hand_over(actor, build_request(options), fingerprint=options["fingerprint"])
        self.report(options, build_report(row), [*describe_hand_over(row), *describe_next_step(row)])
        return ExitCode.OK

    def _list(self, options: dict[str, Any]) -> ExitCode:
        rows = hand_overs_for_display()
        if options["status"]:
            rows = rows.filter(status=options["status"])
        if options["provider"]:
            rows = rows.filter(provider=find_provider(options["provider"]).pk)
        found = list(rows)
        document = {"hand_overs": [build_report(row) for row in found]}
        self.report(options, document, (line for row in found for line in describe_hand_over(row)))
        return ExitCode.OK

    def _show(self, options: dict[str, Any]) -> ExitCode:
        row = find_hand_over(options["hand_over"])
        items = list_items(
            row, state=options["state"], wave=options["wave"], name_suffix=options["name_suffix"]
        )
        facts = fetch_item_facts(row, items)
        self.report(options, build_report(row, facts), describe_hand_over(row, facts))
        return compute_exit_code(row)

    def _approve(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, partial(approve_hand_over, side=options["side"]), "fingerprint")

    def _reject(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, reject_hand_over, "reason")

    def _cancel(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, cancel_hand_over, "reason")

    def _pause(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, pause_hand_over, "reason")

    def _resume(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, resume_hand_over, "reason")

    def _next_wave(self, options: dict[str, Any]) -> ExitCode:
        return self._act(options, start_next_wave, "reason")

    def _act(self, options: dict[str, Any], act: Callable[..., HandOver], option: str) -> ExitCode:
        actor = actor_named(options["person"])
        row = act(actor, options["hand_over"], **{option: options[option]})
        self.report(options, build_report(row), describe_hand_over(row))
        return ExitCode.OK


def compute_exit_code(row: HandOver) -> ExitCode:
    """OK: all names serve what is wanted. An unfinished one is under way; any other end is an error."""
    if row.status in HandOver.UNFINISHED_STATUSES:
        return ExitCode.CHANGES
    return ExitCode.OK if row.status == HandOver.Status.FINISHED else ExitCode.ERROR
