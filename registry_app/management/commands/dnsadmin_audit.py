"""Verify, export and checkpoint the audit trail."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandParser, OutputWrapper

from registry_app.audit import verify_audit
from registry_app.errors import InvalidRequest
from registry_app.inventory.purge_audit import purge_audit
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_of_shell, add_act
from registry_app.models import AuditCheckpoint
from registry_app.outside_copy import fetch_knowledge
from registry_app.queries.audit_entry import (
    default_checkpoint_file,
    export_audit,
    find_fault_of_checkpoints,
    store_checkpoint,
    verify_export,
)


class Command(DnsadminCommand):
    help = (
        "Verify the audit trail, or an export of it (verify); write it as lines of JSON (export); "
        "append its end to a file outside the database (checkpoint); export and delete what is older than "
        "the retention (purge). Exit code: 0 done or valid, 1 error, 2 not valid, 3 refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        acts = parser.add_subparsers(dest="act", required=True)
        verify = add_act(acts, "verify", "Verify the chain and the checkpoints.")
        verify.add_argument("file", nargs="?", type=Path, help="An export instead of the database.")
        verify.add_argument("--checkpoints", type=Path, help="A file of checkpoints.")
        export = add_act(acts, "export", "One line of JSON for each entry, and a closing line.")
        export.add_argument("--from", dest="first", type=int, default=1, metavar="SEQUENCE")
        export.add_argument("--to", dest="last", type=int, metavar="SEQUENCE")
        export.add_argument("--file", type=Path, help="A new file instead of standard output.")
        checkpoint = add_act(acts, "checkpoint", "Append the end of the trail to a file.")
        checkpoint.add_argument("--file", type=Path, help="Default: in the state folder.")

        purge = add_act(
            acts, "purge", "Export what is older than DNSADMIN_RETENTION_AUDIT_DAYS, then delete it."
        )
        purge.add_argument("--file", type=Path, required=True, help="A new file for the export.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        try:
            return super().run(options)
        except OSError as error:
            raise InvalidRequest(f"{error.filename}: {error.strerror}.", todo="Name another file.") from error

    def _verify(self, options: dict[str, Any]) -> ExitCode:
        if options["file"] is not None:
            with options["file"].open(encoding="utf-8", errors="replace") as lines:
                count, fault = verify_export(lines)
        else:
            fault = verify_audit() or find_fault_of_checkpoints(options["checkpoints"])
            count = fetch_knowledge().sequence
        found, line = None, f"Valid: {count} entries."
        purged = None if options["file"] is not None else AuditCheckpoint.objects.first()
        if purged is not None:
            line = f"Valid: {count} entries. Those up to {purged.sequence} were exported and may be deleted."
        if fault is not None:
            found = {"sequence": fault.sequence, "problem": fault.problem}
            line = f"Not valid at entry {fault.sequence}: {fault.problem}."
        document = {"entries": count, "holds": fault is None, "fault": found}
        self.report(options, {**document, "purged_to": purged.sequence if purged else 0}, [line])
        return ExitCode.OK if fault is None else ExitCode.CHANGES

    def _export(self, options: dict[str, Any]) -> ExitCode:
        count = -1
        with self._opened(options["file"]) as stream:
            for line in export_audit(options["first"], options["last"]):
                stream.write(f"{line}\n")
                count += 1
        if options["file"] is not None:
            self.report_values(options, {"file": str(options["file"]), "entries": count})
        return ExitCode.OK

    @contextmanager
    def _opened(self, path: Path | None) -> Iterator[IO[str] | OutputWrapper]:
        if path is None:
            yield self.stdout
        else:
            with path.open("x", encoding="ascii") as file:
                path.chmod(0o600)
                yield file

    def _purge(self, options: dict[str, Any]) -> ExitCode:
        self.report_values(options, asdict(purge_audit(actor_of_shell(), options["file"])))
        return ExitCode.OK

    def _checkpoint(self, options: dict[str, Any]) -> ExitCode:
        known = store_checkpoint(options["file"])
        path = options["file"] or default_checkpoint_file()
        values = {"file": str(path), "sequence": known.sequence, "hash": known.hash}
        self.report_values(options, values)
        return ExitCode.OK
