"""Consents on the command line: `--side`, and what `show` says of them."""

from pathlib import Path

import pytest

from registry_app.hand_over.request_hand_over import request_hand_over
from tests.reference_server import make_zone
from tests.registry_app.hand_over.world import BLUE, open_clusters
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.transfer.test_both_sides import ACTION, BOTH, make_green
from tests.registry_app.transfer.world import ask, make_alice, make_person, open_world, request

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


def test_a_transfer_is_consented_to_by_hand() -> None:
    with open_world(approval_policy=BOTH):
        transfer = request(make_alice(), ask())
        _follow("dnsadmin_transfer", str(transfer.pk), transfer.plan_fingerprint)


def test_a_hand_over_is_consented_to_by_hand(tmp_path: Path) -> None:
    with open_clusters(tmp_path, make_zone(BLUE, 2), approval_policy=BOTH) as clusters:
        row = request_hand_over(make_alice(), clusters.build_request())
        _follow("dnsadmin_hand_over", str(row.pk), row.fingerprint)


def _follow(command: str, number: str, fingerprint: str) -> None:
    make_person("carol", ACTION.APPROVE)
    make_green("charlie")
    approve = (command, "approve", number, f"--fingerprint={fingerprint}")
    _, before = run_command(command, "show", number)
    unsaid = run_command(*approve, "--as=carol")
    first = run_command(*approve, "--as=carol", "--side=giver")
    again = run_command(*approve, "--as=carol", "--side=taker")
    _, half = run_json(command, "show", number)
    last = run_command(*approve, "--as=charlie")

    assert "blue-cluster (gives): nobody consented yet" in before
    assert (unsaid[0], "You may consent for both sides" in unsaid[1]) == (1, True)
    assert first[0] == 0
    assert "blue-cluster (gives): carol consented at " in first[1]
    assert "green-cluster (takes): nobody consented yet" in first[1]
    assert "You consented for blue-cluster (gives) already" in again[1]
    half = half.get("transfers", [half])[0]
    assert ([each["by"] for each in half["consents"]], half["consents_missing"]) == (["carol"], ["taker"])
    assert last[0] == 0
    assert "green-cluster (takes): charlie consented at " in last[1]
