"""Export a list, or the mirror of a provider as a zone file."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.http import QueryDict

from registry_app.api.list_export import export_list, export_zone, list_exports
from registry_app.errors import DnsadminError, InvalidRequest
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named, find_provider

_ZONE = "zone"
_PROGRESS_EVERY = 100


class CutOff(DnsadminError):
    """The file cannot be written, or its reader left."""

    code = "cut_off"


class Command(DnsadminCommand):
    help = (
        "Export a list of the API, with its filters, as NDJSON or CSV; or `zone PROVIDER`: its mirror as a "
        "zone file. Without --output it is on standard output. Exit code: 0 the export is complete, 1 it is "
        "not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        lists = list_exports()
        parser.add_argument(
            "list", choices=[*lists, _ZONE], metavar="LIST", help=f"{', '.join(lists)}, or zone."
        )
        parser.add_argument("provider", nargs="?", help="With zone: id or name.")
        parser.add_argument("--as", dest="person", required=True, metavar="USER", help="Whose rights apply.")
        parser.add_argument(
            "--filter",
            dest="filters",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="As in the API, such as owner=blue-cluster. May be given several times.",
        )
        parser.add_argument("--format", choices=["ndjson", "csv"], default="ndjson")
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="A new file instead of standard output."
        )

    def name_option(self, name: str) -> str:
        return name if name.startswith("-") else f"--filter {name}"

    def run(self, options: dict[str, Any]) -> ExitCode:
        try:
            if options["output"] is None:
                self._print(self._begin(options))
            else:
                size = self._store(options)
                self.report_values(options, {"file": str(options["output"]), "bytes": size})
        except OSError as error:
            raise CutOff(
                f"The export was cut off: {error.strerror}.",
                now="It is not complete.",
                todo="Export it again, to a new file on another disk or to a reader that stays.",
            ) from error
        return ExitCode.OK

    def _begin(self, options: dict[str, Any]) -> Iterator[bytes]:
        actor, is_zone = actor_named(options["person"]), options["list"] == _ZONE
        if is_zone != bool(options["provider"]):
            raise InvalidRequest(
                "Name the provider of the zone file." if is_zone else "A list takes no provider.",
                now="Nothing was exported.",
                todo="`zone PROVIDER`, or `LIST --filter provider=PROVIDER`.",
            )
        if is_zone:
            if options["filters"] or options["format"] != "ndjson":
                raise InvalidRequest(
                    "A zone file has no filters and one format.", now="Nothing was exported."
                )
            return export_zone(actor, find_provider(options["provider"]))
        return export_list(actor, options["list"], read_parameters(options["filters"], options["format"]))

    def _print(self, pieces: Iterator[bytes]) -> None:
        # Bytes, whatever the encoding of the terminal; a caller in Python gives a stream of text.
        out = getattr(self.stdout, "buffer", None)
        for piece in pieces:
            if out is None:
                self.stdout.write(piece.decode(), ending="")
            else:
                out.write(piece)
        self.stdout.flush()

    def _store(self, options: dict[str, Any]) -> int:
        """Write a new file, which nobody else may read; its size. What is not complete is removed again."""
        size, is_whole, path = 0, False, options["output"]
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for number, piece in enumerate(self._begin(options), start=1):
                    size += file.write(piece)
                    if number % _PROGRESS_EVERY == 0:
                        self.show_progress(f"{size:,} bytes so far.")
            is_whole = True
        finally:
            if not is_whole:
                path.unlink(missing_ok=True)
        return size


def read_parameters(filters: list[str], export_format: str) -> QueryDict:
    """The filters as a query string has them. Raises InvalidRequest."""
    parameters = QueryDict(mutable=True)
    for text in filters:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidRequest(
                f"A filter is NAME=VALUE, not {text!r}.",
                now="Nothing was exported.",
                fields={"--filter": ["Such as owner=blue-cluster."]},
            )
        parameters.appendlist(name, value)
    parameters["format"] = export_format
    return parameters
