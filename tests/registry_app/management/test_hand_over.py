"""`dnsadmin_hand_over`: a hand-over by hand, from the preview to the next wave, and the exit codes on it."""

from datetime import timedelta
from pathlib import Path

import pytest

from registry_app.clock import fetch_now
from registry_app.models import HandOver
from tests.reference_server import make_zone
from tests.registry_app.hand_over.world import BLUE, GREEN, open_clusters
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.transfer.world import make_alice, make_bob

pytestmark = pytest.mark.django_db(transaction=True)
ZONE = make_zone(BLUE, 4)
COMMAND = "dnsadmin_hand_over"


def _options() -> list[str]:
    ends = (fetch_now() + timedelta(days=3)).isoformat()
    make_alice()
    make_bob()
    return [
        "--provider=blue-zone",
        f"--from={BLUE}",
        f"--to={GREEN}",
        f"--ends-at={ends}",
        "--waves-by=number",
        "--wave-size=2",
        "--as=alice",
    ]


def test_a_hand_over_from_the_preview_to_its_end(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE):
        options = _options()
        looked, plan = run_json(COMMAND, "preview", *options)
        asked, row = run_json(
            COMMAND, "request", *options, "--reason=It moves.", f"--fingerprint={plan['fingerprint']}"
        )
        number = str(row["number"])
        shown, before = run_json(COMMAND, "show", number, "--wave=2")
        codes = [
            run_command(COMMAND, "approve", number, "--as=bob", f"--fingerprint={plan['fingerprint']}")[0],
            run_command(COMMAND, "next-wave", number, "--as=alice")[0],
            run_command(COMMAND, "pause", number, "--as=alice")[0],
            run_command(COMMAND, "resume", f"#{number}", "--as=alice")[0],
            run_command(COMMAND, "cancel", row["id"], "--as=alice", "--reason=Later.")[0],
        ]
        ended, after = run_json(COMMAND, "show", number)
        _, listed = run_json(COMMAND, "list", "--status=cancelled", "--provider=blue-zone")

    assert (looked, plan["name_count"], plan["wave_count"]) == (2, 4, 2)
    assert (asked, row["status"]) == (0, "requested")
    assert (shown, len(before["items"])) == (2, 2)
    assert before["items"][0]["live"][0]["owner"] == BLUE
    assert codes == [0, 0, 0, 0, 0]
    assert (ended, after["status"], after["wave"], after["status_reason"]) == (1, "cancelled", 2, "Later.")
    assert [each["number"] for each in listed["hand_overs"]] == [row["number"]]


def test_people_read_what_to_do_next(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE):
        options = _options()
        _, plan = run_command(COMMAND, "preview", *options)
        _, text = run_command(COMMAND, "request", *options, "--reason=It moves.")
        number = HandOver.objects.get().pk
        code, rejected = run_command(COMMAND, "reject", str(number), "--as=bob", "--reason=No.")

    assert "4 names, in waves: 2." in plan
    assert "wave 2: app-00002.example.org" in plan
    assert f"dnsadmin_hand_over approve {number} --as USER --fingerprint" in text
    assert code == 0
    assert ": rejected" in rejected


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ("--ends-at=tomorrow", 1, "--ends-at"),
        ("--to=nobody-here", 1, "There is no owner 'nobody-here'."),
        ("--wave-size=0", 1, "--wave-size"),
        (f"--to={BLUE}", 1, "--to"),
        ("--as=stranger", 1, "no active user"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_option(
    tmp_path: Path, change: str, code: int, text: str
) -> None:
    with open_clusters(tmp_path, ZONE):
        found, said = run_command(COMMAND, "preview", *_options(), change)

    assert (found, text in said) == (code, True), said


def test_an_owner_that_is_not_guarded_is_a_refusal(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        options = _options()
        clusters.provider.guard_endpoints.update(mode="observe")
        code, text = run_command(COMMAND, "preview", *options)

    assert code == 3
    assert "has no guard endpoint" in text
