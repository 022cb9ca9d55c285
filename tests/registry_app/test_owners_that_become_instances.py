"""A database of before: where each owner ran, and how, becomes its first instance, and goes back again."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from registry_app.models import Instance, Owner, RegistryProfile
from tests.factories import make_cluster, make_instance, make_owner

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]


def _find_state_before() -> str:
    """The migration after which owners still had these columns, whatever its number is."""
    migrations = MigrationLoader(connection).graph.nodes
    [added] = [each for each in migrations.values() if each and each.name.endswith("_instance")]
    return str(added.dependencies[0][1])


def test_each_owner_of_which_anything_is_known_gets_one_instance() -> None:
    cluster, profile = make_cluster("blue"), RegistryProfile.objects.create(name="edge", prefix="x-")
    make_owner("in-a-cluster", cluster=cluster)
    make_owner("with-a-profile", registry_profile=profile)
    make_owner("with-a-policy", policy="sync")
    make_owner("nothing-known")
    several = make_owner("several", policy="upsert-only", cluster=cluster)
    make_instance(several, "another", policy="sync")
    by_owner = Instance.objects.order_by("owner__owner_id")
    values = ("owner__owner_id", "name", "policy", "cluster__name", "registry_profile__name")

    try:
        call_command("migrate", "registry_app", _find_state_before(), verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT owner_id, policy, cluster_id IS NULL, registry_profile_id IS NULL"
                " FROM registry_app_owner ORDER BY owner_id"
            )
            before = [(row[0], row[1], bool(row[2]), bool(row[3])) for row in cursor.fetchall()]
    finally:
        call_command("migrate", "registry_app", verbosity=0)

    assert before == [
        ("in-a-cluster", "unknown", False, True),
        ("nothing-known", "unknown", True, True),
        ("several", "upsert-only", False, True),
        ("with-a-policy", "sync", True, True),
        ("with-a-profile", "unknown", True, False),
    ]
    assert list(by_owner.values_list(*values)) == [
        ("in-a-cluster", "blue", "unknown", "blue", None),
        ("several", "blue", "upsert-only", "blue", None),
        ("with-a-policy", "external-dns", "sync", None, None),
        ("with-a-profile", "external-dns", "unknown", None, "edge"),
    ]
    assert Owner.objects.count() == 5
