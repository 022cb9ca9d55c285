"""One way from the newest migration down to the first, and up again, and what was seen on it.

A way takes longer than a thousand other tests, so that all tests of migrations look at the same one.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from registry_app.models import Instance, Owner, Provider, RegistryProfile
from tests.factories import make_cluster, make_instance, make_owner, make_provider
from tests.registry_app.migrations.landed import read_states
from tests.registry_app.migrations.rows import (
    APP,
    Rows,
    fill,
    keep_columns_of,
    load_models,
    read_rows,
)

_WITHOUT_QUERY, _WITH_QUERY = "0002_names_in_byte_order", "0003_provider_url_query"
_PROVIDER = "registry_app_provider"
_OWNERS_BEFORE_INSTANCES = (
    "SELECT owner_id, policy, cluster_id IS NULL, registry_profile_id IS NULL"
    " FROM registry_app_owner ORDER BY owner_id"
)
Table = list[tuple[Any, ...]]


@dataclass
class Way:
    """What was seen, in this order."""

    owners_before_instances: Table
    urls_before_queries: Table
    # The rows of each state that landed, and what of them was left at the end of the way.
    rows: dict[str, Rows] = field(default_factory=dict)
    rows_left: dict[str, Rows] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    # By the name of each provider at the end of the way.
    urls: dict[str, tuple[str, str]] = field(default_factory=dict)
    stored_query: str = ""
    owner_count: int = 0
    instances: Table = field(default_factory=list)


@cache
def walk() -> Way:
    """Once in each process; the database must be empty. It is at the newest migration afterwards."""
    _make_rows()
    try:
        way = _go_down()
        _go_up(way)
    finally:
        call_command("migrate", verbosity=0)
    _look_at_the_end(way)
    return way


def _make_rows() -> None:
    """What has columns of its own at the newest migration and goes into others' further down."""
    make_provider("plain", url="http://192.0.2.1:8888/base")
    make_provider("told", url="http://192.0.2.2:8888/base", url_query="token=correct-horse")
    cluster, profile = make_cluster("blue"), RegistryProfile.objects.create(name="edge", prefix="x-")
    make_owner("in-a-cluster", cluster=cluster)
    make_owner("with-a-profile", registry_profile=profile)
    make_owner("with-a-policy", policy="sync")
    make_owner("nothing-known")
    several = make_owner("several", policy="upsert-only", cluster=cluster)
    make_instance(several, "another", policy="sync")


def _go_down() -> Way:
    _migrate(_find_state_before_instances())
    owners = _select(_OWNERS_BEFORE_INSTANCES)
    _migrate(_WITHOUT_QUERY)
    urls = _select(f"SELECT name, url FROM {_PROVIDER} ORDER BY name")
    _migrate(read_states()[0])
    return Way(owners, urls)


def _go_up(way: Way) -> None:
    # Rows of each state are added to those of the states before.
    for name in read_states():
        if name == _WITH_QUERY:
            _migrate(_WITH_QUERY)
            _migrate(_WITHOUT_QUERY)
            _make_the_column_early()
        _migrate(name)
        apps = load_models(name)
        fill(apps, name)
        way.rows[name] = read_rows(apps)
        # This one moves on the way: a test of its own is about it.
        way.rows[name]["Provider"] = [row for row in way.rows[name]["Provider"] if "?" not in row["url"]]


def _make_the_column_early() -> None:
    """As the commits a0fea9c to 7eb1ac1 did: at 0002, with the column of 0003."""
    without, model = (load_models(name).get_model(APP, "Provider") for name in (_WITHOUT_QUERY, _WITH_QUERY))
    with connection.schema_editor() as editor:
        editor.add_field(without, model._meta.get_field("url_query"))
    model.objects.create(name="early", url="http://192.0.2.3", url_query="token=correct-horse")


def _look_at_the_end(way: Way) -> None:
    newest = load_models()
    for name, rows in way.rows.items():
        way.rows_left[name] = read_rows(newest, rows)
        way.rows[name] = keep_columns_of(way.rows_left[name], rows)
        way.secrets[name] = Provider.objects.get(name=f"of {name}").secret
    way.urls = {each.name: (each.url, each.url_query) for each in Provider.objects.all()}
    [(way.stored_query,)] = _select(f"SELECT url_query FROM {_PROVIDER} WHERE name = 'told'")
    way.owner_count = Owner.objects.exclude(owner_id__startswith="owner of").count()
    values = ("owner__owner_id", "name", "policy", "cluster__name", "registry_profile__name")
    way.instances = list(Instance.objects.order_by("owner__owner_id").values_list(*values))


def _migrate(name: str) -> None:
    call_command("migrate", APP, name, verbosity=0)


def _select(statement: str) -> Table:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _find_state_before_instances() -> str:
    """The migration after which owners still had these columns, whatever its number is."""
    migrations = MigrationLoader(connection).graph.nodes
    [added] = [each for each in migrations.values() if each and each.name.endswith("_instance")]
    return str(added.dependencies[0][1])
