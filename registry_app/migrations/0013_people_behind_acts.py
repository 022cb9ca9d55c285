"""Who issued a token, who answers for a transfer, and who asked for a loop's run."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q


def _foreign_key(**values: Any) -> Any:
    return models.ForeignKey(
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
        **values,
    )


def note_people(apps: Any, schema_editor: Any) -> None:
    """What the rows and the audit trail say of the past. Whose issuer is not known stays without one."""
    transfers = apps.get_model("registry_app", "Transfer").objects
    transfers.update(requested_by_issuer=F("requested_by"), approved_by_issuer=F("approved_by"))
    users = dict(apps.get_model("auth", "User").objects.values_list("username", "pk"))
    issued = apps.get_model("registry_app", "AuditEntry").objects.filter(
        action="token.issued", actor_kind="user"
    )
    tokens = apps.get_model("registry_app", "ApiToken").objects
    for token_id, username in issued.values_list("object_id", "actor_name").iterator():
        if username in users:
            tokens.filter(pk=token_id).update(issued_by=users[username])
    tokens.filter(owners__isnull=False).update(is_narrowed=True)
    # PostgreSQL checks the foreign keys now, so that the indexes of the new columns can be made.
    schema_editor.connection.check_constraints()


def forget_nothing(apps: Any, schema_editor: Any) -> None:
    """The columns go; nothing else was changed."""


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0012_sealed_audit_tail"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("apitoken", "issued_by", _foreign_key(editable=False)),
        migrations.AddField(
            "apitoken",
            "is_narrowed",
            models.BooleanField(default=False, help_text="It reaches what `owners` have, and no more."),
        ),
        migrations.AddField("loop", "requester", _foreign_key(editable=False)),
        migrations.AddField("loop", "requester_issuer", _foreign_key(editable=False)),
        migrations.AddField(
            "transfer",
            "requested_by_issuer",
            _foreign_key(
                help_text="Who issued the token it was requested with; without a token, who requested it."
            ),
        ),
        migrations.AddField("transfer", "approved_by_issuer", _foreign_key()),
        migrations.AddConstraint(
            "transfer",
            models.CheckConstraint(
                name="transfer_people_differ",
                condition=~Q(approval_policy="other_person")
                | Q(approved_by__isnull=True)
                | (
                    ~Q(approved_by=F("requested_by_issuer"))
                    & ~Q(approved_by_issuer=F("requested_by"))
                    & ~Q(approved_by_issuer=F("requested_by_issuer"))
                ),
            ),
        ),
        migrations.RunPython(note_people, forget_nothing),
    ]
