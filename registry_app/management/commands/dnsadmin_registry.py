"""Export a ConfigMap or database registry as a document, and restore it, there or elsewhere."""

from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from providers.registries.export import MAX_EXPORT_BYTES
from registry_app.errors import InvalidRequest, NotFound
from registry_app.inventory.registry_document import export_registry, restore_registry
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named, add_act
from registry_app.models import RegistryProfile


class Command(DnsadminCommand):
    help = (
        "ConfigMap and database registries. A document holds all rows of one owner, or of all, and can be "
        "kept outside. Exit code: 0 done, 1 error, 3 refused by a safety rule."
    )

    options_of_names: ClassVar = {"document": "--file"}

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        commands = parser.add_subparsers(dest="act", required=True, metavar="export|restore")
        export = add_act(commands, "export", "Write the registry of an owner into a file.")
        export.add_argument("--owner", default="", metavar="OWNER_ID", help="Database: empty is all owners.")
        for each in (export, add_act(commands, "restore", "Restore the registry of a file.")):
            each.add_argument("--profile", required=True, help="A registry profile.")
            each.add_argument("--file", required=True, type=Path)
            each.add_argument("--as", dest="username", metavar="USER", required=True, help="Who asks.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["username"])
        profile = RegistryProfile.objects.filter(name=options["profile"]).first()
        if profile is None:
            raise NotFound(f"There is no registry profile {options['profile']!r}.", todo="See the list.")
        path: Path = options["file"]
        if options["act"] == "export":
            document = export_registry(actor, profile, options["owner"])
            _write(path, document)
            values = {"owner_id": options["owner"], "file": str(path), "bytes": len(document)}
        else:
            export = restore_registry(actor, profile, _read(path))
            values = {
                "owner_id": export.owner_id,
                "file": str(path),
                "rows": len(export.rows),
                "left_out": export.left_out,
            }
        self.report_values(options, values)
        return ExitCode.OK


def _write(path: Path, document: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(document)
    except OSError as error:
        raise InvalidRequest(
            f"{path} cannot be written: {error.strerror}.", todo="Name a file that does not exist yet."
        ) from error


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            document = file.read(MAX_EXPORT_BYTES + 1)
    except OSError as error:
        raise InvalidRequest(
            f"{path} cannot be read: {error.strerror}.", todo="Name a file that an export wrote."
        ) from error
    return document
