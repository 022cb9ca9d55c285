"""What DynamoDB answers, as far as it is looked at."""

import msgspec


class KeyElement(msgspec.Struct, frozen=True, rename="pascal"):
    """One attribute of a table's primary key."""

    attribute_name: str
    key_type: str


class AttributeDefinition(msgspec.Struct, frozen=True, rename="pascal"):
    """The type of an attribute that a key is made of."""

    attribute_name: str
    attribute_type: str


class TableDescription(msgspec.Struct, frozen=True, rename="pascal"):
    """A table as the service describes it; its count of items is some hours old."""

    table_status: str
    key_schema: tuple[KeyElement, ...]
    attribute_definitions: tuple[AttributeDefinition, ...]
    item_count: int = 0


class DescribeAnswer(msgspec.Struct, frozen=True, rename="pascal"):
    """The answer to DescribeTable."""

    table: TableDescription


class ScanPage(msgspec.Struct, frozen=True, rename="pascal"):
    """One page of a Scan; the last one has no `last_evaluated_key`."""

    # No default: an answer without items is not an empty table.
    items: list[object]
    count: int | None = None
    last_evaluated_key: dict[str, dict[str, object]] | None = None


class TransactAnswer(msgspec.Struct, frozen=True):
    """The answer to TransactWriteItems: an object, and nothing in it matters."""
