"""The index by which record sets are searched for a part of a name."""

from typing import Any

from django.core.management.base import CommandParser

from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode
from registry_app.queries.search import has_index
from registry_app.reconcile.search_index import count_waiting, index_waiting, rebuild_search_index


class Command(DnsadminCommand):
    help = (
        "The index of searches: whether there is one (status), bring it up to date now (update), or make it "
        "anew from the record sets (rebuild). Exit code: 0 done, 1 error, 2 there is none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("act", choices=["status", "update", "rebuild"])

    def run(self, options: dict[str, Any]) -> ExitCode:
        if options["act"] == "rebuild":
            rebuild_search_index()
        elif options["act"] == "update":
            index_waiting()
        is_there, waiting = has_index(), count_waiting()
        line = f"Record sets have an index for searches; {waiting} of them wait for it and are read instead."
        none = "There is no index for searches: every search reads all record sets. `migrate` says why."
        self.report(options, {"has_index": is_there, "waiting": waiting}, [line if is_there else none])
        return ExitCode.OK if is_there else ExitCode.CHANGES
