"""What an export is in the rows of a registry that stands, perhaps, in another cluster."""

from collections.abc import Mapping

from providers.registries.configmap.comparing import describe_key
from providers.registries.configmap.export import Export
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import Row
from providers.registries.configmap.shards import Edit
from providers.registries.errors import RegistryError
from providers.wire.endpoint import EndpointKey


class UnfittingExport(RegistryError):
    """An export that contradicts what stands where it is to be restored; nothing was written."""


def build_restore(
    export: Export, registry: Registry | None, claimants: Mapping[EndpointKey, str]
) -> dict[EndpointKey, Edit]:
    """The edits that bring an export back, none for what stands already.

    A row of nobody gives way: an instance that began anew has written those. Raises UnfittingExport where a
    row stands that says something else, or where another owner (`claimants`) claims what the export claims.
    """
    intents = {row.key: row for row in export.intents}
    rows = {row.key: row for row in export.rows}
    edits: dict[EndpointKey, Edit] = {}
    for key in rows.keys() | intents.keys():
        row, intent = rows.get(key), intents.get(key)
        other = claimants.get(key, export.owner_id)
        if other != export.owner_id and (intent or (row and row.owner_id == export.owner_id)):
            raise UnfittingExport(f"{describe_key(key)} is claimed by {other} here.")
        standing = registry.rows_of(key) if registry else []
        meant = registry.intents_of(key) if registry else []
        if not _fits(standing, row) or not _fits(meant, intent):
            raise UnfittingExport(f"{describe_key(key)} has a row here that says something else.")
        if [each.raw for each in standing] != _raws(row) or [each.raw for each in meant] != _raws(intent):
            edits[key] = Edit(key, row or next(iter(standing), None), intent or next(iter(meant), None))
    return {key: edits[key] for key in sorted(edits)}


def _fits(standing: list[Row], row: Row | None) -> bool:
    return all(
        not each.problem and (each.owner_id == "" or (row is not None and each.raw == row.raw))
        for each in standing
    )


def _raws(row: Row | None) -> list[bytes]:
    return [row.raw] if row is not None else []
