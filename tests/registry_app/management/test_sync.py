"""`dnsadmin_sync`: syncs now, and an exit code a script can rely on."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from registry_app.models import Provider, RecordSet, SyncRun
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_syncs_the_named_providers_and_says_what_changed() -> None:
    with ReferenceProvider(make_zone("blue-cluster", 3)) as zone:
        make_provider("blue-zone", url=zone.url)
        make_provider("green-zone", url="http://127.0.0.1:9")

        first = run_json("dnsadmin_sync", "blue-zone")
        second = run_json("dnsadmin_sync", "blue-zone")

    sync = first[1]["syncs"][0]
    assert (first[0], second[0]) == (2, 0)
    assert (sync["provider"], sync["status"], sync["created"]) == ("blue-zone", "stored", 3)
    assert second[1]["syncs"][0]["status"] == "unchanged"
    assert RecordSet.objects.count() == 3
    assert set(SyncRun.objects.values_list("trigger", flat=True)) == {"person"}


def test_a_failing_provider_does_not_stop_the_others() -> None:
    with ReferenceProvider(make_zone("blue-cluster", 3)) as zone:
        make_provider("blue-zone", url=zone.url)
        make_provider("broken-zone", url="http://127.0.0.1:9")

        code, document = run_json("dnsadmin_sync", "--all")

    statuses = {sync["provider"]: sync["status"] for sync in document["syncs"]}
    assert code == 1
    assert statuses == {"blue-zone": "stored", "broken-zone": "failed"}
    assert RecordSet.objects.count() == 3


def test_a_snapshot_that_is_held_is_a_refusal() -> None:
    with ReferenceProvider(make_zone("blue-cluster", 12)) as zone, ReferenceProvider() as empty_zone:
        make_provider("blue-zone", url=zone.url)
        run_command("dnsadmin_sync", "blue-zone")
        Provider.objects.update(url=empty_zone.url)

        code, document = run_json("dnsadmin_sync", "blue-zone")

    assert code == 3
    assert document["syncs"][0]["status"] == "held"
    assert RecordSet.objects.filter(missing_since=None).count() == 12


def test_a_provider_another_worker_syncs_is_left_alone() -> None:
    later = timezone.now() + timedelta(minutes=5)
    make_provider("blue-zone", lease_holder="another worker", lease_until=later)

    code, document = run_json("dnsadmin_sync", "blue-zone")

    assert code == 1
    assert document["syncs"][0]["status"] == "busy"
    assert Provider.objects.get().lease_holder == "another worker"


@pytest.mark.parametrize(
    "arguments", [["nowhere"], [], ["--all", "blue-zone"], ["99"], ["99999999999999999999999"]]
)
def test_what_it_cannot_sync_is_an_error_in_three_sentences(arguments: list[str]) -> None:
    make_provider("blue-zone")

    code, document = run_json("dnsadmin_sync", *arguments)

    assert code == 1
    assert document["error"]["happened"]
    assert document["error"]["now"]
    assert not SyncRun.objects.exists()


def test_lines_for_people_show_no_control_characters() -> None:
    make_provider("blue\x1b[2Jzone", url="http://127.0.0.1:9")

    code, text = run_command("dnsadmin_sync", "--all")

    assert code == 1
    assert "\x1b" not in text
    assert "blue\\x1b[2Jzone" in text


@pytest.mark.deep
def test_a_typing_error_is_an_error_and_not_a_finding() -> None:
    manage = Path(__file__).parents[3] / "manage.py"

    ended = subprocess.run(
        [sys.executable, str(manage), "dnsadmin_sync", "--nonsense"], capture_output=True, timeout=60
    )

    assert ended.returncode == 1
    assert b"--nonsense" in ended.stderr
