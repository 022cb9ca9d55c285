"""A transfer by the id that people and programs know."""

from uuid import UUID

from registry_app.errors import NotFound
from registry_app.models import Transfer


def find_transfer(public_id: UUID | str | int) -> Transfer:
    """The transfer with this public id (or, for a number, this primary key). Raises NotFound."""
    rows = Transfer.objects.select_related("provider", "source_owner", "target_owner")
    if isinstance(public_id, int):
        found = rows.filter(pk=public_id).first()
    else:
        parsed = _parse(public_id)
        found = rows.filter(public_id=parsed).first() if parsed else None
    if found is None:
        raise NotFound(f"There is no transfer {str(public_id)[:50]}.", todo="Open the list of transfers.")
    return found


def _parse(text: UUID | str) -> UUID | None:
    try:
        return text if isinstance(text, UUID) else UUID(text)
    except ValueError:
        return None
