"""What lies below names, for any number of names in one statement."""

from collections.abc import Collection

import msgspec
from django.db import connection

from providers.wire.canonical_name import reversed_name
from registry_app.models import Owner, OwnershipState, Provider, RecordSet

# Below the reversed name `org.example` is what lies between `org.example.` and the next character of that.
_STATEMENT = """
    SELECT asked.value, (
        SELECT name FROM {table}
        WHERE provider_id = %s AND missing_since IS NULL AND (owner_id IS NULL OR owner_id <> %s)
            AND state <> %s AND name_reversed >= asked.value || '.' AND name_reversed < asked.value || '/'
        ORDER BY name_reversed LIMIT 1
    ) FROM {asked}
"""
_ASKED = {"sqlite": "json_each(%s) AS asked", "postgresql": "unnest(%s::text[]) AS asked(value)"}


def find_others_below(
    provider: Provider, owner: Owner, names: Collection[str], *, whatever: bool
) -> dict[str, str]:
    """For canonical names, one below that is another owner's at this provider, or in doubt; with `whatever`
    also one that is nobody's. By the mirror; what has nothing below is left out."""
    asked = {reversed_name(name): name for name in names}
    left_out = "" if whatever else OwnershipState.UNMANAGED
    values = list(asked) if connection.vendor == "postgresql" else msgspec.json.encode(list(asked)).decode()
    # Table and function are ours, all values are parameters.
    statement = _STATEMENT.format(table=RecordSet._meta.db_table, asked=_ASKED[connection.vendor])
    with connection.cursor() as cursor:
        cursor.execute(statement, [provider.pk, owner.pk, left_out, values])
        return {asked[value]: below for value, below in cursor.fetchall() if below is not None}
