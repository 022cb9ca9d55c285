"""The audit entry of an export: who takes what away."""

from collections.abc import Mapping

from django.db import models, transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import NotAllowed
from registry_app.queries.access import may_read

EXPORTED = "export.made"


def note_export(
    actor: Actor,
    subject: models.Model | type[models.Model],
    *,
    name: str,
    export_format: str,
    filters: Mapping[str, str],
) -> None:
    """Record an export before its first byte leaves, so that none is without an entry. `subject` is the row,
    or the model of all rows, that it is of; `name` is that of the list. How many rows it has is known only
    at its end, which is not always reached, and is in its last line. Raises NotAllowed."""
    if not may_read(actor):
        raise NotAllowed("You may not read this.", todo="Ask an administrator of dnsadmin.")
    values = {"list": name, "format": export_format, "filters": dict(filters)}
    with transaction.atomic():
        record_audit(actor, EXPORTED, subject, after=values)
