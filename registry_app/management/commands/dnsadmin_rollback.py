"""Give record sets back to the owners they had at a moment."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from registry_app.management.dnsadmin_command import (
    DnsadminCommand,
    ExitCode,
    actor_named,
    add_act,
    find_provider,
    read_moment,
)
from registry_app.management.transfer import (
    build_plan_report,
    build_transfer_report,
    describe_next_step,
    describe_plan,
    describe_transfer,
)
from registry_app.models import Transfer
from registry_app.queries.past_record_set import PastFilter
from registry_app.rollback.plan_rollback import RollbackPlan, RollbackRequest, list_left, plan_rollback
from registry_app.rollback.request_rollback import request_rollback

_MOST_LINES = 50


class Command(DnsadminCommand):
    help = (
        "Roll ownership back to a moment: what changed owner since goes back to the owner it had, by "
        "ordinary transfers, one for each pair of owners. Record sets that came or went since stay as they "
        "are. Exit code: 0 done or nothing to do, 1 error, 2 a plan that would change something, 3 refused "
        "by a safety rule."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        plan = add_act(acts, "plan", "Show what would be given back, and what not.")
        request = add_act(acts, "request", "Request the transfers.")
        for act in (plan, request):
            act.add_argument("moment", help="Such as 2026-11-22T10:00Z.")
            act.add_argument("--provider", required=True, help="Id or name.")
            act.add_argument("--as", dest="person", required=True, metavar="USER", help="Whose rights.")
            act.add_argument("--owner", default="", metavar="ID", help="Only what was or is this owner's.")
            act.add_argument("--name-suffix", default="", help="Only this name and names below it.")
            act.add_argument(
                "--writer", default="", help="Only what this writer changed: see dnsadmin_history."
            )
            act.add_argument(
                "--intent",
                choices=Transfer.TargetIntent.values,
                default=Transfer.TargetIntent.UNKNOWN,
                help="What the former owners want of these record sets, as far as you know.",
            )
        request.add_argument("--reason", required=True)
        request.add_argument("--ticket", default="")
        request.add_argument(
            "--fingerprint",
            default="",
            help="As the plan showed it: refused if the plan changed since. Without it, the transfers wait "
            "for an approval.",
        )
        request.add_argument(
            "--confirm",
            action="append",
            default=[],
            help="A confirmation that the plan asks for; repeatable.",
        )

    def _plan(self, options: dict[str, Any]) -> ExitCode:
        plan = plan_rollback(actor_named(options["person"]), _read_request(options))
        self.report(options, _build(plan), _format(plan))
        if any(part.plan.refusals for part in plan.parts):
            return ExitCode.REFUSED
        return ExitCode.CHANGES if plan.parts else ExitCode.OK

    def _request(self, options: dict[str, Any]) -> ExitCode:
        plan, transfers = request_rollback(actor_named(options["person"]), _read_request(options))
        document = {
            "transfers": [build_transfer_report(transfer) for transfer in transfers],
            "not_rolled_back": list_left(plan),
        }
        lines = [line for each in transfers for line in (*describe_transfer(each), *describe_next_step(each))]
        self.report(options, document, [*lines, *_format_left(plan)])
        return ExitCode.OK


def _read_request(options: dict[str, Any]) -> RollbackRequest:
    return RollbackRequest(
        provider=find_provider(options["provider"]),
        moment=read_moment(options["moment"], "moment"),
        wanted=PastFilter(
            owner_id=options["owner"], name_suffix=options["name_suffix"], writer=options["writer"]
        ),
        target_intent=options["intent"],
        reason=options.get("reason", ""),
        ticket=options.get("ticket", ""),
        confirmations=tuple(options.get("confirm", ())),
        fingerprint=options.get("fingerprint", ""),
    )


def _build(plan: RollbackPlan) -> dict[str, Any]:
    parts = [{**part.way._asdict(), "plan": build_plan_report(part.plan)} for part in plan.parts]
    return {"fingerprint": plan.fingerprint, "parts": parts, "not_rolled_back": list_left(plan)}


def _format(plan: RollbackPlan) -> Iterator[str]:
    for part in plan.parts:
        source, target = part.way.source_owner_id or "nobody", part.way.target_owner_id or "nobody"
        yield f"From {source} back to {target}:"
        yield from (f"  {line}" for line in describe_plan(part.plan))
    yield f"fingerprint {plan.fingerprint}" if plan.parts else "Nothing is given back."
    yield from _format_left(plan)


def _format_left(plan: RollbackPlan) -> Iterator[str]:
    left = list_left(plan)
    if left:
        yield f"{len(left)} stay as they are:"
    for each in left[:_MOST_LINES]:
        yield f"  ! {each['name']} {each['record_type']}: {each['why']}"
    if len(left) > _MOST_LINES:
        yield f"  ... and {len(left) - _MOST_LINES} more: --json has all."
