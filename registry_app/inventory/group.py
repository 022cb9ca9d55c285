"""Register a group: a name that grants are given to."""

from django.contrib.auth.models import Group
from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import InvalidRequest
from registry_app.inventory.rows import raise_if_not_administrator

_LONGEST = 150


def register_group(actor: Actor, name: str) -> Group:
    """Store a group without members. Raises NotAllowed, or InvalidRequest with the field."""
    raise_if_not_administrator(actor, "groups")
    problem = ""
    if not name.strip() or len(name) > _LONGEST:
        problem = f"A name of 1 to {_LONGEST} characters."
    elif Group.objects.filter(name=name).exists():
        problem = "There is a group of this name."
    if problem:
        raise InvalidRequest("The group cannot be registered.", fields={"name": [problem]})
    with transaction.atomic():
        row = Group.objects.create(name=name)
        record_audit(actor, "group.added", row, after={"name": name})
    return row
