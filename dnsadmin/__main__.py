"""Django's command line for dnsadmin: `dnsadmin`, `python -m dnsadmin`, and `manage.py` in a checkout."""

import os
import sys

from django.core.management import execute_from_command_line

from dnsadmin.env import STATE_DIR, BadSetting, MissingSecret
from dnsadmin.roles import COMMAND_LOG_LEVEL, assume_what_runs
from registry_app.errors import DATABASE_ERRORS, DatabaseUnusable


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")
    assume_what_runs(STATE_DIR, os.environ)
    os.environ.setdefault("DNSADMIN_LOG_LEVEL", COMMAND_LOG_LEVEL)
    try:
        execute_from_command_line(sys.argv)
    except (BadSetting, MissingSecret) as error:
        sys.exit(f"dnsadmin cannot start. {error}")
    except BrokenPipeError:
        # Whoever read the output left, as `head` does. What is flushed at the end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except DATABASE_ERRORS as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(str(DatabaseUnusable(error)))


if __name__ == "__main__":
    main()
