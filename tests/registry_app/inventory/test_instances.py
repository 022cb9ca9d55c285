"""Instances are registered, changed and deleted, and an owner speaks for its only one."""

from typing import Any

import pytest

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.inventory.cluster import delete_cluster
from registry_app.inventory.instance import change_instance, delete_instance, register_instance
from registry_app.inventory.owner import change_owner, delete_owner, register_owner
from registry_app.models import AuditEntry, Instance, Owner
from tests.factories import make_cluster, make_instance, make_owner

pytestmark = pytest.mark.django_db


def _actions() -> list[str]:
    return list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))


def test_an_instance_without_a_name_is_called_after_its_cluster() -> None:
    owner, cluster = make_owner(), make_cluster("east")

    names = [
        register_instance(SYSTEM, {"owner": owner, "cluster": cluster}).name,
        register_instance(SYSTEM, {"owner": owner, "cluster": cluster}).name,
        register_instance(SYSTEM, {"owner": owner, "name": "  "}).name,
        register_instance(SYSTEM, {"owner": make_owner("green-cluster"), "cluster": cluster}).name,
    ]

    assert names == ["east", "east-2", "external-dns", "east"]
    assert _actions() == ["instance.registered"] * 4


def test_a_filter_and_types_are_kept_in_one_spelling() -> None:
    values = {
        "owner": make_owner(),
        "domain_include": ["Example.ORG.", ".apps.example.net", "bücher.example"],
        "domain_exclude": ["internal.Example.org", "internal.example.org."],
        "managed_types": ["cname", "A", " a "],
    }

    instance = register_instance(SYSTEM, values)

    assert instance.domain_include == ["example.org", ".apps.example.net", "xn--bcher-kva.example"]
    assert instance.domain_exclude == ["internal.example.org"]
    assert instance.managed_types == ["A", "CNAME"]


def test_what_makes_no_sense_is_refused_by_field() -> None:
    owner = make_owner()
    make_instance(owner, "east")
    bad: list[tuple[str, Any]] = [
        ("managed_types", ["BOGUS"]),
        ("managed_types", "A"),
        ("domain_include", ["a..b"]),
        ("domain_exclude", "example.org"),
        ("claim_cache_seconds", -1),
        ("policy", "everything"),
        ("name", "n" * 101),
    ]

    for field, value in bad:
        with pytest.raises(InvalidRequest) as refused:
            register_instance(SYSTEM, {"owner": owner, "name": "west", field: value})
        assert list(refused.value.fields) == [field], (field, value)
    with pytest.raises(InvalidRequest, match="not valid"):
        register_instance(SYSTEM, {"owner": owner, "name": "east"})

    assert Instance.objects.count() == 1
    assert _actions() == []


def test_an_instance_stays_with_its_owner() -> None:
    instance = make_instance(make_owner())

    with pytest.raises(InvalidRequest) as refused:
        change_instance(SYSTEM, instance.pk, {"owner": make_owner("green-cluster")})

    assert list(refused.value.fields) == ["owner"]


def test_only_an_administrator_says_what_runs() -> None:
    alice = Actor(kind="user", name="alice", user_id=1)
    owner = make_owner()
    instance = make_instance(owner)

    for act in (
        lambda: register_instance(alice, {"owner": owner}),
        lambda: change_instance(alice, instance.pk, {"policy": "sync"}),
        lambda: delete_instance(alice, instance.pk),
    ):
        with pytest.raises(NotAllowed):
            act()

    assert list(Instance.objects.values_list("policy", flat=True)) == ["unknown"]


def test_of_two_who_change_an_instance_or_its_owner_at_the_same_version_one_wins() -> None:
    owner = make_owner()
    instance = make_instance(owner)
    seen, owner_seen = instance.updated_at, owner.updated_at

    change_instance(SYSTEM, instance.pk, {"policy": "sync"}, expected_updated_at=seen)

    with pytest.raises(StateMoved):
        change_instance(SYSTEM, instance.pk, {"policy": "create-only"}, expected_updated_at=seen)
    with pytest.raises(StateMoved):
        delete_instance(SYSTEM, instance.pk, expected_updated_at=seen)
    # What the owner shows is its instance's: its version moved too.
    with pytest.raises(StateMoved):
        change_owner(SYSTEM, owner.pk, {"policy": "create-only"}, expected_updated_at=owner_seen)
    assert Instance.objects.get().policy == "sync"


def test_a_deleted_instance_leaves_its_owner_and_one_audit_entry_that_says_what_it_was() -> None:
    owner = make_owner(policy="sync", cluster=make_cluster("east"))
    instance = owner.instances.get()

    delete_instance(SYSTEM, instance.pk)

    entry = AuditEntry.objects.get()
    assert entry.action == "instance.deleted"
    assert entry.before is not None
    assert (entry.before["policy"], entry.before["cluster"]) == ("sync", "east")
    assert Owner.objects.get() == owner
    assert not Instance.objects.exists()


def test_instance_fields_of_an_owner_go_to_its_only_instance() -> None:
    east = make_cluster("east")
    owner = register_owner(SYSTEM, {"owner_id": "blue-cluster", "policy": "unknown", "cluster": None})
    none_known = Instance.objects.count()

    change_owner(SYSTEM, owner.pk, {"policy": "unknown", "description": "Runs the shop."})
    change_owner(SYSTEM, owner.pk, {"cluster": east})
    change_owner(SYSTEM, owner.pk, {"policy": "sync"})

    instance = Instance.objects.get()
    assert none_known == 0
    assert (instance.name, instance.cluster, instance.policy) == ("east", east, "sync")
    assert _actions() == ["owner.registered", "owner.changed", "instance.registered", "instance.changed"]


def test_of_an_owner_with_several_instances_it_is_not_known_which_is_meant() -> None:
    owner = make_owner(policy="sync")
    make_instance(owner, "west")

    for values in ({"policy": "create-only"}, {"cluster": None}, {"registry_profile": None}):
        with pytest.raises(RefusedBySafety) as refused:
            change_owner(SYSTEM, owner.pk, {**values, "description": "Shared."})
        assert refused.value.code == "several_instances"
        assert "Change the instance itself" in refused.value.todo
    change_owner(SYSTEM, owner.pk, {"description": "Used by two clusters."})

    assert Owner.objects.get().description == "Used by two clusters."
    assert sorted(Instance.objects.values_list("policy", flat=True)) == ["sync", "unknown"]


def test_a_cluster_stays_while_an_instance_runs_in_it_and_an_owner_takes_its_instances_along() -> None:
    cluster = make_cluster("east")
    owner = make_owner(cluster=cluster)

    with pytest.raises(RefusedBySafety, match="Used by the instance external-dns of blue-cluster") as refused:
        delete_cluster(SYSTEM, cluster.pk)
    delete_owner(SYSTEM, owner.pk)
    delete_cluster(SYSTEM, cluster.pk)

    assert refused.value.code == "in_use"
    assert not Instance.objects.exists()
