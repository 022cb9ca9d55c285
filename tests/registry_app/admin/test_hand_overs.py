"""Hand-overs in the web admin: the form with its preview, the page with its names, the buttons."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from registry_app.hand_over.request_hand_over import request_hand_over
from registry_app.models import HandOver, HandOverItem
from tests.factories import make_administrator, make_owner, make_user
from tests.providers.planning.planned import wanted
from tests.reference_server import make_zone
from tests.registry_app.admin.world import address, make_fresh_provider, make_hand_over, read_text, sign_in
from tests.registry_app.hand_over.world import BLUE, GREEN, Clusters, open_clusters
from tests.registry_app.transfer.world import make_alice

pytestmark = pytest.mark.django_db(transaction=True)
ZONE = make_zone(BLUE, 4)
NAMES = [f"app-0000{number}.example.org" for number in range(4)]


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[Clusters]:
    with open_clusters(tmp_path, ZONE) as world:
        yield world


@pytest.fixture
def root() -> Client:
    return sign_in(make_administrator())


def _form(**values: Any) -> dict[str, Any]:
    ends = timezone.now() + timedelta(days=2)
    return {
        "step": "preview",
        "provider": "blue-zone",
        "from_owner": BLUE,
        "to_owner": GREEN,
        "waves_by": "number",
        "wave_size": 3,
        "verdicts": "both",
        "ends_at": ends.strftime("%Y-%m-%dT%H:%M"),
        "reason": "It moves.",
        **values,
    }


def _draft_in(text: str) -> str:
    found = re.search(r'name="draft" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def test_a_request_is_previewed_before_it_is_stored(clusters: Clusters, root: Client) -> None:
    preview = root.post(address("handover_request"), _form())
    stored_by_preview = HandOver.objects.count()
    draft = _draft_in(read_text(preview))
    again = root.post(address("handover_request"), {"step": "edit", "draft": draft})
    done, twice = (
        root.post(address("handover_request"), {"step": "request", "draft": draft}) for _ in range(2)
    )

    row = HandOver.objects.get()
    assert twice.headers["Location"] == address("handover_change", row.pk)
    assert (preview.status_code, stored_by_preview) == (200, 0)
    assert "Wave 1: 3" in read_text(preview)
    assert NAMES[3] in read_text(preview)
    assert "It moves." in read_text(again)
    assert done.headers["Location"] == address("handover_change", row.pk)
    assert (row.status, row.wave_count, row.items.count()) == ("requested", 2, 4)


def test_a_plan_that_changed_is_shown_again_and_not_stored(clusters: Clusters, root: Client) -> None:
    preview = root.post(address("handover_request"), _form(names=""))
    clusters.provider.record_sets.filter(name=NAMES[0]).delete()

    refused = root.post(
        address("handover_request"), {"step": "request", "draft": _draft_in(read_text(preview))}
    )

    assert refused.status_code == 409
    assert "The plan changed since you saw it." in read_text(refused)
    assert not HandOver.objects.exists()


def test_a_refusal_shows_the_form_as_it_was_filled_in(clusters: Clusters, root: Client) -> None:
    same = root.post(address("handover_request"), _form(to_owner=BLUE))
    forged = root.post(address("handover_request"), {"step": "request", "draft": "x"})
    empty = root.post(address("handover_request"), _form(reason=""))

    assert same.status_code == 422
    assert "This is the owner the names have now." in read_text(same)
    assert "It moves." in read_text(same)
    assert (forged.status_code, empty.status_code) == (422, 422)


def test_the_page_shows_what_is_wanted_beside_what_is_live(clusters: Clusters, root: Client) -> None:
    row = clusters.begin()
    clusters.green.desired = [wanted(NAMES[0], targets=["203.0.113.1"])]
    clusters.green.run_once()
    clusters.work(row)
    page = address("handover_change", row.pk)
    text = read_text(root.get(page))
    waiting = read_text(root.get(page, {"state": "waiting"}))
    below = read_text(root.get(page, {"suffix": NAMES[2], "wave": "1"}))
    transfer = row.items.get(name=NAMES[0]).transfer

    assert transfer is not None
    assert address("transfer_change", transfer.pk) in text
    assert "203.0.113.1" in text
    assert (NAMES[0] in waiting, NAMES[1] in waiting) == (False, True)
    assert (NAMES[1] in below, NAMES[2] in below) == (False, True)


def test_buttons_do_what_they_say_and_a_refusal_says_why(clusters: Clusters, root: Client) -> None:
    row = request_hand_over(make_alice(), clusters.build_request())
    unseen = root.post(address("handover_act", row.pk, "approve"), {"fingerprint": "other"})
    text = read_text(root.get(address("handover_change", row.pk)))
    statuses = []
    for act in ("approve", "pause", "resume", "cancel"):
        root.post(address("handover_act", row.pk, act), {"fingerprint": row.fingerprint, "reason": "So."})
        row.refresh_from_db()
        statuses.append(row.status)
    late = root.post(address("handover_act", row.pk, "pause"), {})

    assert unseen.status_code == 409
    assert row.fingerprint in text
    assert statuses == ["running", "paused", "running", "cancelled"]
    assert late.status_code == 409
    assert root.get(address("handover_act", row.pk, "pause")).status_code == 405
    assert root.post(address("handover_act", row.pk, "explode"), {}).status_code == 404


def test_moved_names_are_brought_back_by_a_request_the_other_way_round(root: Client) -> None:
    blue, green = make_owner(BLUE), make_owner(GREEN)
    row = make_hand_over(make_fresh_provider("blue-zone"), blue, green, *NAMES)
    none_moved = read_text(root.get(address("handover_change", row.pk)))
    row.items.filter(name__in=NAMES[:2]).update(state=HandOverItem.State.SERVING)
    page = read_text(root.get(address("handover_change", row.pk)))
    form = root.get(address("handover_request"), {"back": row.pk}).context["form"]

    assert "Bring back" not in none_moved
    assert f"{address('handover_request')}?back={row.pk}" in page
    assert (form["from_owner"].value(), form["to_owner"].value()) == (GREEN, BLUE)
    assert form["provider"].value() == "blue-zone"
    assert form["names"].value() == "\n".join(NAMES[:2])


def test_the_list_counts_names_and_the_dashboard_names_what_waits(root: Client) -> None:
    blue, green = make_owner(BLUE), make_owner(GREEN)
    provider = make_fresh_provider("blue-zone")
    waiting = make_hand_over(provider, blue, green, *NAMES)
    stuck = make_hand_over(provider, green, blue, "other.example.org", status="running")
    stuck.items.update(state=HandOverItem.State.BLOCKED)

    rows = read_text(root.get(address("handover_changelist")))
    board = read_text(root.get("/admin/"))
    owner = read_text(root.get(address("owner_change", blue.pk)))

    assert "4 waiting" in rows
    assert f"Hand-over #{waiting.pk} (blue-cluster to green-cluster at blue-zone) waits for approval" in board
    assert f"Hand-over #{stuck.pk} (green-cluster to blue-cluster at blue-zone) has 1 name" in board
    assert f"{address('handover_request')}?from_owner={BLUE}" in owner


def test_a_reader_is_offered_nothing_to_press() -> None:
    blue, green = make_owner(BLUE), make_owner(GREEN)
    row = make_hand_over(make_fresh_provider("blue-zone"), blue, green)
    row.items.update(state=HandOverItem.State.MOVED)
    reader = sign_in(make_user("auditor"))

    page = read_text(reader.get(address("handover_change", row.pk)))
    listing = read_text(reader.get(address("handover_changelist")))

    assert "What can be done now" not in page
    assert "Bring back" not in page
    assert "New hand-over" not in listing


def test_what_others_wrote_is_escaped(root: Client) -> None:
    script, override = "<script>alert(1)</script>", "\u202egro.elpmaxe"
    blue, green = make_owner(f"b{script}"), make_owner(f"g{override}")
    provider = make_fresh_provider("blue-zone")
    row = make_hand_over(provider, blue, green, f"{override}.example.org", reason=script, status="running")
    HandOver.objects.update(status_reason=f"Blocked: {script}{override}")
    row.items.update(state=HandOverItem.State.BLOCKED, reason=f"{script}{override}")

    pages = [
        read_text(root.get(url))
        for url in (address("handover_changelist"), address("handover_change", row.pk), "/admin/")
    ]

    assert all(script not in page for page in pages)
    assert override not in pages[1]
