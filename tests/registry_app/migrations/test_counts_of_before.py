"""The migration that makes the table of counts counts what is there."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from registry_app.models import KeptCount
from registry_app.queries.kept_count import find_wrong_counts
from tests.factories import make_finding, make_owner, make_provider, make_record_set
from tests.registry_app.admin.world import make_claim


@pytest.mark.django_db
def test_what_was_there_before_the_table_of_counts_is_counted() -> None:
    provider, owner = make_provider(), make_owner()
    for number in range(3):
        row = make_record_set(provider, f"app-{number}.example.org", owner=owner)
        make_claim(row, owner)
    make_finding()
    KeptCount.objects.all().delete()

    import_module("registry_app.migrations.0031_kept_counts").count_rows(apps, connection.schema_editor())

    assert sorted(KeptCount.objects.values_list("noun", "amount")) == [
        ("claim", 3),
        ("finding", 1),
        ("record_set", 3),
    ]
    assert find_wrong_counts() is None
