"""Buttons: each asks one mutation of the app, says what came of it, and is no link."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.utils import timezone

from registry_app.models import (
    ApiToken,
    AuditEntry,
    Freeze,
    Grant,
    HeldSnapshot,
    Provider,
)
from tests.factories import make_administrator, make_finding, make_owner, make_provider, make_user
from tests.reference_server import ReferenceProvider
from tests.registry_app.admin.world import (
    address,
    make_fresh_provider,
    make_member,
    make_one_of_each,
    make_team,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db
_MODELS: dict[str, type[Model]] = {
    "provider": Provider,
    "heldsnapshot": HeldSnapshot,
    "freeze": Freeze,
    "grant": Grant,
    "apitoken": ApiToken,
}


def _make_held(provider: Provider) -> HeldSnapshot:
    now = timezone.now()
    return HeldSnapshot.objects.create(
        provider=provider, body=b"", body_digest="d", created_at=now, last_seen_at=now
    )


def test_a_connection_is_tested_and_its_first_records_are_shown() -> None:
    client = sign_in(make_administrator())

    with ReferenceProvider() as reference:
        provider = make_provider(url=reference.url)
        page = read_text(client.post(address("provider_test", provider.pk)))

    assert "Nothing was changed." in page
    assert "0 endpoints in" in page


def test_a_connection_that_fails_is_explained() -> None:
    client = sign_in(make_administrator())
    reference = ReferenceProvider()
    with reference:
        provider = make_provider(url=reference.url)

    response = client.post(address("provider_test", provider.pk))

    assert response.status_code == 200
    assert 'class="dn-alert"' in read_text(response)


def test_an_operator_has_a_provider_synced() -> None:
    provider = make_fresh_provider()
    before = provider.next_sync_at
    client = sign_in(make_member("alice", make_team("team-blue", Grant.Action.OPERATE)))

    response = client.post(address("provider_sync", provider.pk), follow=True)

    provider.refresh_from_db()
    assert provider.next_sync_at is not None
    assert before is not None
    assert provider.next_sync_at < before
    assert "Sync requested" in read_text(response)


@pytest.mark.parametrize(("decision", "status"), [("accept", "accepted"), ("reject", "rejected")])
def test_a_held_snapshot_is_decided_once(decision: str, status: str) -> None:
    held = _make_held(make_fresh_provider(status=Provider.Status.HELD))
    client = sign_in(make_administrator())
    url = address(f"heldsnapshot_{decision}", held.pk)

    client.post(url, {"reason": "The zone was emptied on purpose.", "seen": held.body_digest})
    again = client.post(url, {"reason": "Again.", "seen": held.body_digest}, follow=True)

    held.refresh_from_db()
    assert (held.status, held.decided_by) == (status, "root")
    assert "errornote" in read_text(again)


@pytest.mark.parametrize("decision", ["accept", "reject"])
@pytest.mark.parametrize("seen", ["", "an older answer"])
def test_a_held_snapshot_is_decided_only_as_it_was_shown(decision: str, seen: str) -> None:
    held = _make_held(make_fresh_provider(status=Provider.Status.HELD))
    client = sign_in(make_administrator())

    answer = client.post(
        address(f"heldsnapshot_{decision}", held.pk), {"reason": "Right.", "seen": seen}, follow=True
    )

    held.refresh_from_db()
    assert held.status == HeldSnapshot.Status.OPEN
    assert "errornote" in read_text(answer)


def test_a_provider_is_frozen_and_the_freeze_is_lifted() -> None:
    provider = make_fresh_provider()
    client = sign_in(make_administrator())

    client.post(address("freeze_start"), {"provider": provider.pk, "reason": "Change stop.", "ends_at": ""})
    row = Freeze.objects.get()
    shown = read_text(client.get(address("provider_change", provider.pk)))
    client.post(address("freeze_lift", row.pk))

    row.refresh_from_db()
    assert "Change stop." in shown
    assert row.ends_at is not None


def test_a_freeze_that_starts_on_a_later_day_is_not_shown_as_in_force_and_can_be_deleted() -> None:
    provider = make_fresh_provider()
    client = sign_in(make_administrator())
    later = timezone.now() + timedelta(days=2)
    form = {"provider": provider.pk, "reason": "Change stop.", "starts_at": f"{later:%Y-%m-%dT%H:%M}"}

    client.post(address("freeze_start"), form)
    row = Freeze.objects.get()
    in_list = read_text(client.get(address("freeze_changelist")))
    page = read_text(client.get(address("freeze_change", row.pk)))
    client.post(address("freeze_remove", row.pk))

    assert "Planned" in in_list
    assert "In force" not in in_list + page
    assert "Lift the freeze" not in page
    assert not Freeze.objects.exists()


def test_names_of_an_owner_are_pinned_every_weekend() -> None:
    provider = make_fresh_provider()
    make_owner("blue-cluster")
    client = sign_in(make_administrator())
    form = {
        "kind": "pin",
        "provider": provider.pk,
        "owner": "blue-cluster",
        "names": "www.example.org\napi.example.org",
        "name_suffixes": ".shop.example.org",
        "reason": "Weekend.",
        "window_use": "inside",
        "weekdays": ["fri"],
        "window_start": "16:00",
        "window_length": "64:00",
        "time_zone": "Europe/Berlin",
    }

    client.post(address("freeze_start"), form)
    row = Freeze.objects.get()
    page = read_text(client.get(address("freeze_change", row.pk)))
    in_list = read_text(client.get(address("freeze_changelist"), {"owner_name": "blue-cluster"}))
    of_provider = read_text(client.get(address("provider_change", provider.pk)))

    assert (row.kind, row.names) == ("pin", ["www.example.org", "api.example.org"])
    assert row.window is not None
    assert (row.window["minutes"], row.window["time_zone"]) == (64 * 60, "Europe/Berlin")
    assert "Inside its weekly window: Friday 16:00, 64:00 h (Europe/Berlin)" in page
    named = "www.example.org, api.example.org, *.shop.example.org of blue-cluster at"
    assert all(named in shown for shown in (page, in_list, of_provider))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"weekdays": []}, "weekdays"),
        ({"window_start": ""}, "window_start"),
        ({"window_length": ""}, "window_length"),
        ({"window_length": "0:00"}, "window_length"),
        ({"window_length": "168:01"}, "window_length"),
        ({"time_zone": "Berlin"}, "time_zone"),
        ({"names": "www..example.org"}, "names"),
    ],
)
def test_a_weekly_window_that_is_not_whole_is_refused_beside_its_field(
    values: dict[str, Any], field: str
) -> None:
    client = sign_in(make_administrator())
    window = {"weekdays": ["fri"], "window_start": "16:00", "window_length": "64:00", "time_zone": "UTC"}
    form = {"reason": "Weekend.", "window_use": "outside", **window, **values}

    response = client.post(address("freeze_start"), form)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert not Freeze.objects.exists()


def test_a_freeze_that_ends_before_it_begins_keeps_what_was_typed() -> None:
    client = sign_in(make_administrator())
    form = {"provider": "", "reason": "Change stop.", "ends_at": "2001-01-01T00:00"}

    response = client.post(address("freeze_start"), form)

    assert response.status_code == 422
    assert "ends_at" in response.context["form"].errors
    assert "Change stop." in read_text(response)
    assert not Freeze.objects.exists()


def test_a_finding_is_acknowledged_and_muted() -> None:
    finding = make_finding(provider=make_fresh_provider())
    client = sign_in(make_administrator())

    form = {"reason": "Known.", "muted_until": "2099-01-01T00:00"}
    client.post(address("finding_acknowledge", finding.pk), form)

    finding.refresh_from_db()
    assert (finding.state, finding.acknowledged_by) == ("acknowledged", "root")
    assert finding.muted_until is not None


def test_a_token_is_shown_once() -> None:
    owner = make_owner()
    client = sign_in(make_user("alice"))
    form = {"name": "deploy", "scopes": ["read", "plan"], "owners": [owner.pk], "networks": "192.0.2.0/24"}

    issued = read_text(client.post(address("apitoken_issue"), form))
    token = ApiToken.objects.get()
    text = issued.partition('tabindex="0">')[2].partition("<")[0]
    urls = (address("apitoken_changelist"), address("apitoken_change", token.pk))
    later = [read_text(client.get(url)) for url in urls]

    assert text.startswith(f"dnsa_{token.public_id}_")
    assert not [page for page in later if text in page or token.secret_hash in page]
    assert list(token.owners.all()) == [owner]


def test_a_token_with_a_bad_network_is_refused_beside_the_field() -> None:
    client = sign_in(make_user("alice"))

    form = {"name": "deploy", "scopes": ["read"], "networks": "nowhere"}
    response = client.post(address("apitoken_issue"), form)

    assert response.status_code == 422
    assert "networks" in response.context["form"].errors
    assert 'value="deploy"' in read_text(response)


def test_nobody_sees_or_revokes_anothers_token() -> None:
    token = ApiToken.objects.create(public_id="a" * 16, secret_hash="h", name="hers", user=make_user("alice"))
    charlie = sign_in(make_user("charlie"))

    shown = charlie.get(address("apitoken_changelist"))
    page = charlie.get(address("apitoken_change", token.pk))
    charlie.post(address("apitoken_revoke", token.pk))

    token.refresh_from_db()
    assert "hers" not in read_text(shown)
    assert page.status_code == 404
    assert token.revoked_at is None


def test_a_grant_is_given_and_taken_with_an_audit_line_each() -> None:
    team = Group.objects.create(name="team-blue")
    client = sign_in(make_administrator())

    form = {"group": team.pk, "action": "request", "name_suffix": ".Blue.Example.ORG."}
    client.post(address("grant_give"), form)
    grant = Grant.objects.get()
    client.post(address("grant_take", grant.pk))

    assert grant.name_suffix == "blue.example.org"
    assert not Grant.objects.exists()
    assert list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True)) == [
        "grant.added",
        "grant.removed",
    ]


def test_a_new_user_stands_in_the_audit_without_the_password() -> None:
    client = sign_in(make_administrator())
    password = "a-long-enough-passphrase"

    form = {"username": "bob", "password1": password, "password2": password, "usable_password": "true"}
    client.post("/admin/auth/user/add/", form)

    entry = AuditEntry.objects.get()
    assert User.objects.filter(username="bob").exists()
    assert (entry.action, entry.actor_name) == ("user.added", "root")
    assert password not in str(entry.after)


def test_the_chain_of_the_audit_is_verified_at_the_press_of_a_button() -> None:
    client = sign_in(make_administrator())
    form = {"provider": "", "reason": "Change stop."}
    client.post(address("freeze_start"), form)

    whole = read_text(client.post(address("auditentry_verify"), follow=True))
    AuditEntry.objects.update(reason="Something else.")
    broken = read_text(client.post(address("auditentry_verify"), follow=True))

    assert "The chain is valid" in whole
    assert "is broken at entry 1" in broken


@pytest.mark.parametrize(
    "name",
    [
        "provider_sync",
        "provider_test",
        "heldsnapshot_accept",
        "heldsnapshot_reject",
        "freeze_lift",
        "freeze_remove",
        "grant_take",
        "apitoken_revoke",
    ],
)
def test_a_link_does_nothing(name: str) -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    row = _MODELS[name.partition("_")[0]]._default_manager.get()

    response = sign_in(root).get(address(name, row.pk))

    assert response.status_code == 405


@pytest.mark.parametrize(
    "name",
    [
        "provider_sync",
        "provider_test",
        "heldsnapshot_accept",
        "heldsnapshot_reject",
        "freeze_lift",
        "freeze_remove",
    ],
)
def test_the_auditor_presses_in_vain(name: str) -> None:
    make_one_of_each(1, make_administrator())
    dora = sign_in(make_user("dora"))
    row = _MODELS[name.partition("_")[0]]._default_manager.get()
    before = _state_of_things()

    page = dora.post(address(name, row.pk), follow=True)

    assert "errornote" in read_text(page)
    assert _state_of_things() == before


def _state_of_things() -> list[object]:
    return [
        list(Provider.objects.values_list("next_sync_at", flat=True)),
        list(HeldSnapshot.objects.values_list("status", flat=True)),
        list(Freeze.objects.values_list("ends_at", flat=True)),
        AuditEntry.objects.count(),
    ]


def test_an_expired_token_is_not_called_valid() -> None:
    alice = make_user("alice")
    gone = timezone.now() - timedelta(minutes=1)
    ApiToken.objects.create(public_id="a" * 16, secret_hash="h", name="old", user=alice, expires_at=gone)

    page = read_text(sign_in(alice).get(address("apitoken_changelist")))

    assert "Expired" in page
    assert "Valid" not in page
