"""The web admin: screens and forms, no rules. Importing it registers them all."""

from registry_app.admin import (
    accounts,
    api_token,
    audit_entry,
    cluster,
    finding,
    freeze,
    grant,
    held_snapshot,
    loop,
    loop_run,
    owner,
    provider,
    record_set,
    registry_profile,
    sync_run,
    transfer,
)

__all__ = [
    "accounts",
    "api_token",
    "audit_entry",
    "cluster",
    "finding",
    "freeze",
    "grant",
    "held_snapshot",
    "loop",
    "loop_run",
    "owner",
    "provider",
    "record_set",
    "registry_profile",
    "sync_run",
    "transfer",
]
