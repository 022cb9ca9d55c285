"""The query of a provider's URL, perhaps a token, out of the column that is shown and into an encrypted one."""

from typing import Any

from django.db import migrations

import registry_app.models.encrypted_field


def move_queries(apps: Any, _schema_editor: Any) -> None:
    for provider in apps.get_model("registry_app", "Provider").objects.filter(url__contains="?"):
        provider.url, _, provider.url_query = provider.url.partition("?")
        provider.save(update_fields=["url", "url_query"])


def put_queries_back(apps: Any, _schema_editor: Any) -> None:
    for provider in apps.get_model("registry_app", "Provider").objects.exclude(url_query=""):
        provider.url = f"{provider.url}?{provider.url_query}"
        provider.save(update_fields=["url"])


class AddMissingField(migrations.AddField):
    """For databases of the commits a0fea9c to 7eb1ac1: there an edited 0001 had made the column already."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        connection = schema_editor.connection
        with connection.cursor() as cursor:
            columns = connection.introspection.get_table_description(cursor, model._meta.db_table)
        if self.name not in {column.name for column in columns}:
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0002_names_in_byte_order"),
    ]

    operations = [
        AddMissingField(
            model_name="provider",
            name="url_query",
            field=registry_app.models.encrypted_field.EncryptedTextField(
                blank=True,
                default="",
                help_text="What follows the ? of the URL, perhaps a token. Write-only.",
                verbose_name="URL query",
            ),
        ),
        migrations.RunPython(move_queries, put_queries_back),
    ]
