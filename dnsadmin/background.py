"""The roles worker and beat: `python -m dnsadmin.background ROLE` with options of Celery's command of
that name, started by dnsadmin.roles.
"""

import os
import sys

from dnsadmin.env import BadSetting, env, fetch_operations_port
from dnsadmin.metrics_folder import VARIABLE, make_metrics_folder
from dnsadmin.web import CannotStart, raise_if_port_taken


def main(arguments: list[str]) -> int:
    role = arguments[0]
    setting = f"DNSADMIN_{role.upper()}_OPERATIONS_PORT"
    try:
        if port := fetch_operations_port(setting):
            host = env.str("DNSADMIN_OPERATIONS_LISTEN", default="127.0.0.1")
            raise_if_port_taken(host, port, hint=f"{setting} and DNSADMIN_OPERATIONS_LISTEN")
            # Before anything that counts is imported: the processes of a role count in files that all read.
            os.environ[VARIABLE] = make_metrics_folder(role)
    except (BadSetting, CannotStart) as error:
        sys.stderr.write(f"The role {role} did not start. {error}\n")
        return 1
    from celery.__main__ import main as become_celery

    sys.argv = ["celery", "--app", "dnsadmin", "--quiet", *arguments]
    become_celery()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
