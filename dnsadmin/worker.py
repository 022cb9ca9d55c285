"""The worker role: `python -m dnsadmin.worker` with options of Celery's worker, started by dnsadmin.roles."""

import os
import sys

from dnsadmin.env import fetch_operations_port
from dnsadmin.metrics_folder import VARIABLE, make_metrics_folder


def main(arguments: list[str]) -> None:
    if fetch_operations_port("DNSADMIN_WORKER_OPERATIONS_PORT"):
        # Before anything that counts is imported: the processes of a worker count in files that all can read.
        os.environ[VARIABLE] = make_metrics_folder("worker")
    from celery.__main__ import main as become_celery

    sys.argv = ["celery", "--app", "dnsadmin", "--quiet", "worker", *arguments]
    become_celery()


if __name__ == "__main__":
    main(sys.argv[1:])
