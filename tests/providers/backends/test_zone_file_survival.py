"""Zone files outlive restarts, crashes, other writers and what we do not understand in them."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from providers.backends.errors import BackendError
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.wire.change_set import ChangeSet
from tests.reference_server import make_record, make_zone

pytestmark = pytest.mark.deep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    return path


def test_a_second_backend_reads_all_the_first_one_wrote(path: Path) -> None:
    zone = make_zone(count=50)
    first = ZoneFileBackend(path)

    first.apply(ChangeSet(create=tuple(zone)))

    assert set(map(repr, ZoneFileBackend(path).records())) == set(map(repr, first.records()))
    assert all(endpoint in first.records() for endpoint in zone)


def test_each_change_counts_the_serial_up(path: Path) -> None:
    backend = ZoneFileBackend(path)

    backend.apply(ChangeSet(create=(make_record("one.example.org"),)))
    backend.apply(ChangeSet(create=(make_record("two.example.org"),)))

    assert "hostmaster.example.org. 3 7200" in path.read_text()


def test_the_serial_wraps_around_to_one(path: Path) -> None:
    path.write_text(path.read_text().replace(" 1 7200", " 4294967295 7200"))

    ZoneFileBackend(path).apply(ChangeSet(create=(make_record(),)))

    assert "hostmaster.example.org. 1 7200" in path.read_text()


def test_types_it_does_not_serve_are_kept_and_not_shown(path: Path) -> None:
    path.write_text(
        path.read_text()
        + '@ IN CAA 0 issue "ca.example.net"\nold IN TYPE65500 \\# 3 010203\nhost IN HINFO "x" "y"\n'
    )
    backend = ZoneFileBackend(path)

    backend.apply(ChangeSet(create=(make_record("host.example.org"),)))

    text = path.read_text()
    assert 'example.org. 300 IN CAA 0 issue "ca.example.net"' in text
    assert "old.example.org. 300 IN TYPE65500 \\# 3 010203" in text
    assert 'host.example.org. 300 IN HINFO "x" "y"' in text
    assert {each.record_type for each in backend.records()} == {"NS", "A"}


def test_a_file_changed_by_somebody_else_is_read_again(path: Path) -> None:
    backend = ZoneFileBackend(path)

    path.write_text(path.read_text() + "hand IN A 192.0.2.77\n")

    assert make_record("hand.example.org", targets=("192.0.2.77",)) in backend.records()


def test_two_backends_on_one_file_do_not_lose_each_others_changes(path: Path) -> None:
    one, two = ZoneFileBackend(path), ZoneFileBackend(path)

    def create(backend: ZoneFileBackend, word: str) -> None:
        for number in range(15):
            backend.apply(ChangeSet(create=(make_record(f"{word}-{number}.example.org"),)))

    threads = [
        threading.Thread(target=create, args=(one, "one")),
        threading.Thread(target=create, args=(two, "two")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len([each for each in one.records() if each.record_type == "A"]) == 30


def test_a_folder_serves_each_name_from_its_closest_zone(tmp_path: Path) -> None:
    write_new_zone(tmp_path / "example.org.zone", "example.org")
    write_new_zone(tmp_path / "team.example.org.zone", "team.example.org")
    backend = ZoneFileBackend(tmp_path)

    backend.apply(ChangeSet(create=(make_record("www.example.org"), make_record("www.team.example.org"))))

    assert "www.example.org." in (tmp_path / "example.org.zone").read_text()
    assert "www.team.example.org." not in (tmp_path / "example.org.zone").read_text()
    assert "www.team.example.org." in (tmp_path / "team.example.org.zone").read_text()
    assert backend.domain_filter().include == ("example.org", "team.example.org")


def test_one_bad_change_in_one_zone_does_not_keep_another_zone_from_being_changed(tmp_path: Path) -> None:
    write_new_zone(tmp_path / "example.org.zone", "example.org")
    write_new_zone(tmp_path / "example.net.zone", "example.net")
    before = (tmp_path / "example.org.zone").read_bytes()
    backend = ZoneFileBackend(tmp_path)

    with pytest.raises(BackendError):
        backend.apply(
            ChangeSet(create=(make_record("www.example.net"),), delete=(make_record("www.example.org"),))
        )

    assert (tmp_path / "example.org.zone").read_bytes() == before
    assert make_record("www.example.net") in ZoneFileBackend(tmp_path).records()


def test_the_origin_is_the_files_name_where_the_file_does_not_say(tmp_path: Path) -> None:
    path = tmp_path / "example.org.zone"
    path.write_text("$TTL 300\n@ IN SOA ns1 host 1 2 3 4 5\n@ IN NS ns1\nwww IN A 192.0.2.1\n")

    assert make_record() in ZoneFileBackend(path).records()


def test_an_origin_in_the_file_counts_more_than_its_name(tmp_path: Path) -> None:
    path = tmp_path / "whatever.zone"
    path.write_text("$ORIGIN example.org.\n$TTL 300\n@ IN SOA ns1 host 1 2 3 4 5\nwww IN A 192.0.2.1\n")

    assert ZoneFileBackend(path).records() == [make_record()]


def test_a_write_that_fails_leaves_the_old_file_and_says_so(path: Path) -> None:
    backend = ZoneFileBackend(path)
    before = path.read_bytes()
    # A folder where the temporary file belongs: no file can be opened there, whoever runs the test.
    (path.parent / f".{path.name}.tmp").mkdir()

    with pytest.raises(BackendError, match="could not be written"):
        backend.apply(ChangeSet(create=(make_record(),)))

    assert path.read_bytes() == before
    assert make_record() not in backend.records()


def test_permissions_of_the_file_stay(path: Path) -> None:
    path.chmod(0o640)

    ZoneFileBackend(path).apply(ChangeSet(create=(make_record(),)))

    assert path.stat().st_mode & 0o777 == 0o640


_WRITER = """
import sys
from pathlib import Path
from providers.backends.zone_file import ZoneFileBackend
from providers.wire.change_set import ChangeSet
from tests.reference_server import make_zone

backend = ZoneFileBackend(Path(sys.argv[1]))
zone = tuple(make_zone(count=300))
while True:
    backend.apply(ChangeSet(create=zone))
    print("full", flush=True)
    backend.apply(ChangeSet(delete=zone))
    print("empty", flush=True)
"""


@pytest.mark.parametrize("lines", [0, 1, 2, 5])
def test_kill_9_while_writing_leaves_the_old_file_or_the_new_one(path: Path, lines: int) -> None:
    empty = len(ZoneFileBackend(path).records())
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(lines):
        writer.stdout.readline()

    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()

    backend = ZoneFileBackend(path)
    assert len(backend.records()) in (empty, empty + 600)
    backend.apply(ChangeSet(create=(make_record("after.example.org"),)))
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name]
