"""What a command ends with: an exit code a script can rely on, and one JSON document or lines for people."""

import json
from enum import IntEnum
from typing import Any

from django.core.management.base import OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder


class ExitCode(IntEnum):
    """The exit codes of every dnsadmin command."""

    OK = 0
    ERROR = 1
    CHANGES = 2  # findings, changes, or something broken was found
    REFUSED = 3  # a safety rule said no


def write_json(stream: OutputWrapper, document: Any) -> None:
    """One JSON document, the only thing on standard output under --json."""
    stream.write(json.dumps(document, cls=DjangoJSONEncoder, indent=2))


def printable(text: object) -> str:
    """Text from outside for a terminal: what would move the cursor or hide text is shown as its escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(text)
    )
