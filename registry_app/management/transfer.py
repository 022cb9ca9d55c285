"""The command line of `dnsadmin_transfer`, and what it prints: lines for people, JSON values for programs."""

from typing import Any, Final

from django.core.management.base import CommandParser

from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import add_act, find_provider
from registry_app.models import Consented, HandOver, Transfer, TransferItem
from registry_app.queries.approval_policy import needs_both_sides, needs_other_person
from registry_app.queries.consent import describe_side, list_consents, list_missing_sides
from registry_app.queries.transfer import progress
from registry_app.transfer.plan.provider_plan import PlannedItem, ProviderPlan, Refusal
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest

_KINDS = [kind for kind in Transfer.Kind.values if kind != Transfer.Kind.UNDO]
_ID_HELP: Final = "The id that `request` prints, or the number that the web admin shows."
_MOST_LINES = 50


def read_transfer_id(text: str) -> str | int:
    """The id the API uses, or the number the web admin shows: `#12`, or 12."""
    number = text.removeprefix("#")
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 18 else text


def add_subcommands(parser: CommandParser) -> None:
    """One subcommand for each act."""
    acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
    plan = add_act(acts, "plan", "Show what a request would do.")
    _add_person(plan)
    _add_selection(plan)
    _add_request(add_act(acts, "request", "Request it."))
    _add_transfer(add_act(acts, "show", "Show a transfer: state, progress, items."))
    approve = add_act(acts, "approve", "Approve the plan you reviewed.")
    _add_transfer(approve)
    _add_person(approve)
    approve.add_argument("--fingerprint", required=True, help="plan_fingerprint, as `show` has it.")
    add_side(approve)
    for name, text in (("reject", "Reject a request."), ("cancel", "Cancel what was not sent yet.")):
        act = add_act(acts, name, text)
        _add_transfer(act)
        _add_person(act)
        act.add_argument("--reason", required=True)
    _add_undo(add_act(acts, "undo", "Request the undo of a transfer."))
    _add_transfer(add_act(acts, "apply", "Run an approved transfer now, in this process."))
    resume = add_act(acts, "resume", "Continue transfers that were interrupted, by reading the provider.")
    resume.add_argument(
        "transfers", nargs="*", type=read_transfer_id, metavar="ID", help="Default: all that are due."
    )


def add_side(approve: CommandParser) -> None:
    """For whom an approval is, where each side consents by itself."""
    approve.add_argument(
        "--side",
        choices=Consented.Side.values,
        help="Where both sides must agree: for whom you consent. Needed only if you may for both.",
    )


def _add_request(request: CommandParser) -> None:
    _add_person(request)
    _add_selection(request)
    request.add_argument("--reason", required=True)
    request.add_argument("--ticket", default="")
    request.add_argument("--confirm", default="", help="The confirmation that the plan asks for.")
    request.add_argument(
        "--fingerprint",
        action="append",
        default=[],
        metavar="PROVIDER=FINGERPRINT",
        help="As the plan showed it: the request is refused if the plan changed since. Give it once for "
        "each provider. Without it, the request waits for an approval.",
    )


def _add_undo(undo: CommandParser) -> None:
    _add_transfer(undo)
    _add_person(undo)
    undo.add_argument("--plan", action="store_true", help="Show what it would do, and request nothing.")
    undo.add_argument("--reason", default="", help="Required for the request.")
    undo.add_argument("--confirm", default="", help="The confirmation that the plan asks for.")
    undo.add_argument(
        "--fingerprint",
        default="",
        help="As `undo --plan` showed it: the undo is refused if the plan changed since. Without it, the "
        "undo waits for an approval.",
    )
    undo.add_argument(
        "--intent",
        choices=Transfer.TargetIntent.values,
        default=Transfer.TargetIntent.UNKNOWN,
        help="What the former owner wants of these record sets, as far as you know.",
    )


def _add_person(act: CommandParser) -> None:
    act.add_argument(
        "--as", dest="person", required=True, metavar="USER", help="The user whose rights apply."
    )


def _add_transfer(act: CommandParser) -> None:
    act.add_argument("transfer", type=read_transfer_id, metavar="ID", help=_ID_HELP)


def _add_selection(act: CommandParser) -> None:
    act.add_argument("--kind", choices=_KINDS, default=Transfer.Kind.TRANSFER)
    act.add_argument("--to", default="", metavar="OWNER_ID", help="The owner it goes to.")
    act.add_argument("--owner", default="", metavar="OWNER_ID", help="Everything of this owner.")
    act.add_argument("--name", action="append", default=[], help="Any spelling; may be repeated.")
    act.add_argument("--names-from", metavar="FILE", help="One name per line; - is standard input.")
    act.add_argument("--name-suffix", default="", help="This name and all names below it.")
    act.add_argument("--record-set", action="append", default=[], type=int, metavar="ID")
    act.add_argument("--claim", action="append", default=[], type=int, metavar="ID")
    act.add_argument("--provider", default="", help="Name or id.")
    act.add_argument("--type", action="append", default=[], help="Such as A,AAAA; may be repeated.")
    act.add_argument("--state", action="append", default=[], help="Such as owned; as --type.")
    act.add_argument(
        "--leave-other-types",
        action="store_true",
        help="Leave the other types of the same owner at these names. Without it, a transfer includes them.",
    )
    act.add_argument(
        "--intent",
        choices=Transfer.TargetIntent.values,
        default=Transfer.TargetIntent.UNKNOWN,
        help="What the target wants of these record sets, as far as you know.",
    )


def build_request(options: dict[str, Any], names: list[str], provider_id: int | None) -> TransferRequest:
    """The request as the transfer package takes it."""
    selection = Selection(
        record_set_ids=tuple(options["record_set"]),
        claim_ids=tuple(options["claim"]),
        names=tuple(names),
        owner_id=options["owner"],
        provider_id=provider_id,
        name_suffix=options["name_suffix"],
        record_types=tuple(word.upper() for word in _split_words(options["type"])),
        states=_split_words(options["state"]),
    )
    return TransferRequest(
        kind=options["kind"],
        selection=selection,
        target_owner_id=options["to"],
        target_intent=options["intent"],
        whole_names=not options["leave_other_types"],
        reason=options.get("reason", ""),
        ticket=options.get("ticket", ""),
        confirmation=options.get("confirm", ""),
        fingerprints=parse_fingerprints(options.get("fingerprint", [])),
    )


def _split_words(texts: list[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in texts for word in text.split(",") if word.strip())


def parse_fingerprints(texts: list[str]) -> dict[int, str]:
    """`3=abc...` or `blue-zone=abc...` for each provider. Raises InvalidRequest or NotFound."""
    fingerprints: dict[int, str] = {}
    for text in texts:
        provider, _, fingerprint = text.rpartition("=")
        if not (provider and fingerprint):
            raise InvalidRequest(f"{text!r} is not PROVIDER=FINGERPRINT.")
        fingerprints[find_provider(provider).pk] = fingerprint
    return fingerprints


def build_transfer_report(transfer: Transfer, *, with_items: bool = False) -> dict[str, Any]:
    """A transfer as JSON values."""
    report: dict[str, Any] = {
        "id": transfer.public_id,
        "group": transfer.group,
        "kind": transfer.kind,
        "provider": transfer.provider.name,
        "source_owner": transfer.source_owner.owner_id if transfer.source_owner else None,
        "target_owner": transfer.target_owner.owner_id if transfer.target_owner else None,
        "status": transfer.status,
        "status_reason": transfer.status_reason,
        "approval_policy": transfer.approval_policy,
        "plan_fingerprint": transfer.plan_fingerprint,
        "item_count": transfer.item_count,
        "reason": transfer.reason,
        "ticket": transfer.ticket,
        "requested_by": transfer.requested_by_name,
        "approved_by": transfer.approved_by_name,
        **build_consents_report(transfer),
        "expires_at": transfer.expires_at,
    }
    if with_items:
        report["left_out"] = transfer.left_out
        about = ("name", "record_type", "set_identifier", "is_added")
        columns = (*about, "before", "after", "status", "status_reason")
        items = TransferItem.objects.filter(transfer=transfer).order_by("ordinal")
        report["items"] = list(items.values(*columns))
    return report


def build_consents_report(row: Transfer | HandOver) -> dict[str, Any]:
    """Who consented for which side, and which sides are missing, as JSON values."""
    return {
        "consents": [{"side": each.side, "by": each.by, "at": each.at} for each in list_consents(row)],
        "consents_missing": list_missing_sides(row),
    }


def describe_consents(row: Transfer | HandOver) -> list[str]:
    """The same in lines; none where one approval is for both sides."""
    given = [
        f"  {describe_side(row, each.side)}: {each.by} consented at {each.at:%Y-%m-%d %H:%M} UTC"
        for each in list_consents(row)
    ]
    return given + [f"  {describe_side(row, side)}: nobody consented yet" for side in list_missing_sides(row)]


def describe_transfer(transfer: Transfer, *, with_items: bool = False) -> list[str]:
    """A transfer in lines."""
    lines = [
        (
            f"#{transfer.pk}  {transfer.public_id}  {transfer.get_kind_display()} at {transfer.provider}: "
            f"{transfer.status}"
        ),
        f"  {progress(transfer).summary}",
        f"  plan_fingerprint {transfer.plan_fingerprint}",
        *describe_consents(transfer),
    ]
    if transfer.status_reason:
        lines.append(f"  {transfer.status_reason}")
    if with_items:
        items = TransferItem.objects.filter(transfer=transfer).order_by("ordinal")[: _MOST_LINES + 1]
        shown = [f"  {item.status:14} {item} {item.status_reason}".rstrip() for item in items]
        lines += shown[:_MOST_LINES] + _rest(transfer.item_count - _MOST_LINES)
    return lines


def describe_who_approves(row: Transfer | HandOver) -> str:
    """Whom something that was requested waits for."""
    if needs_both_sides(row):
        return "the consents of two people, one for each side"
    return "another person" if needs_other_person(row) else "somebody who may approve"


def describe_next_step(transfer: Transfer) -> list[str]:
    """How to continue with a transfer that waits for approval, in lines."""
    if transfer.status != Transfer.Status.REQUESTED:
        return []
    who = describe_who_approves(transfer)
    approve = f"dnsadmin_transfer approve {transfer.pk} --as USER --fingerprint {transfer.plan_fingerprint}"
    return [
        f"  Nothing was sent: #{transfer.pk} waits for {who}.",
        f"  To see it: dnsadmin_transfer show {transfer.pk}",
        f"  To approve it: {approve}",
    ]


def build_plan_report(plan: ProviderPlan) -> dict[str, Any]:
    """A plan as JSON values."""
    return {
        "provider": {"id": plan.provider.pk, "name": plan.provider.name},
        "fingerprint": plan.fingerprint,
        "approval_policy": plan.approval_policy,
        "confirmation_text": plan.confirmation_text,
        "verdict_counts": plan.verdict_counts,
        "refusals": [_build_refusal(refusal) for refusal in plan.refusals],
        "warnings": [_build_refusal(refusal) for refusal in plan.warnings],
        "items": [_build_item(item) for item in plan.items],
    }


def describe_plan(plan: ProviderPlan) -> list[str]:
    """A plan in lines."""
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(plan.verdict_counts.items()))
    counts = f"{len(plan.included)} to change, {len(plan.left_out)} left out"
    lines = [
        f"{plan.provider} (id {plan.provider.pk}): {counts}. At the next sync: {verdicts or 'nothing'}.",
        f"  fingerprint {plan.fingerprint}",
    ]
    lines += [f"  refused: {refusal}" for refusal in plan.refusals]
    lines += [f"  warning: {warning}" for warning in plan.warnings]
    if plan.confirmation_text:
        lines.append(f"  to confirm, add: --confirm {plan.confirmation_text!r}")
    for item in plan.items[:_MOST_LINES]:
        lines += _describe_item(item)
    return lines + _rest(len(plan.items) - _MOST_LINES)


def _describe_item(item: PlannedItem) -> list[str]:
    where = " ".join(part for part in (item.name, item.record_type, item.set_identifier) if part)
    if item.problem:
        return [f"  ! {where}: {item.problem}"]
    added = ", added: same name" if item.is_added else ""
    return [
        f"  ~ {where} ({item.verdict}{added})",
        *(f"      - {_describe_endpoint(endpoint)}" for endpoint in item.before),
        *(f"      + {_describe_endpoint(endpoint)}" for endpoint in item.after),
    ]


def _describe_endpoint(endpoint: dict[str, Any]) -> str:
    store = f"row of registry profile {endpoint['store']}: " if endpoint.get("store") else ""
    name, record_type = endpoint.get("dnsName", ""), endpoint.get("recordType", "TXT")
    return f"{store}{name} {record_type} {' '.join(map(str, endpoint.get('targets') or ()))}"


def _build_item(item: PlannedItem) -> dict[str, Any]:
    return {
        "name": item.name,
        "record_type": item.record_type,
        "set_identifier": item.set_identifier,
        "before": item.before,
        "after": item.after,
        "verdict": item.verdict,
        "verdict_reason": item.verdict_reason,
        "is_added": item.is_added,
        "problem": item.problem,
        "problem_code": item.problem_code,
    }


def _build_refusal(refusal: Refusal) -> dict[str, str]:
    return {"code": refusal.code, "happened": refusal.happened, "now": refusal.now, "todo": refusal.todo}


def _rest(count: int) -> list[str]:
    return [f"  ... and {count} more; --json has all of them."] if count > 0 else []
