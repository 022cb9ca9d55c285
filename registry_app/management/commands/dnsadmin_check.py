"""Verify the invariants that rows can show."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from registry_app.audit import verify_audit
from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode
from registry_app.queries.audit_entry import find_fault_of_checkpoints
from registry_app.queries.audit_invariants import RESTORE_INVARIANTS, TRAIL_INVARIANTS
from registry_app.queries.guard_invariants import GUARD_INVARIANTS
from registry_app.queries.invariant import Invariant, Violation
from registry_app.queries.mirror_invariants import MIRROR_INVARIANTS
from registry_app.queries.registry_invariants import REGISTRY_INVARIANTS
from registry_app.queries.write_invariants import LOOP_INVARIANTS, TRANSFER_INVARIANTS


def find_broken_chain() -> Violation | None:
    """I15. The chain from its first entry to its tail."""
    fault = verify_audit()
    if fault is None:
        return None
    return Violation(1, (f"audit entry {fault.sequence}",), f"The chain is not valid: {fault.problem}.")


def find_cut_off_entries() -> Violation | None:
    """I15. Every checkpoint and copy outside the database is in the chain, or a restore's own entry names
    it."""
    fault = find_fault_of_checkpoints()
    if fault is None:
        return None
    sample = (f"audit entry {fault.sequence}",)
    return Violation(1, sample, f"Entries were cut off or replaced: {fault.problem}.")


INVARIANTS = (
    *MIRROR_INVARIANTS,
    *REGISTRY_INVARIANTS,
    *TRANSFER_INVARIANTS,
    *LOOP_INVARIANTS,
    *GUARD_INVARIANTS,
    *TRAIL_INVARIANTS,
    Invariant("I15", "the audit chain verifies", find_broken_chain),
    Invariant("I15", "no audit entries were cut off", find_cut_off_entries),
    *RESTORE_INVARIANTS,
)


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
