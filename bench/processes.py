"""The product in processes of its own, so that time and memory of a measurement are its own."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


@contextmanager
def product_folder() -> Iterator[Path]:
    """A state folder for the product, and the settings that make it run there: a fresh SQLite file, or the
    database of DATABASE_URL, which is emptied."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        os.environ |= {
            "DNSADMIN_STATE_DIR": name,
            "DNSADMIN_ALLOW_LOOPBACK": "1",
            "DJANGO_SETTINGS_MODULE": "dnsadmin.settings",
        }
        yield Path(name)


def run_apart(target: Callable[..., None], *arguments: object) -> Any:
    """Run in a fresh process and return what it sent through the connection, its last argument."""
    return start_apart(target, *arguments)()


def start_apart(target: Callable[..., None], *arguments: object) -> Callable[[], Any]:
    """Begin to run in a fresh process; the result waits for what it sends."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=target, args=(*arguments, there))
    process.start()
    there.close()

    def wait() -> Any:
        try:
            return here.recv()
        finally:
            process.join()

    return wait


def prepare(state: Path, urls: list[str], result: Connection) -> None:
    """A migrated, empty database with one provider for each URL; sends their primary keys."""
    import django

    from dnsadmin.prepare import prepare_state

    prepare_state(state)
    django.setup()
    from django.core.management import call_command

    from registry_app.models import Provider

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    made = [
        Provider.objects.create(
            name=f"bench-{number}",
            url=url,
            max_body_bytes=1024 * 1024 * 1024,
            max_items=10_000_000,
            deadline_seconds=600,
        )
        for number, url in enumerate(urls)
    ]
    result.send([provider.pk for provider in made])


def peak_bytes(pid: int | None = None) -> int:
    """The most memory that a process, this one by default, has had until now. Not by `getrusage`: what that
    says of a process begins with the peak of the process that started it."""
    lines = Path(f"/proc/{pid or os.getpid()}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
