"""ExternalDNS's own plan, also where ours is stricter: it looks at each row of a name and a set identifier
alone, and creates whatever the row lets it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key

from providers.planning.planned_changes import Policy
from providers.registries.labels import OWNER, RESOURCE
from providers.wire.canonical_name import InvalidName, canonical_name
from tests.external_dns.record import Record, are_same_targets, compare_targets
from tests.external_dns.settings import Settings


@dataclass
class Changes:
    """Changes of record sets, and later of their claims. `update_old[i]` becomes `update_new[i]`."""

    create: list[Record] = field(default_factory=list)
    update_old: list[Record] = field(default_factory=list)
    update_new: list[Record] = field(default_factory=list)
    delete: list[Record] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.create or self.delete or self.update_new != self.update_old)


@dataclass
class _Group:
    """What a row holds of one type. Of several current ones the last counts."""

    current: Record | None = None
    candidates: list[Record] = field(default_factory=list)


@dataclass
class _Row:
    current: list[Record] = field(default_factory=list)
    groups: dict[str, _Group] = field(default_factory=dict)

    def group_of(self, record: Record) -> _Group:
        return self.groups.setdefault(record.record_type, _Group())


def compute_changes(
    current: Iterable[Record],
    desired: Iterable[Record],
    settings: Settings,
    is_in_reach: Callable[[str], bool],
) -> Changes:
    """What makes current what is desired. The records are changed in place, as ExternalDNS does it."""

    def is_planned(record: Record) -> bool:
        return record.record_type in settings.managed_types and is_in_reach(record.dns_name)

    changes = Changes()
    for row in _build_rows(filter(is_planned, current), filter(is_planned, desired)):
        _plan_row(row, changes, settings.owner_id)
    return _apply_policy_and_ownership(changes, settings)


def _build_rows(current: Iterable[Record], desired: Iterable[Record]) -> Iterable[_Row]:
    rows: dict[tuple[str, str], _Row] = {}
    for record in current:
        row = rows.setdefault(_row_key(record), _Row())
        row.current.append(record)
        row.group_of(record).current = record
    for record in desired:
        rows.setdefault(_row_key(record), _Row()).group_of(record).candidates.append(record)
    return rows.values()


def _row_key(record: Record) -> tuple[str, str]:
    try:
        return canonical_name(record.dns_name), record.set_identifier
    except InvalidName:
        return record.dns_name.lower().removesuffix("."), record.set_identifier


def _plan_row(row: _Row, changes: Changes, owner_id: str) -> None:
    if not any(group.candidates for group in row.groups.values()):
        changes.delete += row.current
        return
    creates: list[Record] = []
    for group in _without_cname_beside_others(row.groups):
        if group.current is None:
            creates += [_choose(group.candidates)] if group.candidates else []
        elif group.candidates:
            _plan_update(group.current, group.candidates, changes)
        else:
            changes.delete.append(group.current)
    if all(record.is_owned_by(owner_id) for record in row.current):
        changes.create += creates


def _without_cname_beside_others(groups: dict[str, _Group]) -> Iterable[_Group]:
    wanted = {record_type for record_type, group in groups.items() if group.candidates}
    for record_type, group in groups.items():
        is_dropped = record_type == "CNAME" and len(wanted) > 1 and "CNAME" in wanted
        yield _Group(group.current) if is_dropped else group


def _plan_update(current: Record, candidates: list[Record], changes: Changes) -> None:
    resource = current.labels.get(RESOURCE, "")
    candidates.sort(key=_by_targets)
    same = [each for each in candidates if each.labels.get(RESOURCE, "") == resource]
    wanted = same[0] if same else candidates[0]
    # In this order: the targets are sorted only where they are compared.
    if (
        (wanted.record_ttl > 0 and wanted.record_ttl != current.record_ttl)
        or not are_same_targets(wanted.targets, current.targets)
        or _have_properties_changed(current, wanted)
    ):
        wanted.labels[OWNER] = current.labels.get(OWNER, "")
        changes.update_old.append(current)
        changes.update_new.append(wanted)


def _choose(candidates: Sequence[Record]) -> Record:
    return min(candidates, key=_by_targets)


def _compare(one: Record, other: Record) -> int:
    return compare_targets(one.targets, other.targets)


_by_targets = cmp_to_key(_compare)


def _have_properties_changed(current: Record, wanted: Record) -> bool:
    left = {each.name: each.value for each in wanted.properties}
    for each in current.properties:
        if left.pop(each.name, None) != each.value:
            return True
    return bool(left)


def _apply_policy_and_ownership(changes: Changes, settings: Settings) -> Changes:
    if settings.policy is not Policy.SYNC:
        changes.delete = []
    if settings.policy is Policy.CREATE_ONLY:
        changes.update_old, changes.update_new = [], []

    def select_owned(records: Iterable[Record]) -> list[Record]:
        return [each for each in records if each.is_owned_by(settings.owner_id)]

    # Of what a provider lists in several parts the first one alone is deleted.
    deletes: dict[tuple[str, str, str], Record] = {}
    for record in select_owned(changes.delete):
        deletes.setdefault(record.key, record)
    return Changes(
        changes.create,
        select_owned(changes.update_old),
        select_owned(changes.update_new),
        list(deletes.values()),
    )
