"""The backends that keep the contract, each as the tests get it: empty, over one zone, `example.org`.

A backend that needs a server that is not installed is left out by name: its line skips with the reason.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from providers.backends.backend import Backend
from providers.backends.memory import ApplyMode, MemoryBackend
from providers.backends.powerdns import PowerDnsBackend
from providers.backends.rfc2136 import Rfc2136Backend
from providers.backends.route53 import Route53Backend
from providers.backends.route53_api import Route53Api
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from tests.name_servers import BIND, KNOT, NameServerProgram, name_server
from tests.pdns_server import find_pdns, pdns_server
from tests.strict_route53 import CREDENTIALS, strict_route53

ZONE = "example.org"
MakeBackend = Callable[[Path], AbstractContextManager[Backend]]


@contextmanager
def _memory(_folder: Path) -> Iterator[Backend]:
    yield MemoryBackend()


@contextmanager
def _memory_one_by_one(_folder: Path) -> Iterator[Backend]:
    yield MemoryBackend(mode=ApplyMode.SEQUENTIAL)


@contextmanager
def _memory_any_old_value(_folder: Path) -> Iterator[Backend]:
    yield MemoryBackend(value_exact=False)


@contextmanager
def _zone_file(folder: Path) -> Iterator[Backend]:
    write_new_zone(folder / f"{ZONE}.zone", ZONE)
    yield ZoneFileBackend(folder)


@contextmanager
def _rfc2136(kind: NameServerProgram, folder: Path) -> Iterator[Backend]:
    if kind.path is None:
        pytest.skip(kind.absence)
    with name_server(kind, folder) as running:
        yield Rfc2136Backend(running.server(), [ZONE])


@contextmanager
def _powerdns(folder: Path) -> Iterator[Backend]:
    if find_pdns() is None:
        pytest.skip("PowerDNS is not installed (Debian: apt-get install pdns-server pdns-backend-sqlite3)")
    with pdns_server(folder, ZONE) as running:
        yield PowerDnsBackend(running.api())


@contextmanager
def _route53(_folder: Path) -> Iterator[Backend]:
    with strict_route53() as service, pytest.MonkeyPatch.context() as environment:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": service.url}.items():
            environment.setenv(name, value)
        service.create_zone(ZONE)
        yield Route53Backend(Route53Api(seconds=20.0))


# The first of them need no server, and none is another one with another setting.
IN_THIS_PROCESS = 2
BACKENDS: Mapping[str, MakeBackend] = {
    "memory": _memory,
    "zone_file": _zone_file,
    "memory, one by one": _memory_one_by_one,
    "memory, any old value": _memory_any_old_value,
    "rfc2136 (BIND)": partial(_rfc2136, BIND),
    "rfc2136 (Knot)": partial(_rfc2136, KNOT),
    "powerdns": _powerdns,
    "route53": _route53,
}
