"""The transfer form: pick, look, ask. The server keeps nothing between the steps."""

from typing import Any

import pytest
from django.http import HttpResponseBase
from django.test import Client

from registry_app.models import Claim, Freeze, Grant, RecordSet, Transfer
from tests.factories import make_administrator, make_owner, make_user, set_instance
from tests.registry_app.admin.world import (
    address,
    make_claimed,
    make_fresh_provider,
    make_member,
    make_team,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


class World:
    """blue-cluster owns record sets at a provider; green-cluster shall get them."""

    def __init__(self, count: int = 3) -> None:
        self.provider = make_fresh_provider()
        self.blue = make_owner()
        self.green = make_owner("green-cluster", policy="upsert-only")
        self.rows = [
            make_claimed(self.provider, self.blue, f"app-{number:03}.example.org") for number in range(count)
        ]

    def fill_in(self, **values: Any) -> dict[str, Any]:
        form = {
            "kind": "transfer",
            "owner": "blue-cluster",
            "target_owner_id": "green-cluster",
            "target_intent": "same",
            "reason": "The shop moves to green.",
            "ticket": "OPS-7",
            "step": "preview",
        }
        return {**form, **values}


def _preview(client: Client, form: dict[str, Any]) -> HttpResponseBase:
    return client.post(address("transfer_request"), form)


def _request(client: Client, preview: Any, **values: Any) -> Any:
    form = {"step": "request", "draft": preview.context["token"], **values}
    return client.post(address("transfer_request"), form)


def test_it_begins_with_the_rows_picked_in_the_list() -> None:
    world = World()
    client = sign_in(make_administrator())
    picked = [row.pk for row in world.rows[:2]]

    begun = client.post(
        address("recordset_changelist"),
        {"action": "transfer_picked", "_selected_action": picked},
        follow=True,
    )
    form = begun.context["form"]
    preview: Any = _preview(client, {**world.fill_in(owner=""), "picked": form["picked"].value()})

    assert "2 picked from a list" in read_text(begun)
    assert [line.item.name for line in preview.context["plans"][0][1]] == [
        "app-000.example.org",
        "app-001.example.org",
    ]


def test_the_preview_shows_each_claim_before_and_after_and_stores_nothing() -> None:
    world = World()
    client = sign_in(make_administrator())

    page = read_text(_preview(client, world.fill_in()))

    assert "external-dns/owner=blue-cluster" in page
    assert "external-dns/owner=green-cluster" in page
    assert "3 record sets, new owner" in page
    assert not Transfer.objects.exists()


def test_a_request_that_was_previewed_becomes_a_transfer() -> None:
    world = World()
    client = sign_in(make_administrator())

    response = _request(client, _preview(client, world.fill_in()))
    transfer = Transfer.objects.get()

    assert response.headers["Location"] == address("transfer_change", transfer.pk)
    assert (transfer.item_count, transfer.reason, transfer.ticket) == (3, "The shop moves to green.", "OPS-7")
    assert (transfer.source_owner, transfer.target_owner) == (world.blue, world.green)


def test_record_sets_at_two_providers_become_two_transfers_requested_together() -> None:
    world = World()
    make_claimed(make_fresh_provider("green-zone"), world.blue, "other.example.org")
    client = sign_in(make_administrator())

    response = _request(client, _preview(client, world.fill_in()))
    shown = client.get(response.headers["Location"])

    assert Transfer.objects.count() == 2
    assert len(set(Transfer.objects.values_list("group", flat=True))) == 1
    assert shown.context["cl"].result_count == 2


def test_a_second_click_shows_the_transfer_that_is_there() -> None:
    world = World()
    client = sign_in(make_administrator())
    preview = _preview(client, world.fill_in())

    first = _request(client, preview)
    second = _request(client, preview)

    assert Transfer.objects.count() == 1
    assert second.headers["Location"] == first.headers["Location"]


def test_another_persons_transfer_is_no_second_click() -> None:
    world = World()
    preview = _preview(sign_in(make_administrator()), world.fill_in())
    _request(sign_in(make_administrator("other")), preview)

    response = _request(sign_in(make_administrator("third")), preview)

    assert response.status_code == 409
    assert Transfer.objects.count() == 1


def test_a_plan_that_moved_is_refused_with_what_changed_and_nothing_typed_is_lost() -> None:
    world = World()
    client = sign_in(make_administrator())
    preview = _preview(client, world.fill_in())
    raw = '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/new"'
    Claim.objects.filter(record_name="app-001.example.org").update(raw=raw)

    response = _request(client, preview)
    page = read_text(response)

    assert response.status_code == 409
    assert not Transfer.objects.exists()
    assert "1 line new or different" in page
    assert [line.item.name for line in response.context["plans"][0][1] if line.is_new] == [
        "app-001.example.org"
    ]
    assert "The shop moves to green." in page
    assert _request(client, response).status_code == 302
    assert Transfer.objects.get().item_count == 3


def test_going_back_from_the_preview_fills_the_form_in_again() -> None:
    world = World()
    client = sign_in(make_administrator())
    form = world.fill_in(
        names="app-000.example.org\napp-001.example.org", record_types="A", name_suffix="example.org"
    )
    preview: Any = _preview(client, form)

    again: Any = client.post(address("transfer_request"), {"step": "edit", "draft": preview.context["token"]})
    values = {name: again.context["form"][name].value() for name in again.context["form"].fields}

    assert values["names"] == "app-000.example.org\napp-001.example.org"
    assert (values["owner"], values["target_owner_id"]) == ("blue-cluster", "green-cluster")
    assert (values["reason"], values["ticket"]) == ("The shop moves to green.", "OPS-7")
    assert (values["record_types"], values["name_suffix"]) == ("A", "example.org")


def test_what_may_be_deleted_is_requested_only_with_the_words_typed() -> None:
    world = World()
    set_instance(world.green, policy="sync")
    client = sign_in(make_administrator())
    preview: Any = _preview(client, world.fill_in(target_intent="not_wanted"))
    words = preview.context["confirmations"][0]

    refused = _request(client, preview, confirmation="yes")
    agreed = _request(client, refused, confirmation=words)

    assert words in read_text(preview)
    assert "ExternalDNS’s next sync deletes 3 of them. " in read_text(preview)
    assert (refused.status_code, agreed.status_code) == (409, 302)
    assert 'value="yes"' in read_text(refused)
    assert Transfer.objects.get().confirmation == words


def test_a_mistake_is_told_where_it_is_and_the_rest_stays_typed() -> None:
    world = World()
    client = sign_in(make_administrator())
    rows = [
        ({"target_owner_id": ""}, "target_owner_id"),
        ({"target_owner_id": "nobody"}, "target_owner_id"),
        ({"reason": ""}, "reason"),
        ({"kind": "undo"}, "kind"),
        ({"picked": "made up"}, "picked"),
        ({"names": "www.example.org\0"}, "names"),
        ({"reason": "\0"}, "reason"),
        ({"owner": ""}, "__all__"),
        ({"target_owner_id": "blue-cluster"}, "target_owner_id"),
    ]
    for values, field in rows:
        response: Any = _preview(client, world.fill_in(ticket="OPS-7-and-a-half", **values))

        assert response.status_code == 422, values
        assert field in response.context["form"].errors, values
        assert "OPS-7-and-a-half" in read_text(response), values


@pytest.mark.parametrize("draft", ["", "x", "eyJhIjoxfQ:abc", "\0"])
def test_a_draft_that_was_tampered_with_is_refused(draft: str) -> None:
    World()
    client = sign_in(make_administrator())

    response = client.post(address("transfer_request"), {"step": "request", "draft": draft})

    assert response.status_code == 422
    assert "Nothing was changed." in read_text(response)
    assert not Transfer.objects.exists()


def test_a_large_preview_is_shown_page_by_page() -> None:
    world = World(count=130)
    client = sign_in(make_administrator())
    first: Any = _preview(client, world.fill_in())

    form = {"step": "page", "page": "2", "draft": first.context["token"]}
    second: Any = client.post(address("transfer_request"), form)

    assert [len(page.context["plans"][0][1]) for page in (first, second)] == [100, 30]
    assert "130 record sets" in read_text(second)


def test_a_frozen_provider_is_told_of_in_the_preview() -> None:
    world = World()
    Freeze.objects.create(
        provider=world.provider, reason="Change stop.", starts_at=world.rows[0].changed_at, created_by="root"
    )
    client = sign_in(make_administrator())

    page = read_text(_preview(client, world.fill_in()))

    assert "Change stop." in page


def test_alice_requests_for_her_own_owners_and_charlie_may_not() -> None:
    world = World()
    blue_team = make_team("team-blue", Grant.Action.REQUEST, owner=world.blue)
    Grant.objects.create(group=blue_team, action=Grant.Action.REQUEST, owner=world.green)
    green_team = make_team("team-green", Grant.Action.REQUEST, owner=world.green)
    alice, charlie = sign_in(make_member("alice", blue_team)), sign_in(make_member("charlie", green_team))

    refused = _preview(charlie, world.fill_in())
    forced = _request(charlie, refused)
    requested = _request(alice, _preview(alice, world.fill_in()))

    assert "This cannot be requested like this. Change it first." in read_text(refused)
    assert requested.status_code == 302
    assert forced.status_code == 403
    assert Transfer.objects.get().requested_by_name == "alice"


def test_the_auditor_looks_and_cannot_request() -> None:
    world = World()
    dora = sign_in(make_user("dora"))

    preview = _preview(dora, world.fill_in())
    forced = _request(dora, preview)

    assert preview.status_code == 200
    assert forced.status_code == 403
    assert not Transfer.objects.exists()
    assert RecordSet.objects.filter(owner=world.blue).count() == 3


def test_other_types_at_a_picked_name_go_along_and_can_be_left() -> None:
    world = World(1)
    make_claimed(world.provider, world.blue, "app-000.example.org", record_type="AAAA")
    client = sign_in(make_administrator())
    form = world.fill_in(owner="", names="app-000.example.org", record_types="A")

    taken: Any = _preview(client, form)
    left: Any = client.post(
        address("transfer_request"), {"step": "leave_others", "draft": taken.context["token"]}
    )
    unconfirmed = _request(client, left)
    text = left.context["confirmations"][0]
    requested = _request(client, left, confirmation=text)

    assert "1 record set was added" in read_text(taken)
    assert "Added:" in read_text(taken)
    assert "Take whole names" in read_text(left)
    assert text == "transfer 1 record set to green-cluster and leave 1 behind"
    assert unconfirmed.status_code == 409
    transfer = Transfer.objects.get()
    assert requested.headers["Location"] == address("transfer_change", transfer.pk)
    assert [item.record_type for item in transfer.items.all()] == ["A"]
