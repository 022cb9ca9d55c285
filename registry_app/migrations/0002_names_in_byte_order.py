"""DNS names in byte order on PostgreSQL too.

Names are stored as lower-case ASCII. In the C collation a range over them is a prefix, one index serves
equality, prefixes and the order of pages, and both databases sort alike. SQLite compares bytes anyway.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

NAME_COLUMNS = {
    "RecordSet": ("name", "name_reversed"),
    "Claim": ("txt_name", "record_name"),
    "RecordEvent": ("name",),
    "Finding": ("name",),
    "TransferItem": ("name",),
    "DeclaredEndpoint": ("name",),
    "Owner": ("owner_id",),
    "AuditEntry": ("action",),
}


def set_byte_order(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    for model_name, columns in NAME_COLUMNS.items():
        model = apps.get_model("registry_app", model_name)
        for column in columns:
            kind = model._meta.get_field(column).db_type(schema_editor.connection)
            schema_editor.execute(
                f'ALTER TABLE "{model._meta.db_table}" ALTER COLUMN "{column}" TYPE {kind} COLLATE "C"'
            )


class Migration(migrations.Migration):
    dependencies = [("registry_app", "0001_initial")]

    operations = [migrations.RunPython(set_byte_order, migrations.RunPython.noop)]
