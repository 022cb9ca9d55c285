"""Where an owner ran, and how, becomes its first instance."""

from typing import Any

from django.db import migrations
from django.db.models import Q

_ROWS = 500
_FIELDS = ("policy", "cluster_id", "registry_profile_id")
_UNNAMED = "external-dns"


def make_instances(apps: Any, _schema_editor: Any) -> None:
    """One for each owner of which anything is known: its cluster, its registry profile or its policy."""
    owners = apps.get_model("registry_app", "Owner").objects
    instances = apps.get_model("registry_app", "Instance")
    known = Q(cluster__isnull=False) | Q(registry_profile__isnull=False) | ~Q(policy="unknown")
    values = owners.filter(known).order_by("pk").values_list("pk", "cluster__name", *_FIELDS)
    rows = [
        instances(owner_id=pk, name=cluster_name or _UNNAMED, **dict(zip(_FIELDS, known, strict=True)))
        for pk, cluster_name, *known in values
    ]
    instances.objects.bulk_create(rows, batch_size=_ROWS)


def put_back(apps: Any, _schema_editor: Any) -> None:
    """An owner takes what its first instance says; there is no room for the others."""
    owners = apps.get_model("registry_app", "Owner").objects
    instances = apps.get_model("registry_app", "Instance").objects
    told: set[int] = set()
    for owner_pk, *known in instances.order_by("pk").values_list("owner_id", *_FIELDS):
        if owner_pk not in told:
            told.add(owner_pk)
            owners.filter(pk=owner_pk).update(**dict(zip(_FIELDS, known, strict=True)))
    instances.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0007_instance"),
    ]

    operations = [migrations.RunPython(make_instances, put_back)]
