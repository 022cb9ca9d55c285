"""The web admin: pages and forms, no rules. Importing it registers all pages."""

from registry_app.admin import (  # noqa: F401 - see above
    accounts,
    audit_entry,
    cluster,
    finding,
    freeze,
    grant,
    held_snapshot,
    instance,
    loop,
    loop_run,
    owner,
    provider,
    record_set,
    registry_profile,
    sync_run,
    token,
    transfer,
)
