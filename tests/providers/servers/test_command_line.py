"""`python -m providers.servers` as a process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import requests

from providers.backends.zone_file import write_new_zone
from providers.registries.encryption import encrypt_labels_text
from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_endpoints
from tests.providers.servers.calls import ACCEPT, fetch_endpoints, fetch_records, post_changes
from tests.reference_server import make_claim, make_record, make_zone

pytestmark = pytest.mark.deep

Start = Callable[..., tuple[subprocess.Popen[str], dict[str, str]]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a server process and waits for its line of JSON."""
    started: list[subprocess.Popen[str]] = []

    def _start(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "providers.servers", *arguments, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        assert process.stdout is not None
        return process, json.loads(process.stdout.readline())

    yield _start
    for process in started:
        process.kill()
        process.communicate()


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "providers.servers", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, **environment},
    )


def test_a_zone_file_server_keeps_its_records_over_a_restart(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    zone = make_zone(count=20)
    first, ready = start("zone_file", str(path))
    answer = post_changes(ready["url"], ChangeSet(create=tuple(zone)))

    first.send_signal(signal.SIGTERM)
    status = first.wait(timeout=10)
    _, ready = start("zone_file", str(path))

    assert (answer.status_code, status) == (204, 0)
    assert all(each in fetch_endpoints(ready["url"]) for each in zone)


def test_no_thread_takes_a_stop_but_the_one_that_waits_for_it(start: Start) -> None:
    process, _ = start("memory", "--operations-port", "0")

    threads = list(Path(f"/proc/{process.pid}/task").iterdir())
    others = [thread for thread in threads if thread.name != str(process.pid)]
    blocked = [int(_read_status(thread, "SigBlk"), 16) for thread in others]

    assert others
    for number in (signal.SIGTERM, signal.SIGINT):
        assert all(mask & 1 << (number - 1) for mask in blocked)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_that_comes_as_soon_as_it_is_ready_ends_it(start: Start, number: signal.Signals) -> None:
    for _ in range(5):
        process, _ready = start("memory", "--operations-port", "0")

        process.send_signal(number)

        assert process.wait(timeout=20) == 0


def _read_status(thread: Path, name: str) -> str:
    lines = (thread / "status").read_text(encoding="ascii").splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))


def test_a_memory_server_begins_with_its_seed(tmp_path: Path, start: Start) -> None:
    seed = tmp_path / "seed.json"
    seed.write_bytes(encode_endpoints(make_zone(count=3)))

    process, ready = start("memory", "--seed", str(seed), "--domain-filter", "example.org")

    assert fetch_endpoints(ready["url"]) == make_zone(count=3)
    assert requests.get(ready["url"], headers=ACCEPT, timeout=5).json() == {"include": ["example.org"]}
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 0


def test_health_and_metrics_are_served_on_the_operations_port(start: Start) -> None:
    _, ready = start("memory", "--operations-port", "0")

    assert requests.get(f"{ready['operations_url']}/healthz", timeout=5).text == "ok\n"
    assert "dnsadmin_provider_requests" in requests.get(f"{ready['operations_url']}/metrics", timeout=5).text


def test_credentials_come_from_the_environment(start: Start) -> None:
    _, ready = start("memory", PROVIDER_SERVER_BASIC="alice:s3cret")

    assert fetch_records(ready["url"]).status_code == 401
    assert fetch_records(ready["url"].replace("http://", "http://alice:s3cret@")).status_code == 200


def test_the_mode_of_the_memory_backend_can_be_chosen(tmp_path: Path, start: Start) -> None:
    seed = tmp_path / "seed.json"
    seed.write_bytes(encode_endpoints([make_record()]))
    _, ready = start("memory", "--seed", str(seed), "--mode", "skip_unmatched", "--any-old-value")

    answer = post_changes(
        ready["url"], ChangeSet(delete=(make_record(ttl=1), make_record("missing.example.org")))
    )

    assert answer.status_code == 204
    assert fetch_endpoints(ready["url"]) == []


def test_it_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    starter = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', 'providers.servers', 'memory', '--port', '0',"
        " '--exit-with-parent', str(os.getpid())])\n"
        "child.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    ready = json.loads(parent.stdout.readline())
    assert fetch_records(ready["url"]).status_code == 200

    parent.kill()
    # The child holds the same pipe: it reads as ended only when the child has ended too.
    rest, _ = parent.communicate(timeout=10)

    assert rest == ""
    with pytest.raises(requests.ConnectionError):
        fetch_records(ready["url"])


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (("zone_file", "/nowhere/example.org.zone"), {}, "cannot be read"),
        (("memory", "--seed", "/nowhere/seed.json"), {}, "No such file"),
        (("memory", "--tls-key", "/nowhere/key.pem"), {}, "go together"),
        (("memory", "--host", "192.0.2.1"), {}, "cannot start"),
        (("memory",), {"PROVIDER_SERVER_BASIC": "alice"}, "user:secret"),
        (("memory",), {"PROVIDER_SERVER_BASIC": "a:b", "PROVIDER_SERVER_BEARER": "c"}, "keep one"),
        (("memory", "--exit-with-parent", "1"), {}, "has ended already"),
    ],
)
def test_what_it_cannot_start_with_is_said_in_one_sentence(
    arguments: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    result = _run(*arguments, "--port", "0", **environment)

    assert result.returncode == 1
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [(), ("route54",), ("memory", "--port", "65536"), ("memory", "--mode", "odd")]
)
def test_wrong_arguments_are_told_apart_from_a_failed_start(arguments: tuple[str, ...]) -> None:
    result = _run(*arguments)

    assert result.returncode == 2
    assert "usage:" in result.stderr


def test_it_lists_its_backends_and_their_options() -> None:
    result = _run("--list")

    assert result.returncode == 0
    assert "zone_file: " in result.stdout
    assert "memory: " in result.stdout
    assert "--seed FILE" in result.stdout


def test_a_port_in_use_is_said(start: Start) -> None:
    _, ready = start("memory")

    result = _run("memory", "--port", str(ready["port"]))

    assert result.returncode == 1
    assert "in use" in result.stderr


def test_it_begins_with_the_flags_of_externaldns_to_use_with_it(start: Start) -> None:
    _, ready = start("memory", "--domain-filter", "example.org", PROVIDER_SERVER_BASIC="alice:s3cret")

    flags = ready["external_dns"].split()

    assert flags[:2] == ["external-dns", "--provider=webhook"]
    assert f"--webhook-provider-url=http://USER:SECRET@127.0.0.1:{ready['port']}" in flags
    assert {"--registry=txt", "--managed-record-types=CNAME", "--domain-filter=example.org"} <= set(flags)
    assert "s3cret" not in ready["external_dns"]


def test_keys_of_encrypted_claims_come_from_files_and_the_environment(tmp_path: Path, start: Start) -> None:
    text = "s%zF`.*'5`9.AhI2!B,.~hmbs^.*TL?;"
    file = tmp_path / "claims.key"
    file.write_text(f"{text}\n")
    plain = make_claim()
    encrypted = [
        msgspec.structs.replace(
            plain, targets=(f'"{encrypt_labels_text(plain.targets[0].strip(chr(34)), text.encode())}"',)
        )
        for _ in range(2)
    ]

    for arguments, environment in (
        (("--txt-encrypt-aes-key-file", str(file)), {}),
        ((), {"EXTERNAL_DNS_TXT_ENCRYPT_AES_KEY": text}),
    ):
        _, ready = start("memory", *arguments, **environment)
        post_changes(ready["url"], ChangeSet(create=(encrypted[0],)))
        answer = post_changes(ready["url"], ChangeSet(delete=(encrypted[1],)))

        assert (answer.status_code, fetch_endpoints(ready["url"])) == (204, [])
        assert "--txt-encrypt-enabled" in ready["external_dns"]
        assert text not in ready["external_dns"]
    file.write_text("too short")
    refused = _run("memory", "--txt-encrypt-aes-key-file", str(file))
    assert refused.returncode == 1
    assert "claims.key" in refused.stderr
    assert "too short" not in refused.stderr
