"""The dynamodb registry as a store: the rows of one table, changed by conditional transactions."""

import re
from collections.abc import Sequence

import msgspec

from providers.http.errors import InvalidAddress, NothingSent, OutcomeUnknown
from providers.registries.stored_claim import (
    StoredClaim,
    StoredClaimChange,
    StoreReading,
    compute_claims_digest,
    compute_digest,
)
from providers.stores.dynamodb.api import Deadline, DynamoDbApi
from providers.stores.dynamodb.changes import build_row_changes, explain_conflict, split_row_changes
from providers.stores.dynamodb.item import DYNAMODB, KEY, DynamoDbItem, read_items
from providers.stores.dynamodb.key import AwsKey, build_dynamodb_url
from providers.stores.dynamodb.responses import TableDescription, WrongTable, explain_wrong_key
from providers.stores.registry import (
    ClaimPlace,
    RegistryKind,
    StoreAccess,
    StoreSettings,
    reading_before_write,
)
from providers.wire.poison import safe_text

DEFAULT_TABLE = "external-dns"
_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}").fullmatch
_ENCODER = msgspec.msgpack.Encoder(order="sorted")
_USABLE_TABLE = {"ACTIVE", "UPDATING"}


class DynamoDbStore:
    """Claims in the items of one table, as ExternalDNS's dynamodb registry lays them out."""

    def __init__(self, api: DynamoDbApi, table: str = DEFAULT_TABLE, *, max_items: int = 200_000) -> None:
        if not _TABLE_NAME(table):
            raise InvalidAddress(
                "This is no name of a DynamoDB table.",
                hint="Three to 255 letters, digits, dots, hyphens and underscores; ExternalDNS's own default "
                f"is {DEFAULT_TABLE}.",
            )
        self._api = api
        self._table = table
        self._max_items = max_items

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """The claims of all items, of all owners. Raises ProviderError."""
        return [item.claim for item in self._fetch(self._api.begin())]

    def fetch_reading(self) -> StoreReading:
        """All items; each is only read when the claims are asked for."""
        deadline = self._api.begin()
        values = self._fetch_values(deadline)

        def read() -> Sequence[StoredClaim]:
            return [item.claim for item in self._read(values)]

        try:
            return StoreReading(compute_digest(sorted(map(_ENCODER.encode, values))), read)
        except (OverflowError, RecursionError):
            # No table has that: a number or a depth that msgpack cannot hold.
            return StoreReading(compute_claims_digest(read()), read)

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Make each change if its row still is `old`, in transactions that are made whole or not at all.

        The table is read before: nothing is sent if one change does not fit. With each transaction the
        service itself compares owner and labels with what was read. Raises NothingSent while nothing was
        changed (RowConflict where another writer was first), and OutcomeUnknown once a transaction was
        made, or where that is unknown.
        """
        deadline = self._api.begin()
        with reading_before_write():
            items = self._fetch(deadline)
        rows = build_row_changes(changes, items, self._table)
        made = 0
        for group in split_row_changes(rows):
            try:
                self._api.transact(self._table, [row.action for row in group], deadline)
            except NothingSent as error:
                conflict = explain_conflict(error, group)
                raise (_describe_stop(conflict, made, len(rows)) if made else conflict) from error
            except OutcomeUnknown as error:
                if made:
                    raise _describe_stop(error, made, len(rows)) from error
                raise
            made += len(group)

    def _fetch(self, deadline: Deadline) -> list[DynamoDbItem]:
        return self._read(self._fetch_values(deadline))

    def _fetch_values(self, deadline: Deadline) -> list[object]:
        values = self._api.fetch_items(self._table, deadline, max_items=self._max_items)
        if not values:
            # An empty table may be of another kind: it must not pass for one of ExternalDNS.
            self._fetch_table(deadline)
        return values

    def _read(self, values: Sequence[object]) -> list[DynamoDbItem]:
        items = read_items(values)
        # Without a k, or with one k twice, the table has another key: none of its items is a row of ours.
        if len({item.stored_key for item in items} - {""}) != len(items):
            raise explain_wrong_key(self._table)
        return items

    def _fetch_table(self, deadline: Deadline) -> TableDescription:
        """The table described. Raises WrongTable unless ExternalDNS could use it now."""
        table = self._api.fetch_table(self._table, deadline)
        types = {each.attribute_name: each.attribute_type for each in table.attribute_definitions}
        key = [(each.attribute_name, each.key_type, types.get(KEY)) for each in table.key_schema]
        if key != [(KEY, "HASH", "S")]:
            raise explain_wrong_key(self._table)
        if table.table_status not in _USABLE_TABLE:
            raise WrongTable(
                f"The table {self._table} cannot be used now: it is {safe_text(table.table_status)}.",
                hint="Wait until it is active, or look at it in its console.",
            )
        return table


def _describe_stop(error: NothingSent | OutcomeUnknown, made: int, total: int) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{made} of {total} rows were changed, and then it stopped. {error}",
        reason=error,
        hint="Read the table first. Do not send the change again without that.",
    )


def _open(settings: StoreSettings, access: StoreAccess) -> DynamoDbStore:
    api = DynamoDbApi(
        settings.endpoint_url or build_dynamodb_url(settings.region),
        settings.region,
        AwsKey(
            settings.access_key_id,
            access.fetch_secret("secret_access_key"),
            access.fetch_secret("session_token"),
        ),
        access.policy,
        access.limits,
    )
    return DynamoDbStore(api, settings.table, max_items=access.limits.max_items)


DYNAMODB_REGISTRY = RegistryKind(
    name=DYNAMODB,
    label="DynamoDB",
    place=ClaimPlace.STORE,
    where="the DynamoDB table {table} in {region}",
    settings=("table", "region", "endpoint_url", "access_key_id", "secret_access_key", "session_token"),
    flags={"table": ("dynamodb-table", DEFAULT_TABLE), "region": ("dynamodb-region", "")},
    questions={
        "table": f"Which table? ExternalDNS's own default is {DEFAULT_TABLE}.",
        "region": "In which region is the table?",
    },
    identity=("table", "region", "endpoint_url"),
    description={
        "table": "table",
        "region": "region",
        "endpoint": "endpoint_url",
        "access key": "access_key_id",  # nothing else says of which account the table is
    },
    open=_open,
    # From ExternalDNS's source: labels are read once, and again only after a failed write.
    reads_once="its DynamoDB table when it starts, and again only after a failed write",
)
