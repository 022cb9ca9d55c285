"""The acts of `dnsadmin_guard` on what the guard decided: list it, and release or keep held deletes."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser

from registry_app.errors import InvalidRequest, NotFound
from registry_app.guard.decide_held_deletes import (
    DecidedDeletes,
    HeldSelection,
    keep_held_deletes,
    release_held_deletes,
)
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named, add_act
from registry_app.management.guard import (
    describe_decision,
    describe_held,
    format_counts,
    format_decided,
    format_decision,
    format_held,
)
from registry_app.models import GuardDecision, GuardEndpoint, GuardRule, HeldDelete
from registry_app.queries.guard_decision import fetch_guard_counts, list_guard_decisions, list_held_deletes
from registry_app.queries.guard_endpoint import build_below_query, list_guard_endpoints

_ALL = "all"


class GuardDecisionActs(DnsadminCommand):
    """Mixed into the command."""

    def add_decision_acts(self, acts: Any) -> None:
        """Add the parsers of decisions, held, release and keep."""
        decisions = add_act(
            acts, "decisions", "What the guard refused or held, or would in the mode enforce."
        )
        decisions.add_argument("slug", metavar="SLUG")
        decisions.add_argument("--outcome", choices=GuardDecision.Outcome.values)
        held = add_act(acts, "held", "The deletes that wait for a person, and those that are kept.")
        held.add_argument("slug", metavar="SLUG", nargs="?", help="Only those of this guard endpoint.")
        held.add_argument(
            "--status", choices=[*HeldDelete.Status.values, _ALL], help="Default: held and kept."
        )
        for act in (decisions, held):
            act.add_argument("--rule", choices=GuardRule.values, metavar="RULE", help="Such as delete_share.")
        release = add_act(acts, "release", "Let the instance delete what is held or kept, at its next sync.")
        keep = add_act(
            acts, "keep", "Do not let the instance delete what is held, or released and still there."
        )
        for act in (release, keep):
            act.add_argument("slug", metavar="SLUG", nargs="?", help="With --all or --name-suffix.")
            act.add_argument("--all", action="store_true", help="All that wait at the guard endpoint.")
            act.add_argument(
                "--id", dest="ids", type=int, action="append", default=[], help="May be repeated. See held."
            )
            act.add_argument("--reason", default="", help="For the audit trail.")
            add_person(act)
        for act in (decisions, held, release, keep):
            act.add_argument("--name-suffix", metavar="NAME", help="Only this name and what is below it.")

    def _decisions(self, options: dict[str, Any]) -> ExitCode:
        row = find_guard_endpoint(options["slug"])
        found = _narrow(list_guard_decisions().filter(guard_endpoint=row), options, "outcome", "rule")
        decisions = [describe_decision(each) for each in found.order_by("-last_at", "-pk")]
        counts = [
            {"outcome": each.outcome, "rule": each.rule, "count": each.count}
            for each in fetch_guard_counts(row)
        ]
        document = {"guard_endpoint": row.slug, "mode": row.mode, "counts": counts, "decisions": decisions}
        lines = [*format_counts(row.mode, counts), *map(format_decision, decisions)]
        self.report(options, document, lines)
        return ExitCode.OK

    def _held(self, options: dict[str, Any]) -> ExitCode:
        found = _narrow(list_held_deletes(), options, "rule")
        if options["slug"]:
            found = found.filter(guard_endpoint=find_guard_endpoint(options["slug"]))
        if options["status"] != _ALL:
            statuses = [options["status"]] if options["status"] else HeldDelete.STOPPING
            found = found.filter(status__in=statuses)
        held = [describe_held(each) for each in found.order_by("name", "pk")]
        self.report(options, {"held_deletes": held}, map(format_held, held) if held else ["There is none."])
        return ExitCode.OK

    def _release(self, options: dict[str, Any]) -> ExitCode:
        return self._decide(options, release_held_deletes)

    def _keep(self, options: dict[str, Any]) -> ExitCode:
        return self._decide(options, keep_held_deletes)

    def _decide(self, options: dict[str, Any], decide: Callable[..., DecidedDeletes]) -> ExitCode:
        actor = actor_named(options["person"])
        done = decide(actor, _read_selection(options), reason=options["reason"])
        document = {"status": done.status.value, "count": done.count, "names": done.names}
        self.report(options, document, format_decided(document))
        return ExitCode.OK


def add_person(act: CommandParser) -> None:
    """The person whose rights apply."""
    act.add_argument(
        "--as", dest="person", metavar="USER", required=True, help="The user whose rights apply."
    )


def find_guard_endpoint(slug: str) -> GuardEndpoint:
    """Raises NotFound."""
    row = list_guard_endpoints().filter(slug=slug).first()
    if row is None:
        raise NotFound(f"There is no guard endpoint {slug!r}.", todo="See the list.")
    return row


def _narrow(rows: Any, options: dict[str, Any], *names: str) -> Any:
    """The rows with the values that were given for these columns, at or below the name that was given."""
    rows = rows.filter(**{name: options[name] for name in names if options[name]})
    return rows.filter(build_below_query(options["name_suffix"])) if options["name_suffix"] else rows


def _read_selection(options: dict[str, Any]) -> HeldSelection:
    """Raises InvalidRequest if a guard endpoint is named, and not that all of it is meant."""
    suffix = options["name_suffix"] or ""
    if options["slug"] is None:
        return HeldSelection(ids=tuple(options["ids"]), name_suffix=suffix)
    if not options["ids"] and options["all"] is bool(suffix):
        raise InvalidRequest(
            "It is not clear which held deletes are meant.",
            fields={"--all": ["Give --all, or --name-suffix for those at or below a name."]},
        )
    row = find_guard_endpoint(options["slug"])
    return HeldSelection(ids=tuple(options["ids"]), guard_endpoint=row, name_suffix=suffix)
