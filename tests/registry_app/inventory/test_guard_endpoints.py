"""Guard endpoints are registered, changed and deleted by administrators, and each change is audited."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.inventory.guard_endpoint import (
    change_guard_endpoint,
    change_guard_mode,
    delete_guard_endpoint,
    issue_guard_credential,
    register_guard_endpoint,
    remove_guard_credential,
    verify_credential,
)
from registry_app.inventory.instance import change_instance, delete_instance
from registry_app.inventory.owner import delete_owner
from registry_app.inventory.provider import delete_provider
from registry_app.inventory.token import compute_secret_hash
from registry_app.models import AuditEntry, DesiredEndpoint, GuardEndpoint, RegistryProfile
from registry_app.queries.guard_credential import compute_password_hash
from registry_app.queries.guard_endpoint import find_guard_endpoint, is_stale, list_who_wants
from tests.factories import (
    make_cluster,
    make_desired_set,
    make_guard_endpoint,
    make_instance,
    make_owner,
    make_provider,
    make_record_set,
)

pytestmark = pytest.mark.django_db


def _actions() -> list[str]:
    return list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))


def test_each_change_is_one_audit_entry_that_says_what_changed() -> None:
    values = {"slug": "blue", "provider": make_provider(), "instance": make_instance(make_owner())}

    row = register_guard_endpoint(SYSTEM, values)
    change_guard_endpoint(SYSTEM, row.pk, {"networks": ["192.0.2.0/24"], "deadline_seconds": 20})
    change_guard_mode(SYSTEM, row.pk, mode="paused", reason="The zone moves.")
    issue_guard_credential(SYSTEM, row.pk)
    issue_guard_credential(SYSTEM, row.pk)
    remove_guard_credential(SYSTEM, row.pk)
    delete_guard_endpoint(SYSTEM, row.pk)

    assert _actions() == [
        "guard_endpoint.registered",
        "guard_endpoint.changed",
        "guard_endpoint.mode_changed",
        "guard_endpoint.credential_issued",
        "guard_endpoint.credential_issued",
        "guard_endpoint.credential_removed",
        "guard_endpoint.deleted",
    ]
    moved = AuditEntry.objects.get(action="guard_endpoint.mode_changed")
    assert (moved.before, moved.after, moved.reason) == (
        {"mode": "observe"},
        {"mode": "paused"},
        "The zone moves.",
    )
    removed = AuditEntry.objects.get(action="guard_endpoint.credential_removed")
    assert (removed.before, removed.after) == ({"username": "blue"}, {"username": ""})
    assert not GuardEndpoint.objects.exists()


def test_what_makes_no_sense_is_refused_by_field() -> None:
    provider, instance = make_provider(), make_instance(make_owner())
    make_guard_endpoint(make_instance(make_owner("green-cluster")), provider, slug="taken")
    bad: list[tuple[str, Any]] = [
        ("slug", "taken"),
        ("slug", "Blue"),
        ("slug", "a/b"),
        ("slug", ""),
        ("slug", "healthz"),
        ("slug", "records"),
        ("mode", "off"),
        ("shared_names", ["a..b"]),
        ("shared_names", "example.org"),
        ("delete_percent", 0),
        ("delete_percent", 101),
        ("most_deletes", 0),
        ("window_seconds", 59),
        ("networks", ["192.0.2.0/99"]),
        ("networks", ["192.0.2.1/24"]),
        ("networks", [1]),
        ("networks", "192.0.2.0/24"),
        ("deadline_seconds", 1),
        ("max_body_bytes", 10),
        ("provider", make_provider("off", is_enabled=False)),
    ]

    for field, value in bad:
        with pytest.raises(InvalidRequest) as refused:
            register_guard_endpoint(
                SYSTEM, {"slug": "blue", "provider": provider, "instance": instance, field: value}
            )
        assert list(refused.value.fields) == [field], (field, value)

    assert GuardEndpoint.objects.count() == 1
    assert _actions() == []


def test_an_instance_has_one_guard_endpoint_at_the_provider_it_writes_through() -> None:
    provider, other = make_provider(), make_provider("green-zone")
    instance = make_instance(make_owner(), provider=other)
    values = {"slug": "blue", "provider": provider, "instance": instance}

    with pytest.raises(InvalidRequest, match="cannot be registered") as elsewhere:
        register_guard_endpoint(SYSTEM, values)
    register_guard_endpoint(SYSTEM, {**values, "provider": other})
    with pytest.raises(InvalidRequest) as second:
        register_guard_endpoint(SYSTEM, {**values, "provider": other, "slug": "again"})
    with pytest.raises(InvalidRequest) as moved:
        change_instance(SYSTEM, instance.pk, {"provider": provider})

    assert list(elsewhere.value.fields) == ["provider"]
    assert "The instance has a guard endpoint at this provider." in str(second.value.fields)
    assert list(moved.value.fields) == ["provider"]


@pytest.mark.parametrize("kind", ["noop", "dynamodb", "crd"])
def test_an_instance_of_any_registry_is_registered(kind: str) -> None:
    where: dict[str, dict[str, Any]] = {
        "noop": {},
        "dynamodb": {"table": "claims", "region": "eu-central-1"},
        "crd": {"cluster": make_cluster(), "namespace": "dns"},
    }
    profile = RegistryProfile.objects.create(name="store", kind=kind, **where[kind])
    instance = make_instance(make_owner(), registry_profile=profile)

    row = register_guard_endpoint(
        SYSTEM, {"slug": "blue", "provider": make_provider(), "instance": instance, "mode": "paused"}
    )

    assert row.mode == "paused"


def test_a_deleted_provider_gets_none() -> None:
    provider = make_provider()
    instance = make_instance(make_owner())
    delete_provider(SYSTEM, provider.pk)

    with pytest.raises(InvalidRequest) as refused:
        register_guard_endpoint(SYSTEM, {"slug": "blue", "provider": provider, "instance": instance})

    assert list(refused.value.fields) == ["provider"]


def test_provider_and_instance_stay_and_the_mode_is_changed_by_itself() -> None:
    row = make_guard_endpoint()
    other = make_instance(make_owner("green-cluster"))
    changes: list[dict[str, Any]] = [
        {"provider": make_provider("green-zone")},
        {"instance": other},
        {"mode": "paused"},
        {"slug": "metrics"},
        {"networks": ["everywhere"]},
    ]

    for each in changes:
        with pytest.raises(InvalidRequest) as refused:
            change_guard_endpoint(SYSTEM, row.pk, each)
        assert list(refused.value.fields) == list(each)
    with pytest.raises(InvalidRequest):
        change_guard_mode(SYSTEM, row.pk, mode="off")
    kept = change_guard_endpoint(
        SYSTEM, row.pk, {"slug": "blue-2", "mode": "observe", "provider": row.provider}
    )

    assert (kept.slug, kept.mode) == ("blue-2", "observe")


def test_of_two_who_change_the_same_version_one_wins() -> None:
    row = make_guard_endpoint()
    seen = row.updated_at

    change_guard_mode(SYSTEM, row.pk, mode="paused", expected_updated_at=seen)

    for act in (
        lambda: change_guard_endpoint(SYSTEM, row.pk, {"slug": "late"}, expected_updated_at=seen),
        lambda: change_guard_mode(SYSTEM, row.pk, mode="dry_run", expected_updated_at=seen),
        lambda: delete_guard_endpoint(SYSTEM, row.pk, expected_updated_at=seen),
    ):
        with pytest.raises(StateMoved):
            act()
    assert GuardEndpoint.objects.get().mode == "paused"


def test_only_an_administrator_may() -> None:
    alice = Actor(kind="user", name="alice", user_id=1)
    row = make_guard_endpoint(slug="blue")
    values = {"slug": "green", "provider": row.provider, "instance": make_instance(make_owner("green"))}

    for act in (
        lambda: register_guard_endpoint(alice, values),
        lambda: change_guard_endpoint(alice, row.pk, {"slug": "green"}),
        lambda: change_guard_mode(alice, row.pk, mode="paused"),
        lambda: issue_guard_credential(alice, row.pk),
        lambda: remove_guard_credential(alice, row.pk),
        lambda: delete_guard_endpoint(alice, row.pk),
    ):
        with pytest.raises(NotAllowed):
            act()

    assert list(GuardEndpoint.objects.values_list("slug", "mode", "username")) == [("blue", "observe", "")]


def test_a_credential_is_stored_as_a_hash_and_the_new_one_replaces_the_old() -> None:
    row = make_guard_endpoint(slug="blue")

    _, first = issue_guard_credential(SYSTEM, row.pk)
    stored, second = issue_guard_credential(SYSTEM, row.pk, username="cluster.blue")

    assert len(second) >= 32
    assert verify_credential(stored, "cluster.blue", second)
    for username, password in (
        ("cluster.blue", first),
        ("blue", second),
        ("", ""),
        ("cluster.blue", ""),
        ("cluster.blue", stored.password_hash),
        ("cluster.blu\udc80", "\udc80\0"),
    ):
        assert not verify_credential(stored, username, password), (username, password)
    everywhere = f"{GuardEndpoint.objects.values().get()}{list(AuditEntry.objects.values())}"
    assert first not in everywhere
    assert second not in everywhere
    assert stored.password_hash not in str(list(AuditEntry.objects.values()))


def test_without_a_credential_none_is_asked_for() -> None:
    row = make_guard_endpoint()
    issue_guard_credential(SYSTEM, row.pk)

    removed = remove_guard_credential(SYSTEM, row.pk)

    assert verify_credential(removed, "anybody", "anything")
    with pytest.raises(StateMoved):
        remove_guard_credential(SYSTEM, row.pk)


@pytest.mark.parametrize("username", ["a:b", "a b", "ä", "a@b", "n" * 101])
def test_a_user_name_that_would_break_a_url_is_refused(username: str) -> None:
    row = make_guard_endpoint()

    with pytest.raises(InvalidRequest) as refused:
        issue_guard_credential(SYSTEM, row.pk, username=username)

    assert list(refused.value.fields) == ["username"]
    assert GuardEndpoint.objects.get().password_hash == ""


def test_instance_owner_and_provider_stay_while_they_have_a_guard_endpoint() -> None:
    row = make_guard_endpoint(slug="blue")
    make_desired_set(row, "www.example.org")
    deletions: tuple[Callable[[], None], ...] = (
        lambda: delete_instance(SYSTEM, row.instance.pk),
        lambda: delete_owner(SYSTEM, row.instance.owner.pk),
        lambda: delete_provider(SYSTEM, row.provider.pk),
    )

    for delete in deletions:
        with pytest.raises(RefusedBySafety, match=r"Used by the guard endpoint blue\. Delete it first\."):
            delete()
    delete_guard_endpoint(SYSTEM, row.pk)
    for delete in deletions[0], deletions[2]:
        delete()

    assert not DesiredEndpoint.objects.exists()


def test_it_is_found_by_its_path_in_one_statement(django_assert_num_queries: Any) -> None:
    row = make_guard_endpoint(slug="blue")

    with django_assert_num_queries(1):
        found = find_guard_endpoint("blue")
        assert found is not None
        said = (found.pk, found.provider.name, found.instance.name, found.instance.owner.owner_id)

    assert said == (row.pk, "blue-zone", "blue", "blue-cluster")
    assert find_guard_endpoint("Blue") is None
    assert find_guard_endpoint("blue\0") is None


@pytest.mark.parametrize(
    ("interval", "age", "expected"),
    [
        (60, 170, False),
        (60, 190, True),
        (600, 1700, False),
        (600, 1900, True),
        (5, 170, False),
        (None, 190, True),
    ],
)
def test_a_desired_set_is_stale_after_three_intervals(interval: int | None, age: int, expected: bool) -> None:
    now = timezone.now()
    posted = now - timedelta(seconds=age)
    desired = make_desired_set(make_guard_endpoint(), last_seen_at=posted, interval_seconds=interval)

    assert is_stale(desired, now) is expected


def test_who_wants_a_record_set_are_those_at_its_provider_with_its_name_and_type() -> None:
    provider, other = make_provider(), make_provider("green-zone")
    record = make_record_set(provider)
    owner = make_owner()
    for slug, where, name in (
        ("one", provider, "www.example.org"),
        ("two", provider, "other.example.org"),
        ("three", other, "www.example.org"),
    ):
        row = make_guard_endpoint(make_instance(owner, slug), where, slug=slug)
        make_desired_set(row, name)

    found = [each.guard_endpoint.slug for each in list_who_wants(record)]

    assert found == ["one"]


def test_a_password_and_the_secret_of_a_token_have_different_hashes() -> None:
    assert compute_password_hash("0" * 64) != compute_secret_hash("0" * 64)
