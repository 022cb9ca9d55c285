"""What the guard decided, holds and sent, in the web admin; held deletes are released and kept."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from registry_app.models import AuditEntry, Grant, GuardCount, GuardEndpoint, HeldDelete
from tests.factories import (
    make_administrator,
    make_guard_decision,
    make_guard_endpoint,
    make_guard_step,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.admin.world import (
    address,
    make_fresh_provider,
    make_member,
    make_team,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return sign_in(make_administrator())


@pytest.fixture
def blue() -> GuardEndpoint:
    return make_guard_endpoint(slug="blue")


def _make_green() -> GuardEndpoint:
    provider = make_provider("green-zone", url="http://127.0.0.1:8")
    return make_guard_endpoint(make_instance(make_owner("green-cluster")), provider, slug="green")


def _make_operator(suffix: str) -> User:
    team = make_team("operators")
    Grant.objects.create(group=team, action=Grant.Action.OPERATE, name_suffix=suffix)
    return make_member("charlie", team)


def _statuses() -> dict[str, str]:
    return dict(HeldDelete.objects.order_by("name").values_list("name", "status"))


def _list_names(client: Client, noun: str, **query: Any) -> list[str]:
    shown = client.get(address(f"{noun}_changelist"), query).context["cl"].result_list
    return [row.name for row in shown]


def test_a_guard_endpoint_shows_its_rules_and_what_they_decided(client: Client, blue: GuardEndpoint) -> None:
    GuardCount.objects.create(guard_endpoint=blue, outcome="would_refuse", rule="not_owner", count=7)
    make_held_delete(blue)
    make_held_delete(blue, "api.example.org", status="kept")

    page = read_text(client.get(address("guardendpoint_change", blue.pk)))

    assert "The record set is not its own (G2)" in page
    assert "Enforce would refuse it" in page
    assert "look at them before you change to it" in page
    listed = f"guard_endpoint={blue.pk}"
    assert f"{listed}&amp;outcome=would_refuse&amp;rule=not_owner" in page
    assert f"{address('helddelete_changelist')}?{listed}&amp;status=held" in page
    assert f"{address('guardstep_changelist')}?{listed}" in page
    assert "or more than 500, within 1 h" in page


def test_the_form_explains_each_rule(client: Client) -> None:
    page = read_text(client.get(address("guardendpoint_register")))

    for text in (
        "What enforce refuses",
        "Which deletes enforce holds for a person",
        "If one change is refused or held, nothing is sent and the instance gets 503.",
        "Deletes and retargets of this time count together.",
        'value="observe" selected',
    ):
        assert text in page, text


def test_a_provider_takes_the_properties_that_instances_may_set(client: Client) -> None:
    provider = make_fresh_provider()
    form = client.get(address("provider_edit", provider.pk)).context["form"]
    values = {name: form[name].value() for name in form.fields if form[name].value() not in (None, "", False)}

    sent = {**values, "allowed_properties": "alias\nwebhook/x"}
    saved = read_text(client.post(address("provider_edit", provider.pk), sent, follow=True))

    provider.refresh_from_db()
    assert provider.allowed_properties == ["alias", "webhook/x"]
    assert "alias, webhook/x" in saved


def test_decisions_are_filtered_and_shown(client: Client, blue: GuardEndpoint) -> None:
    green = _make_green()
    make_guard_decision(blue, count=3)
    make_guard_decision(blue, "notexample.org", outcome="would_refuse", rule="shadows")
    row = make_guard_decision(green, "api.example.org", outcome="held", rule="delete_all")

    for query, names in (
        ({"guard_endpoint": blue.pk}, {"www.example.org", "notexample.org"}),
        ({"guard_endpoint_name": "green"}, {"api.example.org"}),
        ({"owner_name": "green-cluster"}, {"api.example.org"}),
        ({"provider_name": "green-zone"}, {"api.example.org"}),
        ({"outcome": "would_refuse"}, {"notexample.org"}),
        ({"rule": "delete_all"}, {"api.example.org"}),
        ({"name_suffix": "Example.org."}, {"www.example.org", "api.example.org"}),
    ):
        assert set(_list_names(client, "guarddecision", **query)) == names, query
    page = read_text(client.get(address("guarddecision_change", row.pk)))
    assert all(text in page for text in ("api.example.org", "Held", "delete A", "green-cluster"))


def test_change_sets_are_listed_and_one_shows_what_was_read_back(client: Client, blue: GuardEndpoint) -> None:
    row = make_guard_step(blue, "www.example.org", answer="It said 204.", change_set='{"delete": []}')
    items = [{**row.items[0], "is_claim": True, "outcome": "not_shown"} for _ in range(250)]
    make_guard_step(blue, status="incomplete", items=items)
    url = address("guardstep_changelist")

    listed = read_text(client.get(url))
    narrowed = client.get(url, {"status": "incomplete"}).context["cl"].result_list
    page = read_text(client.get(address("guardstep_change", row.pk)))
    large = read_text(client.get(address("guardstep_change", narrowed[0].pk)))

    assert "Change sets of the guard" in listed
    assert len(narrowed) == 1
    assert all(text in page for text in ("www.example.org", "verified", "It said 204.", "&quot;delete&quot;"))
    assert "delete (claim)" in large
    assert "The first 200 of 250." in large


def test_held_deletes_that_are_over_are_shown_only_if_chosen(client: Client, blue: GuardEndpoint) -> None:
    for status in HeldDelete.Status:
        make_held_delete(blue, f"{status}.example.org", status=status)

    assert _list_names(client, "helddelete") == ["held.example.org", "kept.example.org"]
    assert _list_names(client, "helddelete", status="wanted") == ["wanted.example.org"]
    assert len(_list_names(client, "helddelete", status="all")) == len(HeldDelete.Status)
    assert _list_names(client, "helddelete", name_suffix="KEPT.example.org") == ["kept.example.org"]
    assert _list_names(client, "helddelete", rule="first_contact") == []


def test_picked_held_deletes_are_released_after_a_look(client: Client, blue: GuardEndpoint) -> None:
    rows = [make_held_delete(blue, f"{letter}.example.org") for letter in "abc"]
    picked = {"action": "release_picked", "_selected_action": [rows[0].pk, rows[1].pk]}

    asked = client.post(address("helddelete_changelist"), picked, follow=True)
    text, form = read_text(asked), asked.context["form"]
    sent = {name: form[name].value() or "" for name in form.fields}
    before = _statuses()
    done = client.post(address("helddelete_release"), {**sent, "reason": "The shop is closed."}, follow=True)

    assert "Release 2 held deletes" in text
    assert "it deletes them when it asks again, at its next sync" in text
    assert "a.example.org" in text
    assert "c.example.org" not in text
    assert set(before.values()) == {"held"}
    assert "Released. The instance deletes them at its next sync." in read_text(done)
    assert _statuses() == {"a.example.org": "released", "b.example.org": "released", "c.example.org": "held"}
    assert AuditEntry.objects.get().reason == "The shop is closed."


def test_all_of_a_guard_endpoint_below_a_name_are_kept(client: Client, blue: GuardEndpoint) -> None:
    for name in ("www.shop.example.org", "shop.example.org", "example.org"):
        make_held_delete(blue, name)
    narrowed = {"guard_endpoint_name": "blue", "name_suffix": "shop.example.org"}

    listed = read_text(client.get(address("helddelete_changelist"), narrowed))
    query: dict[str, Any] = {"guard_endpoint": blue.pk, "name_suffix": "shop.example.org"}
    link = f"{address('helddelete_keep')}?guard_endpoint={blue.pk}&amp;name_suffix=shop.example.org"
    form = client.get(address("helddelete_keep"), query).context["form"]
    sent = {name: form[name].value() or "" for name in form.fields}
    client.post(address("helddelete_keep"), sent)

    assert link in listed
    assert sent["expected_count"] == 2
    assert _statuses() == {
        "example.org": "held",
        "shop.example.org": "kept",
        "www.shop.example.org": "kept",
    }


def test_what_came_since_the_page_was_shown_is_not_decided(client: Client, blue: GuardEndpoint) -> None:
    make_held_delete(blue)
    form = client.get(address("helddelete_release"), {"guard_endpoint": blue.pk}).context["form"]
    sent = {name: form[name].value() or "" for name in form.fields}
    make_held_delete(blue, "late.example.org")

    refused = client.post(address("helddelete_release"), sent)

    assert refused.status_code == 409
    assert "2 held deletes wait there by now, not 1." in read_text(refused)
    assert set(_statuses().values()) == {"held"}


def test_an_address_that_names_nothing_is_answered(client: Client, blue: GuardEndpoint) -> None:
    make_held_delete(blue)

    nothing = read_text(client.get(address("helddelete_release")))
    wrong = read_text(client.get(address("helddelete_keep"), {"ids": "1,x"}, follow=True))
    unknown = client.post(address("helddelete_keep"), {"ids": "4711"})

    assert "None waits for this decision." in nothing
    assert "It is not clear which held deletes are meant." in wrong
    assert unknown.status_code == 404


def test_who_may_operate_some_names_decides_on_those(blue: GuardEndpoint) -> None:
    own = make_held_delete(blue, "www.shop.example.org")
    other = make_held_delete(blue, "www.bank.example.org")
    client = sign_in(_make_operator("shop.example.org"))

    refused = client.post(address("helddelete_release"), {"ids": f"{own.pk},{other.pk}"})
    done = client.post(address("helddelete_release"), {"ids": own.pk}, follow=True)

    assert refused.status_code == 403
    assert "www.bank.example.org" in read_text(refused)
    assert "Released." in read_text(done)
    assert _statuses() == {"www.bank.example.org": "held", "www.shop.example.org": "released"}


def test_a_reader_is_offered_nothing(blue: GuardEndpoint) -> None:
    row = make_held_delete(blue)
    client = sign_in(make_user("charlie"))

    listed = read_text(client.get(address("helddelete_changelist"), {"guard_endpoint": blue.pk}))
    page = read_text(client.get(address("helddelete_change", row.pk)))

    assert "www.example.org" in listed
    for text in ("Release all", "Keep all", 'value="release_picked"'):
        assert text not in listed
    assert address("helddelete_release") not in page
    assert client.post(address("helddelete_release"), {"ids": row.pk}).status_code == 403
    assert _statuses() == {"www.example.org": "held"}


def test_the_page_of_a_held_delete_says_who_decided(client: Client, blue: GuardEndpoint) -> None:
    decided: dict[str, Any] = {
        "status": "kept",
        "decided_by": "bob",
        "decided_at": timezone.now(),
        "decision_reason": "In use.",
    }
    row = make_held_delete(blue, **decided)

    page = read_text(client.get(address("helddelete_change", row.pk)))

    assert all(text in page for text in ("bob", "In use.", "Kept: the instance may not delete it"))
    assert f"{address('helddelete_release')}?ids={row.pk}" in page
    assert address("helddelete_keep") not in page


def test_the_dashboard_says_where_deletes_wait(client: Client, blue: GuardEndpoint) -> None:
    make_held_delete(blue)
    make_held_delete(blue, "api.example.org")
    make_held_delete(blue, "kept.example.org", status="kept")

    page = read_text(client.get(reverse("admin:index")))

    assert "Held deletes of blue: 2. Release or keep them" in page
    assert f"{address('helddelete_changelist')}?guard_endpoint={blue.pk}" in page


def test_what_an_instance_asked_for_is_escaped(client: Client, blue: GuardEndpoint) -> None:
    script, override = "<script>alert(1)</script>", "\u202egro.elpmaxe"
    held = make_held_delete(blue, override, set_identifier=script, record_types=["<b>"], reason=script)
    decision = make_guard_decision(blue, override, set_identifier=script, asked=script, reason=override)
    step = make_guard_step(blue, override, answer=script, change_set=script)

    pages = [
        read_text(client.get(url))
        for url in (
            address("helddelete_changelist"),
            address("helddelete_change", held.pk),
            f"{address('helddelete_release')}?ids={held.pk}",
            address("guarddecision_changelist"),
            address("guarddecision_change", decision.pk),
            address("guardstep_changelist"),
            address("guardstep_change", step.pk),
        )
    ]

    for hostile in (script, "<b>", "\u202e"):
        found = [number for number, page in enumerate(pages) if hostile in page]
        assert found == [], hostile
