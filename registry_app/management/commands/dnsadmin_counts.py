"""Count record sets, claims and findings anew."""

from typing import Any

from django.core.management.base import CommandParser

from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, add_act
from registry_app.reconcile.kept_counts import rebuild_counts


class Command(DnsadminCommand):
    help = (
        "The counts of record sets, claims and findings that pages show. They are kept as rows change; "
        "dnsadmin_check --only I25 compares them with the rows. Exit code: 0 done, 1 error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        commands = parser.add_subparsers(dest="act", required=True, metavar="rebuild")
        add_act(
            commands, "rebuild", "Count all rows anew. Syncs wait meanwhile: a few seconds for a million."
        )

    def _rebuild(self, options: dict[str, Any]) -> ExitCode:
        self.report_values(options, {"counts": rebuild_counts()})
        return ExitCode.OK
