"""300 names go from one cluster to another while a client asks a real BIND for each of them all the time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import pytest

from providers.backends.rfc2136 import Rfc2136Backend
from providers.wire.endpoint import Endpoint
from registry_app.models import HandOver, Provider
from tests.external_dns.instance import Outcome
from tests.name_servers import BIND, name_server
from tests.reference_server import make_record
from tests.registry_app.hand_over.world import open_clusters
from tests.registry_app.reconcile.syncing import sync
from tests.servers.provider_server import WebhookServer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.deep,
    pytest.mark.one_database,
    pytest.mark.skipif(BIND.path is None, reason=BIND.absence),
]
_OLD = {"A": "192.0.2.1", "AAAA": "2001:db8::1", "CNAME": "old.example.net"}
_NEW = {"A": "203.0.113.1", "AAAA": "2001:db8:1::1", "CNAME": "new.example.net"}


def _list_types(number: int) -> tuple[str, ...]:
    return ("A",) if number % 3 == 0 else ("A", "AAAA") if number % 3 == 1 else ("CNAME",)


def _make(number: int, targets: dict[str, str], types: tuple[str, ...]) -> list[Endpoint]:
    name = f"*.w{number}.example.org" if number % 10 == 0 else f"app-{number}.example.org"
    return [make_record(name, kind, (targets[kind],), ttl=60) for kind in types]


class Asker(threading.Thread):
    """A client that asks for each name in turn, until it is stopped. `wrong` is what no cluster ever said."""

    def __init__(self, port: int, asked: list[tuple[str, str]]) -> None:
        super().__init__(daemon=True)
        self._port, self._asked, self._ends = port, asked, threading.Event()
        self.wrong: list[str] = []
        self.count = 0

    def run(self) -> None:
        while not self._ends.is_set():
            for name, kind in self._asked:
                query = dns.message.make_query(name.replace("*", "any"), kind)
                answer = dns.query.udp(query, "127.0.0.1", port=self._port, timeout=10)
                found = {each.to_text().rstrip(".") for rrset in answer.answer for each in rrset}
                self.count += 1
                if answer.rcode() != dns.rcode.NOERROR or not found or not found <= {_OLD[kind], _NEW[kind]}:
                    self.wrong.append(f"{name} {kind}: {dns.rcode.to_text(answer.rcode())} {sorted(found)}")

    def stop(self) -> None:
        self._ends.set()
        self.join(timeout=30)


@contextmanager
def _asking(port: int, asked: list[tuple[str, str]]) -> Iterator[Asker]:
    asker = Asker(port, asked)
    asker.start()
    try:
        yield asker
    finally:
        asker.stop()


def test_every_name_is_answered_at_every_moment(tmp_path: Path) -> None:
    before = [each for number in range(300) for each in _make(number, _OLD, _list_types(number))]
    # Every tenth CNAME becomes an A; of those, and of those alone, no promise is made in between.
    replaced = set(range(2, 300, 30))
    after = [
        each
        for number in range(300)
        for each in _make(number, _NEW, ("A",) if number in replaced else _list_types(number))
    ]
    changing = {each.dns_name for number in replaced for each in _make(number, _NEW, ("A",))}
    asked = [(each.dns_name, each.record_type) for each in before if each.dns_name not in changing]
    with (
        name_server(BIND, tmp_path) as bind,
        open_clusters(tmp_path, []) as clusters,
    ):
        backend = Rfc2136Backend(bind.server(), ["example.org"])
        server = WebhookServer(backend)
        server.start()
        Provider.objects.update(url=server.url)
        sync(clusters.provider)
        clusters.blue.desired = before
        assert clusters.blue.run_once().outcome is Outcome.CHANGED
        sync(clusters.provider)
        with _asking(bind.port, asked) as asker:
            row = clusters.begin()
            clusters.green.desired = after
            for _ in range(6):
                clusters.green.run_once()
                clusters.work(row)
                clusters.blue.run_once()
            clusters.blue.desired = []
            clusters.blue.run_once()
        quiet = clusters.green.run_once().outcome
        zone = {(each.dns_name, each.record_type): each.targets for each in backend.records()}
        server.stop()

    row.refresh_from_db()
    assert asker.wrong == []
    assert asker.count > 1_000
    assert quiet is Outcome.QUIET
    assert row.status == HandOver.Status.FINISHED
    assert {key: targets for key, targets in zone.items() if key[1] in _NEW} == {
        (each.dns_name, each.record_type): each.targets for each in after
    }
