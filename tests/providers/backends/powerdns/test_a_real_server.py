"""What only a real PowerDNS shows: keys, what is disabled or commented, its own types, several zones."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from providers.backends.errors import BackendError, ChangeRefused
from providers.backends.powerdns import PowerDnsBackend
from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.pdns_server import API_KEY, RunningPowerDns, find_pdns, pdns_server
from tests.reference_server import make_claim, make_record

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        find_pdns() is None,
        reason="PowerDNS is not installed (Debian: apt-get install pdns-server pdns-backend-sqlite3)",
    ),
]

WWW = make_record("www.example.org")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningPowerDns]:
    with pdns_server(tmp_path, "example.org", "example.net") as server:
        yield server


def _backend(running: RunningPowerDns) -> PowerDnsBackend:
    return PowerDnsBackend(running.api())


def _names(backend: PowerDnsBackend) -> set[tuple[str, str]]:
    return {(each.dns_name, each.record_type) for each in backend.records() if each.record_type != "NS"}


def _call(running: RunningPowerDns, method: str, path: str, body: Any = None) -> Any:
    url = f"http://127.0.0.1:{running.port}/api/v1/servers/localhost/{path}"
    answer = requests.request(method, url, json=body, headers={"X-API-Key": API_KEY}, timeout=30)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def _rrset(running: RunningPowerDns, name: str, record_type: str) -> dict[str, Any]:
    zone = _call(running, "GET", "zones/example.org.")
    found: list[dict[str, Any]] = [
        each for each in zone["rrsets"] if (each["name"], each["type"]) == (name, record_type)
    ]
    return found[0] if found else {}


def _put(running: RunningPowerDns, **rrset: Any) -> None:
    _call(
        running, "PATCH", "zones/example.org.", {"rrsets": [{"changetype": "REPLACE", "ttl": 300, **rrset}]}
    )


def test_what_was_written_stands_after_a_restart(running: RunningPowerDns) -> None:
    backend = _backend(running)
    backend.apply(ChangeSet(create=(WWW, make_claim())))

    running.stop()
    running.start()

    assert _names(backend) == {("www.example.org", "A"), ("a-www.example.org", "TXT")}


def test_several_zones_are_read_and_each_is_written_once(running: RunningPowerDns) -> None:
    backend = _backend(running)

    backend.apply(ChangeSet(create=(WWW, make_record("www.example.net"))))

    assert _names(backend) == {("www.example.org", "A"), ("www.example.net", "A")}


def test_one_zone_that_cannot_take_its_part_does_not_keep_another_from_being_written(
    running: RunningPowerDns,
) -> None:
    backend = _backend(running)

    with pytest.raises(ChangeRefused):
        backend.apply(ChangeSet(create=(WWW,), delete=(make_record("absent.example.net"),)))

    assert _names(backend) == {("www.example.org", "A")}


def test_disabled_records_are_not_shown_and_stay_when_the_others_change(running: RunningPowerDns) -> None:
    backend = _backend(running)
    records = [{"content": "192.0.2.1", "disabled": False}, {"content": "192.0.2.7", "disabled": True}]
    _put(running, name="www.example.org.", type="A", records=records)
    (held,) = [each for each in backend.records() if each.record_type == "A"]

    backend.apply(ChangeSet(delete=(held,)))

    assert held.targets == ("192.0.2.1",)
    assert _rrset(running, "www.example.org.", "A")["records"] == [records[1]]
    assert _names(backend) == set()


def test_comments_stay_when_a_record_set_is_updated(running: RunningPowerDns) -> None:
    backend = _backend(running)
    comment = {"content": "Do not touch.", "account": "alice"}
    _put(
        running,
        name="www.example.org.",
        type="A",
        records=[{"content": "192.0.2.1", "disabled": False}],
        comments=[comment],
    )
    (held,) = [each for each in backend.records() if each.record_type == "A"]

    backend.apply(ChangeSet(update_old=(held,), update_new=(make_record(targets=("192.0.2.2",)),)))

    rrset = _rrset(running, "www.example.org.", "A")
    assert rrset["records"][0]["content"] == "192.0.2.2"
    assert rrset["comments"][0]["content"] == "Do not touch."


def test_types_of_its_own_are_neither_shown_nor_touched(running: RunningPowerDns) -> None:
    backend = _backend(running)
    _put(
        running,
        name="apex.example.org.",
        type="LUA",
        records=[{"content": "A \"ifportup(443, {'192.0.2.1'})\"", "disabled": False}],
    )

    backend.apply(ChangeSet(create=(WWW,)))

    assert _names(backend) == {("www.example.org", "A")}
    assert _rrset(running, "apex.example.org.", "LUA")


def test_a_wrong_key_is_told_and_the_key_is_not(running: RunningPowerDns) -> None:
    backend = PowerDnsBackend(running.api("not-the-right-key"))

    with pytest.raises(BackendError, match="API key is not accepted") as caught:
        backend.records()

    assert "not-the-right-key" not in str(caught.value)
    assert "not-the-right-key" not in repr(running.api("not-the-right-key"))


def test_a_zone_that_vanished_takes_nothing_and_the_others_do(running: RunningPowerDns) -> None:
    backend = _backend(running)
    _call(running, "DELETE", "zones/example.net.")

    with pytest.raises(ChangeRefused, match="in none of the zones"):
        backend.apply(ChangeSet(create=(WWW, make_record("www.example.net"))))

    assert _names(backend) == {("www.example.org", "A")}


def test_a_server_that_is_gone_is_an_error_and_never_empty(running: RunningPowerDns) -> None:
    backend = _backend(running)
    running.stop()

    with pytest.raises(BackendError):
        backend.records()
    with pytest.raises(BackendError, match="Nothing was changed"):
        backend.apply(ChangeSet(create=(WWW,)))

    running.start()
    assert _names(backend) == set()


def test_the_command_serves_its_zones_with_the_key_of_the_environment(running: RunningPowerDns) -> None:
    command = ["powerdns", "--api-url", f"http://127.0.0.1:{running.port}", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "providers.servers", *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PDNS_API_KEY": API_KEY},
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        answer = requests.get(ready["url"], headers={"Accept": WEBHOOK_MEDIA_TYPE}, timeout=30)
        process.send_signal(signal.SIGTERM)

    assert answer.json() == {"include": ["example.net", "example.org"]}


def test_without_a_key_the_command_does_not_start() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PDNS_API_KEY"}

    done = subprocess.run(
        [sys.executable, "-m", "providers.servers", "powerdns"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 1
    assert "PDNS_API_KEY" in done.stderr
