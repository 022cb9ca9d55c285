"""What the dnsadmin commands share: --json, --as, exit codes, and what they print, errors included."""

import getpass
import json
import sys
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder
from django.db import ProgrammingError

from registry_app.actor import Actor
from registry_app.errors import (
    DATABASE_ERRORS,
    ConfirmationNeeded,
    DatabaseUnusable,
    DnsadminError,
    InvalidRequest,
    RefusedBySafety,
)


class ExitCode(IntEnum):
    """The exit codes of every dnsadmin command."""

    OK = 0
    ERROR = 1
    CHANGES = 2  # findings, changes, or something broken was found
    REFUSED = 3  # a safety rule said no


class DnsadminCommand(BaseCommand):
    """A command whose work is in `run`, which gives the exit code.

    `options_of_names` says how it calls what the use cases call otherwise.
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
        """Do the work."""
        raise NotImplementedError

    def name_option(self, name: str) -> str:
        """How somebody at the shell calls what the use cases call `name`."""
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
        told = [_describe(error), *(f"{name}: {' '.join(texts)}" for name, texts in fields.items())]
        code = ExitCode.REFUSED if isinstance(error, RefusedBySafety) else ExitCode.ERROR
        return CommandError(printable(" ".join(told)), returncode=int(code))


def write_json(stream: OutputWrapper, document: Any) -> None:
    """One JSON document, the only thing on standard output under --json."""
    stream.write(json.dumps(document, cls=DjangoJSONEncoder, indent=2))


def printable(text: object) -> str:
    """Text from outside for a terminal: what would move the cursor or hide text is shown as its escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(text)
    )


def actor_named(username: str, noun: str = "--as") -> Actor:
    """The person a command acts for: their rights are asked, and their name is in the audit trail.

    A shell on the machine is no right of its own: whoever changes ownership is named.
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
    """Who is at the shell, for what needs no right: looking, syncing, going on with approved work."""
    return Actor(kind="command", name=f"{getpass.getuser()} (shell)")


def _describe(error: DnsadminError) -> str:
    """The error in the words of a command: what is typed in the web admin is an option here."""
    if not isinstance(error, ConfirmationNeeded):
        return str(error)
    return f"{error.happened} {error.now} To do it anyway, add: --confirm {error.confirmation_text!r}"
