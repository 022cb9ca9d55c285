"""Apply a setup file, or export the present setup as one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from django.core.management.base import CommandParser

from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_tree import Node, Unclear, parse_documents
from registry_app.api.setup_file import SETUP_LISTS, SetupChange, apply_setup, export_setup
from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named

_MOST_BYTES = 16 * 2**20


class Command(DnsadminCommand):
    help = (
        "Apply a setup file (YAML or JSON): register and change what differs from it, all or nothing. What "
        "it does not have stays. With --dry-run only show the difference; with --export print the present "
        f"setup. Lists: {', '.join(SETUP_LISTS)}. Exit code: 0 done, 1 error, with --dry-run 2 if something "
        "differs, 3 refused by a safety rule."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", type=Path, help="Such as setup.yaml.")
        parser.add_argument("--as", dest="person", required=True, metavar="USER", help="Whose rights apply.")
        parser.add_argument("--dry-run", action="store_true", help="Change nothing, show what differs.")
        parser.add_argument("--export", action="store_true", help="Print the present setup instead.")

    def name_option(self, name: str) -> str:
        return name  # a place in the file

    def run(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["person"])
        if options["export"] == (options["file"] is not None):
            raise InvalidRequest(
                "Name a file, or give --export.", now="Nothing was done.", todo="One of them."
            )
        if options["export"]:
            document, lacking = export_setup(actor)
            comments = (f"# not exported, no reference: {each}" for each in lacking)
            text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
            self.report(options, document, [*comments, *text.splitlines()])
            return ExitCode.OK
        changes = apply_setup(actor, _read_file(options["file"]), dry_run=options["dry_run"])
        self.report(options, [_build(change) for change in changes], _format(changes, options["dry_run"]))
        return ExitCode.CHANGES if changes and options["dry_run"] else ExitCode.OK


def _read_file(path: Path) -> Any:
    """The one document of a file as plain values. Raises InvalidRequest."""
    place = Place(path.name)
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InvalidManifest(f"it has more than {_MOST_BYTES} bytes.", place)
        documents = list(parse_documents(text, place))
        if len(documents) != 1:
            raise InvalidManifest(f"it has {len(documents)} documents; write one.", place)
        return _read_node(documents[0][1], documents[0][0])
    except InvalidManifest as error:
        raise InvalidRequest(f"The file cannot be read. {error}") from error
    except OSError as error:
        raise InvalidRequest(f"The file cannot be read: {error.strerror}.", todo="Name another.") from error


def _read_node(node: Node, place: Place) -> Any:
    """Raises InvalidManifest for a word that programs read differently."""
    if isinstance(node, Unclear):
        raise InvalidManifest(f"`{node.word}` may be text or {node.reading}; write text in quotes.", place)
    if isinstance(node, list):
        return [_read_node(each, place.item(index)) for index, each in enumerate(node)]
    if isinstance(node, dict):
        return {name: _read_node(each, place.field(name)) for name, each in node.items()}
    return node


def _format(changes: list[SetupChange], dry_run: bool) -> Iterator[str]:  # noqa: FBT001 - the option
    for change in changes:
        yield f"{'+' if change.is_new else '~'} {change.noun} {change.row}"
        for name, (before, after) in change.fields.items():
            yield f"    {name}: {after!r}" if change.is_new else f"    {name}: {before!r} -> {after!r}"
    new = sum(change.is_new for change in changes)
    would = "would be " if dry_run else ""
    yield f"{new} {would}registered, {len(changes) - new} {would}changed." if changes else "Nothing differs."


def _build(change: SetupChange) -> dict[str, Any]:
    fields = {name: {"before": before, "after": after} for name, (before, after) in change.fields.items()}
    act = "register" if change.is_new else "change"
    return {"act": act, "list": change.noun, "row": change.row, "fields": fields}
