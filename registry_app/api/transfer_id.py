"""A transfer in an address: by the id that programs use, or by the number that people see."""

from typing import Any
from uuid import UUID

from django.urls import register_converter

# A number that fits into the column, or a UUID as Django takes it in addresses.
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class TransferIdConverter:
    """`12` or `c0a2...`; the parameter's schema is in `SPECTACULAR_SETTINGS`."""

    regex = f"{_UUID}|[0-9]{{1,18}}"

    def to_python(self, value: str) -> UUID | int:
        return int(value) if value.isdigit() else UUID(value)

    def to_url(self, value: UUID | int | str) -> str:
        return str(value)


register_converter(TransferIdConverter, "transfer")


def identify(transfer_id: UUID | int) -> dict[str, Any]:
    """The condition that finds the row."""
    return {"pk": transfer_id} if isinstance(transfer_id, int) else {"public_id": transfer_id}
