"""A command as a script runs it: arguments in, exit code and text out."""

import io
import json
from typing import Any

from django.core.management import CommandError, call_command


def run_command(*arguments: str) -> tuple[int, str]:
    """The exit code and what was printed."""
    out = io.StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, out.getvalue() + str(error)
    except SystemExit as leaving:
        return int(leaving.code or 0), out.getvalue()
    return 0, out.getvalue()


def run_json(*arguments: str) -> tuple[int, Any]:
    """The exit code and the one JSON document on standard output."""
    out = io.StringIO()
    code = 0
    try:
        call_command(*arguments, "--json", stdout=out, stderr=io.StringIO())
    except CommandError as error:
        code = error.returncode
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    return code, json.loads(out.getvalue())
