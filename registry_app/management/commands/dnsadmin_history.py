"""What a provider had at a moment, and what differs between two moments."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from registry_app.clock import fetch_now
from registry_app.management.dnsadmin_command import (
    DnsadminCommand,
    ExitCode,
    add_act,
    find_provider,
    printable,
    read_moment,
)
from registry_app.queries.past_record_set import (
    Difference,
    PastFilter,
    PastRecordSet,
    iterate_differences,
    iterate_record_sets_at,
)

_Row = Mapping[str, Any]


class Command(DnsadminCommand):
    help = (
        "Show the record sets that a provider had at a moment (`at MOMENT`), or what differs between two "
        "moments (`diff SINCE [UNTIL]`), from the history. Reads only. Exit code: 0 done, 1 error; diff: 2 "
        "something differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        at = add_act(acts, "at", "The record sets of a moment.")
        at.add_argument("moment", help="Such as 2026-11-22T10:00Z.")
        diff = add_act(acts, "diff", "What differs between two moments.")
        diff.add_argument("since", help="Such as 2026-11-22T10:00Z.")
        diff.add_argument("until", nargs="?", help="Now, if it is not given.")
        for act in (at, diff):
            act.add_argument("--provider", required=True, help="Id or name.")
            act.add_argument("--owner", default="", metavar="ID", help="Only what was this owner's.")
            act.add_argument("--name", default="", help="Only this name.")
            act.add_argument("--name-suffix", default="", help="Only this name and names below it.")
            act.add_argument(
                "--type", action="append", default=[], help="Such as A. May be given several times."
            )
        diff.add_argument("--writer", default="", help="A guard endpoint, an owner id, or dnsadmin.")

    def _at(self, options: dict[str, Any]) -> ExitCode:
        provider = find_provider(options["provider"])
        moment = read_moment(options["moment"], "moment")
        found = iterate_record_sets_at(provider, moment, _read_filter(options))
        self._print(options, ((_build_row(each), _format(each)) for each in found))
        return ExitCode.OK

    def _diff(self, options: dict[str, Any]) -> ExitCode:
        provider = find_provider(options["provider"])
        since = read_moment(options["since"], "since")
        until = read_moment(options["until"], "until") if options["until"] else fetch_now()
        found = iterate_differences(provider, since, until, _read_filter(options))
        shown = self._print(options, ((_build_change(each), _format_change(each)) for each in found))
        return ExitCode.CHANGES if shown else ExitCode.OK

    def _print(self, options: Mapping[str, Any], rows: Iterable[tuple[_Row, str]]) -> int:
        """Print them one by one, whatever their number; how many there were."""
        count = 0
        for document, line in rows:
            if options["json"]:
                text = json.dumps(document, cls=DjangoJSONEncoder)
                self.stdout.write(f"{',' if count else '['}{text}")
            else:
                self.stdout.write(printable(line))
            count += 1
        if options["json"]:
            self.stdout.write("]" if count else "[]")
        return count


def _read_filter(options: Mapping[str, Any]) -> PastFilter:
    return PastFilter(
        owner_id=options["owner"],
        name=options["name"],
        name_suffix=options["name_suffix"],
        types=tuple(each.upper() for each in options["type"]),
        writer=options.get("writer", ""),
    )


def _build_row(each: PastRecordSet) -> _Row:
    return {**each.key._asdict(), **each.values}


def _build_change(each: Difference) -> _Row:
    return {
        **each.key._asdict(),
        "before": each.before,
        "after": each.after,
        "changed_at": each.changed_at,
        "writers": each.writers,
    }


def _format(each: PastRecordSet) -> str:
    return f"{_name(each)}  {_format_values(each.values)}"


def _format_change(each: Difference) -> str:
    at = each.changed_at.isoformat(timespec="seconds")
    by = f" by {', '.join(each.writers)}" if each.writers else ""
    was, now = _format_values(each.before), _format_values(each.after)
    return f"{_name(each)}  {was} -> {now}  ({at}{by})"


def _name(each: PastRecordSet | Difference) -> str:
    identifier = f" ({each.key.set_identifier})" if each.key.set_identifier else ""
    return f"{each.key.name} {each.key.record_type}{identifier}"


def _format_values(values: _Row | None) -> str:
    if values is None:
        return "not there"
    return f"{values['owner'] or values['state']}: {' '.join(values['targets'])}"
