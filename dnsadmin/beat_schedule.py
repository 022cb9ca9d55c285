"""When Celery rings. Static: what is due is in rows, and intervals of providers are rows too."""

from typing import Any

# `expires`: rings that pile up while no worker listens are dropped, not worked off one by one.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {"task": "registry_app.tasks.tick", "schedule": 3.0, "options": {"expires": 3}},
    "sweep": {"task": "registry_app.tasks.sweep", "schedule": 15.0, "options": {"expires": 15}},
    "expire-transfers": {
        "task": "registry_app.tasks.expire_transfers",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "purge-deleted": {
        "task": "registry_app.tasks.purge_deleted",
        "schedule": 15.0,
        "options": {"expires": 15},
    },
    "checkpoint-audit": {
        "task": "registry_app.tasks.checkpoint_audit",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "purge": {"task": "registry_app.tasks.purge", "schedule": 3600.0, "options": {"expires": 3600}},
}
