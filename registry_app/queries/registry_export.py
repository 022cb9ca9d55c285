"""What people are told about the scheduled export of a registry profile."""

from django.conf import settings

from registry_app.clock import fetch_now
from registry_app.models import RegistryProfile


def describe_export(row: RegistryProfile) -> str:
    """When its claims were exported last, and what is wrong with that."""
    if not settings.DNSADMIN_REGISTRY_EXPORT_DIR:
        return "There is no scheduled export: DNSADMIN_REGISTRY_EXPORT_DIR is not set. Back up the database."
    last = "Not exported yet."
    if row.exported_at is not None:
        last = f"Last exported at {row.exported_at:%Y-%m-%d %H:%M} UTC."
    if row.export_error:
        return f"{last} {row.export_error}"
    if is_export_overdue(row):
        return f"{last} That is too long ago: see the log of the workers."
    return last


def is_export_overdue(row: RegistryProfile) -> bool:
    """Whether two intervals went by without an export."""
    since = row.exported_at or row.created_at
    return fetch_now() - since > 2 * settings.DNSADMIN_REGISTRY_EXPORT_EVERY
