"""Where another person has to approve: one requests, one approves, and encrypted claims stay encrypted."""

import base64
import json

import pytest
from playwright.sync_api import Page, expect

from providers.registries.encryption import decrypt_labels_text
from providers.wire.endpoint import EndpointKey
from tests.journeys.browser import (
    Desk,
    begin,
    choose_screen,
    confirm,
    expect_status,
    fill_in_transfer,
    narrow_list,
    pick,
    read_public_id,
)
from tests.journeys.running import RunningDnsadmin

pytestmark = pytest.mark.browser

BOB_PASSWORD = "correct horse battery staple"


def _add_bob(page: Page) -> None:
    """The administrator makes bob an administrator too, in the screens for users."""
    page.goto("/admin/auth/user/add/")
    page.get_by_label("Username").fill("bob")
    page.get_by_label("Password", exact=True).fill(BOB_PASSWORD)
    page.get_by_label("Password confirmation").fill(BOB_PASSWORD)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Staff status").check()
    page.get_by_label("Superuser status").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()


def _decrypt_owner(dnsadmin: RunningDnsadmin, target: str) -> str:
    state = json.loads((dnsadmin.state_dir / "samples" / "state.json").read_text())
    read = decrypt_labels_text(target, base64.b64decode(state["edge_key"]))
    assert read is not None
    labels = dict(pair.split("=", 1) for pair in read.plain.split(","))
    return labels["external-dns/owner"]


def test_what_one_person_requests_another_approves(desk: Desk, dnsadmin: RunningDnsadmin) -> None:
    owner = {"owner_id": "edge-standby", "registry_profile": "edge", "policy": "sync"}
    dnsadmin.call("POST", "owners/", owner)
    before, text_before = dnsadmin.zone("edge-dns"), dnsadmin.zone_text("edge-dns")
    names = [f"cache-{node:02}.fra.edge.example.net" for node in (3, 5, 7)]
    claims = {EndpointKey(f"_extdns.a-{name}", "TXT", "") for name in names}
    alice = desk.open_logged_in()
    _add_bob(alice)

    choose_screen(alice, "Record sets")
    narrow_list(alice, name_suffix="fra.edge.example.net")
    for name in names:
        pick(alice, name)
    begin(alice, "Transfer to another owner")
    fill_in_transfer(alice, target="edge-standby", intent="It wants them with the same targets")
    expect(alice.get_by_text("Another person must approve.")).to_be_visible()
    alice.get_by_role("button", name="Request 3 record sets").click()
    expect_status(alice, "Requested")

    expect(alice.get_by_role("button", name="Reject")).to_be_visible()
    expect(alice.get_by_role("button", name="Approve")).to_have_count(0)
    assert dnsadmin.zone("edge-dns") == before

    bob = desk.open()
    desk.log_in(bob, "bob", BOB_PASSWORD)
    bob.get_by_role("link", name="(3 at edge-dns) waits for approval").click()
    bob.get_by_role("button", name="Approve").click()
    expect_status(bob, "Verified")
    alice.reload()
    expect_status(alice, "Verified")

    after = dnsadmin.zone("edge-dns")
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert changed == claims
    assert {_decrypt_owner(dnsadmin, after[key].targets[0]) for key in claims} == {"edge-standby"}
    public_id = read_public_id(alice)
    steps = json.dumps(dnsadmin.call("GET", f"transfers/{public_id}/steps/"))
    for text in (dnsadmin.zone_text("edge-dns"), steps):
        assert "edge-standby" not in text
        assert "heritage" not in text

    alice.get_by_role("link", name="Preview the undo").click()
    alice.get_by_label("Reason").fill("the journey is over")
    assert confirm(alice) == "undo 3 record sets"
    alice.get_by_role("button", name="Request the undo").click()
    expect_status(alice, "Requested")
    bob.goto(alice.url)
    bob.get_by_role("button", name="Approve").click()
    expect_status(bob, "Verified")
    assert dnsadmin.zone_text("edge-dns") == text_before
