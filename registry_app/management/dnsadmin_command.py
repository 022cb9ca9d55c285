"""What the dnsadmin commands share: --json, --as, acts, exit codes, and what they print, errors included."""

import getpass
import json
import sys
from argparse import SUPPRESS
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder
from django.db import ProgrammingError
from django.utils.dateparse import parse_datetime

from registry_app.actor import Actor
from registry_app.errors import (
    DATABASE_ERRORS,
    ConfirmationNeeded,
    DatabaseUnusable,
    DnsadminError,
    InvalidRequest,
    NotFound,
    RefusedBySafety,
)
from registry_app.models import Provider
from registry_app.queries.named_row import find_named_provider


class ExitCode(IntEnum):
    """The exit codes of every dnsadmin command."""

    OK = 0
    ERROR = 1
    CHANGES = 2  # findings, changes, or something broken was found
    REFUSED = 3  # by a safety rule


class DnsadminCommand(BaseCommand):
    """A command whose work is in `run`, which returns the exit code; a command with acts has a method `_ACT`
    for each instead.

    `options_of_names` has its options for the names that the use cases use.
    """

    options_of_names: ClassVar[Mapping[str, str]] = {}
    _has_begun = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON document.")

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except SystemExit as leaving:
            # argparse leaves with 2 on a typing error, which here means findings or changes.
            if leaving.code == ExitCode.CHANGES and not self._has_begun:
                raise SystemExit(int(ExitCode.ERROR)) from leaving
            raise

    def handle(self, *_arguments: Any, **options: Any) -> None:
        self._has_begun = True
        try:
            code = self.run(options)
        except DnsadminError as error:
            raise self._translate(error, as_json=options["json"]) from error
        except (*DATABASE_ERRORS, ProgrammingError) as error:  # the last: PostgreSQL, never migrated
            raise self._translate(DatabaseUnusable(error), as_json=options["json"]) from error
        if code is not ExitCode.OK:
            sys.exit(int(code))

    def run(self, options: dict[str, Any]) -> ExitCode:
        """Do the work; by default that of the act that was named."""
        act: Callable[[dict[str, Any]], ExitCode] = getattr(self, f"_{options['act']}")
        return act(options)

    def report(self, options: Mapping[str, Any], document: Any, lines: Iterable[str]) -> None:
        """Print the document under --json, and the lines otherwise."""
        if options["json"]:
            write_json(self.stdout, document)
            return
        for line in lines:
            self.stdout.write(printable(line))

    def report_values(self, options: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Print a few values, by name."""
        self.report(options, values, [", ".join(f"{name} {value}" for name, value in values.items())])

    def name_option(self, name: str) -> str:
        """The option that sets what the use cases call `name`."""
        if name in self.options_of_names or name.startswith("-"):
            return self.options_of_names.get(name, name)
        return f"--{name.replace('_', '-')}"

    def show_progress(self, text: str) -> None:
        """A line for somebody who waits at a terminal; scripts and logs never see it."""
        if self.stderr.isatty():
            self.stderr.write(printable(text))

    def _translate(self, error: DnsadminError, *, as_json: bool) -> CommandError:
        given = error.fields if isinstance(error, InvalidRequest) else {}
        fields = {self.name_option(name): texts for name, texts in given.items()}
        if as_json:
            problem = {"code": error.code, "happened": error.happened, "now": error.now, "todo": error.todo}
            write_json(self.stdout, {"error": {**problem, "fields": fields}})
        parts = [_describe(error), *(f"{name}: {' '.join(texts)}" for name, texts in fields.items())]
        code = ExitCode.REFUSED if isinstance(error, RefusedBySafety) else ExitCode.ERROR
        return CommandError(printable(" ".join(parts)), returncode=int(code))


def add_act(acts: Any, name: str, text: str) -> CommandParser:
    """The parser of an act. It takes --json as well, so that it may be at the end of the line."""
    act: CommandParser = acts.add_parser(name, help=text)
    # SUPPRESS keeps the value of a --json before the act.
    act.add_argument("--json", action="store_true", default=SUPPRESS, help="Print one JSON document.")
    return act


def write_json(stream: OutputWrapper, document: Any) -> None:
    """One JSON document, the only thing on standard output under --json."""
    stream.write(json.dumps(document, cls=DjangoJSONEncoder, indent=2))


def printable(text: object) -> str:
    """Text from outside for a terminal: what would move the cursor or hide text is shown as its escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(text)
    )


def read_moment(text: str, name: str) -> datetime:
    """A moment that somebody typed; UTC where it has no offset. Raises InvalidRequest, about `name`."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise InvalidRequest(
            f"{text!r} is no moment.", now="Nothing was read.", fields={name: ["Such as 2026-11-22T10:00Z."]}
        )
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def actor_named(username: str, noun: str = "--as") -> Actor:
    """The person a command acts for: their rights apply, and their name is in the audit trail.

    A shell on the machine gives no right of its own.
    """
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise InvalidRequest(
            f"There is no active user {username!r}.", fields={noun: ["Name an active user of dnsadmin."]}
        )
    return Actor(
        kind="command", name=user.get_username(), user_id=user.pk, is_superuser=bool(user.is_superuser)
    )


def actor_of_shell() -> Actor:
    """Who is at the shell, for what needs no right: to look, to sync, to continue approved work."""
    return Actor(kind="command", name=f"{getpass.getuser()} (shell)")


def _describe(error: DnsadminError) -> str:
    """The error as a command prints it: the text to type in the web admin is an option here."""
    if not isinstance(error, ConfirmationNeeded):
        return str(error)
    return f"{error.happened} {error.now} To do it anyway, add: --confirm {error.confirmation_text!r}"


def find_providers(named: list[str], *, want_all: bool) -> list[Provider]:
    """The named providers, each once. Raises NotFound or InvalidRequest."""
    if want_all == bool(named):
        raise InvalidRequest(
            "No provider is named." if not named else "Provider names were given together with --all.",
            now="Nothing was synced.",
            todo="Name providers, or give --all.",
        )
    if want_all:
        return list(Provider.objects.filter(is_enabled=True).only("id", "name"))
    return list({provider.pk: provider for provider in map(find_provider, named)}.values())


def find_provider(text: str) -> Provider:
    """A provider by id or by name. Raises NotFound."""
    provider = find_named_provider(text)
    if provider is None:
        raise NotFound(f"There is no provider {text!r}.", now="Nothing was done.", todo="See the list.")
    return provider
