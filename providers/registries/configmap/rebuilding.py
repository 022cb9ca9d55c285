"""The proposal's resync: an owner's registry brought up to what its provider shows now."""

from collections.abc import Iterable, Mapping

from providers.registries.configmap.comparing import has_targets_of, read_endpoints_by_key
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import Row, build_row
from providers.registries.configmap.shards import Edit
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError


def build_rebuild(
    registry: Registry | None,
    owner_id: str,
    endpoints: Iterable[Endpoint],
    claimants: Mapping[EndpointKey, str],
    *,
    keep_own: bool,
) -> dict[EndpointKey, Edit]:
    """The edits that make the registry hold what the provider shows, and nothing for what it holds already.

    Every record set gets a row: the owner's own keep owner and labels, an intent that came true becomes a
    row, all others name who claims them in `claimants` (in whatever registry), or whom they named before, or
    nobody. Rows without a record set go, but with `keep_own` not the owner's own: its record sets may be on
    their way. What cannot be believed is left as it stands.
    """
    records = read_endpoints_by_key(endpoints)
    edits = {}
    for key, record in records.items():
        edit = _build_edit(registry, owner_id, key, record, claimants.get(key, ""))
        if edit is not None:
            edits[key] = edit
    return edits | (_drop_rows(registry, records, keep_own=keep_own) if registry else {})


def _drop_rows(
    registry: Registry, records: Mapping[EndpointKey, Endpoint], *, keep_own: bool
) -> dict[EndpointKey, Edit]:
    edits = {}
    for key in {row.key for row in (*registry.rows(), *registry.intents())} - records.keys():
        rows, intents = registry.rows_of(key), registry.intents_of(key)
        if _is_doubtful(registry, key) or any(row.problem for row in rows):
            continue
        if not keep_own:
            edits[key] = Edit(key)
        elif rows and all(row.owner_id != registry.owner_id for row in rows):
            edits[key] = Edit(key, None, next(iter(intents), None))
    return edits


def _build_edit(
    registry: Registry | None, owner_id: str, key: EndpointKey, record: Endpoint, claimant: str
) -> Edit | None:
    rows = registry.rows_of(key) if registry else []
    intents = registry.intents_of(key) if registry else []
    if registry is not None and (_is_doubtful(registry, key) or any(row.problem for row in rows)):
        return None
    own = next((row for row in rows if row.owner_id == owner_id), None)
    row = own or next(iter(rows), None)
    intent = next(iter(intents), None)
    try:
        if own is not None:
            new = build_row(record, owner_id, own.labels, own)
        elif intent is not None and has_targets_of(intent, record):
            new, intent = build_row(record, owner_id, intent.labels, row), None
        else:
            others = claimant if claimant != owner_id else ""
            new = build_row(record, others or (row.owner_id or "" if row else ""), {}, row)
    except WireError:
        return None  # no reader would take such a row
    if row is not None and _says_the_same(row, new) and intents == [intent] * len(intents):
        return None
    return Edit(key, new, intent)


def _says_the_same(row: Row, new: Row) -> bool:
    return row.owner_id == new.owner_id and row.labels == new.labels and has_targets_of(row, new)


def _is_doubtful(registry: Registry, key: EndpointKey) -> bool:
    claim = registry.claim_of(key)
    return claim is not None and bool(claim.problem)
