"""What `dnsadmin_hand_over` takes and prints: lines for people, JSON values for programs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.core.management.base import CommandParser
from django.utils.dateparse import parse_datetime

from registry_app.errors import InvalidRequest, NotFound
from registry_app.hand_over.request_hand_over import ALLOWED, HandOverPlan, HandOverRequest
from registry_app.hand_over.waves import DIVISIONS, Waves
from registry_app.management.dnsadmin_command import add_act, find_provider
from registry_app.management.transfer import (
    add_side,
    build_consents_report,
    describe_consents,
    describe_who_approves,
    read_transfer_id,
)
from registry_app.models import HandOver, HandOverItem, Owner, Provider
from registry_app.queries.hand_over import count_items
from registry_app.queries.hand_over_items import ItemFacts

_ID_HELP: Final = "The id that `request` prints, or the number that the web admin shows."
_MOST_LINES = 50
_STEERING = (
    ("cancel", "End it; what moved stays moved."),
    ("pause", "Move nothing more until it is resumed."),
    ("resume", "Go on, also with the names that failed."),
    ("next-wave", "Let the names of the next wave move too."),
)


def add_subcommands(parser: CommandParser) -> None:
    """One subcommand for each act."""
    acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
    _add_request(add_act(acts, "preview", "Show which names would go, in which wave."))
    request = add_act(acts, "request", "Request it.")
    _add_request(request)
    request.add_argument("--reason", required=True)
    request.add_argument("--ticket", default="")
    request.add_argument(
        "--fingerprint",
        default="",
        help="As `preview` showed it: the request is refused if the plan changed since. Without it, the "
        "request waits for an approval.",
    )
    listing = add_act(acts, "list", "List hand-overs, newest first.")
    listing.add_argument("--status", choices=HandOver.Status.values)
    listing.add_argument("--provider", default="", help="Name or id.")
    show = add_act(acts, "show", "Show a hand-over and its names.")
    _add_id(show)
    show.add_argument("--state", choices=HandOverItem.State.values, default="")
    show.add_argument("--wave", type=int)
    show.add_argument("--name-suffix", default="", help="This name and all names below it.")
    approve = add_act(acts, "approve", "Approve what you reviewed.")
    _add_id(approve)
    _add_person(approve)
    approve.add_argument("--fingerprint", required=True, help="fingerprint, as `show` has it.")
    add_side(approve)
    reject = add_act(acts, "reject", "Reject a request.")
    _add_id(reject)
    _add_person(reject)
    reject.add_argument("--reason", required=True)
    for name, text in _STEERING:
        act = add_act(acts, name, text)
        _add_id(act)
        _add_person(act)
        act.add_argument("--reason", default="")


def _add_id(act: CommandParser) -> None:
    act.add_argument("hand_over", type=read_transfer_id, metavar="ID", help=_ID_HELP)


def _add_person(act: CommandParser) -> None:
    act.add_argument(
        "--as", dest="person", required=True, metavar="USER", help="The user whose rights apply."
    )


def _add_request(act: CommandParser) -> None:
    _add_person(act)
    act.add_argument("--provider", required=True, help="Name or id.")
    act.add_argument("--from", dest="from_owner", required=True, metavar="OWNER_ID")
    act.add_argument("--to", required=True, metavar="OWNER_ID", help="The owner it goes to.")
    act.add_argument(
        "--ends-at",
        required=True,
        metavar="TIME",
        help="Such as 2026-12-01T12:00Z; UTC if it has no zone. What was not moved by then stays.",
    )
    act.add_argument("--name", action="append", default=[], help="Any spelling; may be repeated.")
    act.add_argument("--name-suffix", default="", help="This name and all names below it.")
    act.add_argument("--namespace", default="", help="Names with resources in this namespace.")
    act.add_argument(
        "--waves-by", choices=[each for each in DIVISIONS if each], default="", help="Default: all at once."
    )
    act.add_argument("--wave-size", type=int, default=0, help="Names, or percent, of each wave.")
    act.add_argument(
        "--wave-value", action="append", default=[], help="Suffix or namespace of a wave; in their order."
    )
    act.add_argument(
        "--verdict",
        action="append",
        default=[],
        choices=[each.value for each in ALLOWED],
        help="What the next sync of the new owner may do; may be repeated. Default: both.",
    )


def build_request(options: Mapping[str, Any]) -> HandOverRequest:
    """The request as the use case takes it. Raises NotFound, InvalidRequest."""
    return HandOverRequest(
        provider=Provider.objects.get(pk=find_provider(options["provider"]).pk),
        from_owner=_find_owner(options["from_owner"]),
        to_owner=_find_owner(options["to"]),
        ends_at=_parse_time(options["ends_at"]),
        reason=options.get("reason", ""),
        ticket=options.get("ticket", ""),
        names=tuple(options["name"]),
        name_suffix=options["name_suffix"],
        namespace=options["namespace"],
        waves=Waves(options["waves_by"], options["wave_size"], tuple(options["wave_value"])),
        allowed_verdicts=tuple(options["verdict"]) or tuple(ALLOWED),
    )


def _find_owner(owner_id: str) -> Owner:
    owner = Owner.objects.filter(owner_id=owner_id).first()
    if owner is None:
        raise NotFound(f"There is no owner {owner_id[:100]!r}.", todo="See the list of owners.")
    return owner


def _parse_time(text: str) -> datetime:
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise InvalidRequest(
            f"{text[:50]!r} is no time.", fields={"ends_at": ["Write it as 2026-12-01T12:00Z."]}
        )
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def build_plan_report(plan: HandOverPlan) -> dict[str, Any]:
    """A preview as JSON values."""
    return {
        "fingerprint": plan.fingerprint,
        "name_count": len(plan.waves),
        "wave_count": max(plan.waves.values()),
        "warnings": list(plan.warnings),
        "names": [{"name": name, "wave": wave} for name, wave in _sort(plan)],
    }


def describe_plan(plan: HandOverPlan) -> list[str]:
    """A preview in lines."""
    lines = [
        f"{len(plan.waves)} names, in waves: {max(plan.waves.values())}.",
        f"  fingerprint {plan.fingerprint}",
        *(f"  warning: {warning}" for warning in plan.warnings),
    ]
    lines += [f"  wave {wave}: {name}" for name, wave in _sort(plan)[:_MOST_LINES]]
    return lines + _rest(len(plan.waves) - _MOST_LINES)


def _sort(plan: HandOverPlan) -> list[tuple[str, int]]:
    return sorted(plan.waves.items(), key=lambda pair: (pair[1], pair[0]))


def build_report(row: HandOver, facts: Sequence[ItemFacts] | None = None) -> dict[str, Any]:
    """A hand-over as JSON values; with its names where they are given."""
    report: dict[str, Any] = {
        "id": row.public_id,
        "number": row.pk,
        "provider": row.provider.name,
        "from_owner": row.from_owner.owner_id,
        "to_owner": row.to_owner.owner_id,
        "status": row.status,
        "status_reason": row.status_reason,
        "approval_policy": row.approval_policy,
        "fingerprint": row.fingerprint,
        "allowed_verdicts": row.allowed_verdicts,
        "wave": row.wave,
        "wave_count": row.wave_count,
        "state_counts": count_items([row])[row.pk],
        "reason": row.reason,
        "ticket": row.ticket,
        "requested_by": row.requested_by_name,
        "approved_by": row.approved_by_name,
        **build_consents_report(row),
        "ends_at": row.ends_at,
        "finished_at": row.finished_at,
    }
    if facts is not None:
        report["items"] = [_build_item(each) for each in facts]
    return report


def _build_item(facts: ItemFacts) -> dict[str, Any]:
    item = facts.item
    return {
        "name": item.name,
        "wave": item.wave,
        "state": item.state,
        "reason": item.reason,
        "kept": facts.kept,
        "transfer": item.transfer.public_id if item.transfer else None,
        "wanted": [{"record_type": each.record_type, "targets": list(each.targets)} for each in facts.wanted],
        "live": [
            {
                "record_type": each.endpoint.record_type,
                "targets": list(each.endpoint.targets),
                "owner": each.owner_id,
            }
            for each in facts.live
        ],
    }


def describe_hand_over(row: HandOver, facts: Sequence[ItemFacts] = ()) -> list[str]:
    """A hand-over in lines."""
    counts = ", ".join(f"{number} {state}" for state, number in count_items([row])[row.pk].items() if number)
    lines = [
        f"#{row.pk}  {row.public_id}  {row.from_owner} to {row.to_owner} at {row.provider}: {row.status}",
        f"  wave {row.wave} of {row.wave_count}; {counts}; ends {row.ends_at:%Y-%m-%d %H:%M} UTC",
        f"  fingerprint {row.fingerprint}",
        *describe_consents(row),
    ]
    if row.status_reason:
        lines.append(f"  {row.status_reason}")
    lines += [_describe_item(each) for each in facts[:_MOST_LINES]]
    return lines + _rest(len(facts) - _MOST_LINES)


def _describe_item(facts: ItemFacts) -> str:
    item, kept = facts.item, f"Kept by the guard: {facts.kept}" if facts.kept else ""
    return " ".join(filter(None, (f"  {item.state:8} {item.name}", item.reason, kept)))


def describe_next_step(row: HandOver) -> list[str]:
    """How to continue with a hand-over that waits for approval, in lines."""
    if row.status != HandOver.Status.REQUESTED:
        return []
    who = describe_who_approves(row)
    return [
        f"  Nothing moves yet: #{row.pk} waits for {who}.",
        f"  To see it: dnsadmin_hand_over show {row.pk}",
        f"  To approve it: dnsadmin_hand_over approve {row.pk} --as USER --fingerprint {row.fingerprint}",
    ]


def _rest(count: int) -> list[str]:
    return [f"  ... and {count} more; --json has all of them."] if count > 0 else []
