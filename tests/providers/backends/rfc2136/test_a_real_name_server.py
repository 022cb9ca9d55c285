"""What only a real name server shows: keys, other writers, several zones, transfers that break off."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.name
import dns.update
import msgspec
import pytest
import requests

from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused
from providers.backends.name_server import NameServer, NoAnswer, TsigKey
from providers.backends.rfc2136 import Rfc2136Backend
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.name_servers import KEY, NAME_SERVERS, ZONES, NameServerProgram, RunningNameServer, name_server
from tests.reference_server import make_claim, make_record

pytestmark = pytest.mark.deep

WWW = make_record("www.example.org")


@pytest.fixture(
    params=[
        pytest.param(kind, id=kind.title, marks=pytest.mark.skipif(kind.path is None, reason=kind.absence))
        for kind in NAME_SERVERS
    ]
)
def kind(request: pytest.FixtureRequest) -> NameServerProgram:
    program: NameServerProgram = request.param
    return program


@pytest.fixture
def running(kind: NameServerProgram, tmp_path: Path) -> Iterator[RunningNameServer]:
    with name_server(kind, tmp_path) as server:
        yield server


def _names(backend: Rfc2136Backend) -> set[tuple[str, str]]:
    return {(each.dns_name, each.record_type) for each in backend.records() if each.record_type != "NS"}


def test_what_was_written_stands_after_a_restart(running: RunningNameServer) -> None:
    backend = Rfc2136Backend(running.server(), ["example.org"])
    backend.apply(ChangeSet(create=(WWW, make_claim())))

    running.stop()
    running.start()

    assert _names(backend) == {("www.example.org", "A"), ("a-www.example.org", "TXT")}


def test_several_zones_are_read_and_written_each_in_one_message(running: RunningNameServer) -> None:
    backend = Rfc2136Backend(running.server(), ZONES)

    backend.apply(ChangeSet(create=(WWW, make_record("www.example.net"))))

    assert _names(backend) == {("www.example.org", "A"), ("www.example.net", "A")}


def test_one_zone_that_cannot_take_its_part_does_not_keep_another_from_being_written(
    running: RunningNameServer,
) -> None:
    backend = Rfc2136Backend(running.server(), ZONES)
    absent = make_record("absent.example.net")

    with pytest.raises(ChangeRefused):
        backend.apply(ChangeSet(create=(WWW,), delete=(absent,)))

    assert _names(backend) == {("www.example.org", "A")}


def test_another_writer_between_our_read_and_our_update_is_seen_by_the_server(
    running: RunningNameServer,
) -> None:
    backend = Rfc2136Backend(_MeddledServer(running), ["example.org"])

    with pytest.raises(ChangeRefused, match="at the same time"):
        backend.apply(ChangeSet(create=(WWW, make_claim())))

    assert [each.targets for each in backend.records() if each.record_type == "A"] == [("198.51.100.9",)]
    assert ("a-www.example.org", "TXT") not in _names(backend)


class _MeddledServer(NameServer):
    """Somebody else writes the name just before our update arrives."""

    def __init__(self, running: RunningNameServer) -> None:
        own = running.server()
        super().__init__(own.host, own.port, key=own.key)

    def exchange(self, message: dns.message.Message) -> dns.message.Message:
        other = dns.update.UpdateMessage("example.org.")
        other.add("www.example.org.", 300, "A", "198.51.100.9")
        self.sign(other)
        super().exchange(other)
        return super().exchange(message)


@pytest.mark.parametrize(
    "key",
    [
        None,
        TsigKey(KEY.name, KEY.algorithm, b"another secret of some thirty-two"),
        TsigKey("unknown-key", KEY.algorithm, KEY.secret),
    ],
)
def test_a_wrong_key_is_told_and_reads_nothing(running: RunningNameServer, key: TsigKey | None) -> None:
    backend = Rfc2136Backend(running.server(key), ["example.org"])

    with pytest.raises(BackendError) as caught:
        backend.records()

    assert "key" in str(caught.value)
    assert "secret of" not in str(caught.value)
    assert "secret of" not in repr(key)


def test_a_zone_that_is_not_there_is_an_error_and_never_empty(running: RunningNameServer) -> None:
    backend = Rfc2136Backend(running.server(), ["example.org", "example.com"])

    with pytest.raises(BackendError, match=r"example\.com"):
        backend.records()


def test_a_name_server_that_is_gone_changes_nothing_and_says_so(running: RunningNameServer) -> None:
    backend = Rfc2136Backend(running.server(), ["example.org"])
    running.stop()

    with pytest.raises(BackendError, match="Nothing was changed"):
        backend.apply(ChangeSet(create=(WWW,)))

    running.start()
    assert _names(backend) == set()


def test_what_a_zone_cannot_hold_is_refused(running: RunningNameServer) -> None:
    backend = Rfc2136Backend(running.server(), ["example.org"])

    for endpoint in (
        msgspec.structs.replace(WWW, set_identifier="eu"),
        make_record("www.example.com"),
        make_record("www.example.org", "A", ("not an address",)),
    ):
        with pytest.raises(ChangeImpossible):
            backend.apply(ChangeSet(create=(endpoint,)))
    assert _names(backend) == set()


def test_more_than_fits_in_one_message_goes_in_several(running: RunningNameServer) -> None:
    backend = Rfc2136Backend(running.server(), ["example.org"])
    many = tuple(make_claim(f"app-{number:05d}.example.org", resource="x" * 200) for number in range(400))

    backend.apply(ChangeSet(create=many))

    assert len(_names(backend)) == 400


def test_ten_thousand_record_sets_are_read_whole(running: RunningNameServer) -> None:
    running.stop()
    zone = running.folder / "example.org.zone"
    lines = [f"app-{n}.example.org. 300 IN A 192.0.2.{n % 250 + 1}" for n in range(10_000)]
    zone.write_text(zone.read_text() + "\n".join(lines) + "\n")
    running.start()

    found = Rfc2136Backend(running.server(), ["example.org"]).records()

    assert len(found) == 10_001


@contextmanager
def _listening(answer: bytes) -> Iterator[int]:
    """Something on a port that says `answer` to whoever connects, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(timeout=10)


@pytest.mark.parametrize("answer", [b"", b"\x00", b"\x00\x20short", b"\x00\x04\xff\xff\xff\xff"])
def test_a_transfer_that_breaks_off_is_never_taken_for_whole(answer: bytes) -> None:
    with _listening(answer) as port:
        server = NameServer("127.0.0.1", port, seconds=5.0)

        with pytest.raises(BackendError):
            server.fetch_zone(dns.name.from_text("example.org"))


def test_a_server_that_stays_silent_is_left_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = NameServer("127.0.0.1", listener.getsockname()[1], seconds=0.3)

        with pytest.raises(NoAnswer, match="in time"):
            server.fetch_zone(dns.name.from_text("example.org"))


def test_the_command_serves_a_zone_with_the_key_of_a_file(running: RunningNameServer) -> None:
    command = ["rfc2136", "--zone", "example.org", "--server-port", str(running.port)]
    command += ["--key-file", str(running.key_file), "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "providers.servers", *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        answer = requests.get(f"{ready['url']}/records", headers={"Accept": WEBHOOK_MEDIA_TYPE}, timeout=30)
        process.send_signal(signal.SIGTERM)

    shown = msgspec.json.decode(answer.content, type=list[Endpoint])
    assert answer.status_code == 200
    assert [(each.dns_name, each.record_type) for each in shown] == [("example.org", "NS")]
