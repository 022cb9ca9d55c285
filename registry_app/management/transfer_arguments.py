"""What `dnsadmin_transfer` is told on the command line."""

from argparse import SUPPRESS
from typing import Any, Final

from django.core.management.base import CommandParser

from registry_app.errors import InvalidRequest
from registry_app.management.find_provider import find_provider
from registry_app.models import Transfer
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest

_KINDS = [kind for kind in Transfer.Kind.values if kind != Transfer.Kind.UNDO]
_ID_HELP: Final = "The id that `request` prints, or the number that the web admin shows."


def read_transfer_id(text: str) -> str | int:
    """The id the API uses, or the number the web admin shows: `#12`, or 12."""
    number = text.removeprefix("#")
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 18 else text


def add_subcommands(parser: CommandParser) -> None:
    """One subcommand for each act."""
    acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
    plan = acts.add_parser("plan", help="Show what a request would do.")
    _add_person(plan)
    _add_selection(plan)
    _add_request(acts.add_parser("request", help="Request it."))
    _add_act(acts.add_parser("show", help="Show a transfer: state, progress, items."), person=False)
    approve = acts.add_parser("approve", help="Approve the plan you reviewed.")
    _add_act(approve)
    approve.add_argument("--fingerprint", required=True, help="plan_fingerprint, as `show` has it.")
    for name, told in (("reject", "Reject a request."), ("cancel", "Cancel what was not sent yet.")):
        act = acts.add_parser(name, help=told)
        _add_act(act)
        act.add_argument("--reason", required=True)
    _add_undo(acts.add_parser("undo", help="Request the undo of a transfer."))
    _add_act(acts.add_parser("apply", help="Run an approved transfer now, in this process."), person=False)
    resume = acts.add_parser(
        "resume", help="Continue transfers that were interrupted, by reading the provider."
    )
    resume.add_argument(
        "transfers", nargs="*", type=read_transfer_id, metavar="ID", help="Default: all that are due."
    )
    _add_json(resume)


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
    _add_act(undo)
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


def _add_json(act: CommandParser) -> None:
    # Each subcommand has its own, so that it may stand at the end; SUPPRESS keeps the one before it.
    act.add_argument("--json", action="store_true", default=SUPPRESS, help="Print JSON.")


def _add_person(act: CommandParser) -> None:
    act.add_argument(
        "--as", dest="person", required=True, metavar="USER", help="The user whose rights apply."
    )
    _add_json(act)


def _add_act(act: CommandParser, *, person: bool = True) -> None:
    act.add_argument("transfer", type=read_transfer_id, metavar="ID", help=_ID_HELP)
    if person:
        _add_person(act)
    else:
        _add_json(act)


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
    """The request in the words of the transfer room."""
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
