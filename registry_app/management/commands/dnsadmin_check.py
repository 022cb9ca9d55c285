"""Verify the invariants that rows can show."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode
from registry_app.queries.invariant import Invariant, Violation
from registry_app.queries.invariants import INVARIANTS, note_checked


class Command(DnsadminCommand):
    help = (
        "Verify the invariants that the database can show. Reads only. Exit code: 0 all hold, 1 "
        "error, 2 something is broken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--only", action="append", default=[], metavar="ID", help="Such as I15.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        checked = [(invariant, self._look(invariant)) for invariant in choose(options["only"])]
        note_checked(checked)
        document = {"invariants": [_build_report(*pair) for pair in checked]}
        self.report(options, document, (_describe(*pair) for pair in checked))
        return ExitCode.CHANGES if any(violation for _, violation in checked) else ExitCode.OK

    def _look(self, invariant: Invariant) -> Violation | None:
        self.show_progress(f"{invariant.id} {invariant.title}")
        return invariant.find()


def choose(ids: list[str]) -> list[Invariant]:
    """The invariants with these ids, or all, in the order of their ids. Raises InvalidRequest."""
    known = {invariant.id for invariant in INVARIANTS}
    if unknown := sorted(set(ids) - known):
        raise InvalidRequest(
            f"No check has the id {', '.join(unknown)}.", todo=f"Choose among {', '.join(sorted(known))}."
        )
    chosen = [invariant for invariant in INVARIANTS if not ids or invariant.id in ids]
    return sorted(chosen, key=lambda invariant: int(invariant.id.removeprefix("I")))


def _build_report(invariant: Invariant, violation: Violation | None) -> dict[str, Any]:
    found = None if violation is None else asdict(violation)
    return {"id": invariant.id, "title": invariant.title, "holds": violation is None, "violation": found}


def _describe(invariant: Invariant, violation: Violation | None) -> str:
    if violation is None:
        return f"{invariant.id:4} holds   {invariant.title}"
    where = ", ".join(violation.sample)
    return f"{invariant.id:4} BROKEN  {invariant.title}: {violation.explanation} {violation.count}: {where}"
