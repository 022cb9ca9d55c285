"""Back up the database into one file."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode
from registry_app.restore.back_up import back_up


class Command(DnsadminCommand):
    help = (
        "Back up the database into one file, while dnsadmin runs. Secrets stay encrypted in it: keep "
        "the encryption keys in another place. Exit code: 0 done, 1 error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="A new file, such as dnsadmin-2026-11-22.tar.gz.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        path: Path = options["file"]
        manifest = back_up(path)
        size = path.stat().st_size
        line = (
            f"Backed up to {path}: {size} bytes, generation {manifest.generation}, "
            f"audit entries to {manifest.audit_sequence}."
        )
        self.report(options, {"file": str(path), "bytes": size, "manifest": asdict(manifest)}, [line])
        return ExitCode.OK
