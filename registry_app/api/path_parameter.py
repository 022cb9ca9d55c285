"""What stands in an address for a transfer, a provider and an owner; `SPECTACULAR_SETTINGS` describes it."""

from typing import Any
from uuid import UUID

from django.urls import register_converter
from django.urls.converters import StringConverter

# A number that fits into the column, or a UUID as Django takes it in addresses.
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class TransferIdConverter:
    """The id that programs use, or the number that people see: `c0a2...` or `12`."""

    regex = f"{_UUID}|[0-9]{{1,18}}"

    def to_python(self, value: str) -> UUID | int:
        return int(value) if value.isdigit() else UUID(value)

    def to_url(self, value: UUID | int | str) -> str:
        return str(value)


register_converter(TransferIdConverter, "transfer")
register_converter(StringConverter, "provider")
register_converter(StringConverter, "owner")


def identify_transfer(transfer_id: UUID | int) -> dict[str, Any]:
    """The condition that finds the row."""
    return {"pk": transfer_id} if isinstance(transfer_id, int) else {"public_id": transfer_id}
