"""Write a setup file out of what runs: the flags of ExternalDNS instances."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from django.core.management.base import CommandParser

from providers.sources.errors import InvalidManifest, Place
from providers.sources.external_dns_flags import FlagSet, find_flag_sets, read_command_line
from providers.sources.manifest_tree import parse_documents
from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode
from registry_app.management.import_external_dns import import_external_dns

_MOST_BYTES = 32 * 2**20


class Command(DnsadminCommand):
    help = (
        "Read Deployments, values of the Helm chart (YAML or JSON) or a command line of ExternalDNS, and "
        "print a setup for dnsadmin_apply. Changes nothing. Exit code: 0 done, 1 error, 2 a person has to "
        "look at something, which is in comments at the top."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("source", choices=["externaldns"], metavar="externaldns")
        parser.add_argument(
            "files", nargs="*", type=Path, help="Such as `kubectl get deploy -o yaml` prints."
        )
        parser.add_argument("--flags", help="A command line: --flags='--txt-owner-id=blue --policy=sync'.")
        parser.add_argument("--name", default="external-dns", help="With --flags: a name for the instance.")
        parser.add_argument("--cluster", default="", help="The cluster where all of them run.")
        parser.add_argument("--provider", default="", help="The provider of dnsadmin that all write through.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        try:
            found = list(_find(options))
        except InvalidManifest as error:
            raise InvalidRequest(f"The flags cannot be read. {error}", now="Nothing was read.") from error
        except OSError as error:
            raise InvalidRequest(
                f"A file cannot be read: {error.filename}: {error.strerror}.", now="Nothing was read."
            ) from error
        if not found:
            raise InvalidRequest(
                "There is no ExternalDNS in it.",
                now="Nothing was read.",
                todo="Name files with its Deployments or its Helm values, or give --flags.",
            )
        setup = import_external_dns(found, cluster=options["cluster"], provider=options["provider"])
        document = setup.build()
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
        comments = (f"# {remark}" for remark in setup.remarks)
        self.report(options, {"setup": document, "remarks": setup.remarks}, [*comments, *text.splitlines()])
        return ExitCode.CHANGES if setup.remarks else ExitCode.OK


def _find(options: dict[str, Any]) -> Iterator[FlagSet]:
    for path in options["files"]:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InvalidManifest(f"it has more than {_MOST_BYTES} bytes.", Place(path.name))
        for place, node in parse_documents(text, Place(path.name)):
            yield from find_flag_sets(node, place)
    if options["flags"]:
        yield read_command_line(options["flags"], options["name"])
