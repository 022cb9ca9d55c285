"""ExternalDNS's plan: what it wants and what is there become changes. Pure, and linear in both.

Rows are keyed by name and set identifier (spec: Plan). Stricter than ExternalDNS in two places, where
following it would make a provider refuse a whole change set, or put a record beside another owner's: a CNAME
is created only where nothing else is, and a set beside another owner's set of the same name is not.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from providers.planning.equal_values import AS_WRITTEN, EqualValues, is_as_wanted, is_written_the_same
from providers.planning.planned_changes import (
    DEFAULT_MANAGED_TYPES,
    LeftAlone,
    PlannedChanges,
    Policy,
    Update,
)
from providers.registries.claim import OwnershipState, PairedEndpoint, Pairing
from providers.registries.labels import RESOURCE
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_RowKey = tuple[str, str]


@dataclass(frozen=True)
class PlanSettings:
    """Who plans, and over what. Without `has_ownership` (the noop registry) everything in reach is its own:
    no claim is asked for and none is written."""

    owner_id: str
    policy: Policy = Policy.SYNC
    domain_filter: DomainFilter = field(default_factory=DomainFilter)
    managed_types: frozenset[str] = DEFAULT_MANAGED_TYPES
    has_ownership: bool = True


def compute_plan(
    desired: Sequence[Endpoint], current: Pairing, settings: PlanSettings, equal: EqualValues = AS_WRITTEN
) -> PlannedChanges:
    """The changes of records that make `current` what is desired, as far as this owner may.

    What is outside the domain filter or of another type is not looked at, on either side. A desired name that
    cannot exist is left alone with its reason. Properties whose values are `equal` are no reason to change
    anything.
    """
    return _Planner(current, settings, equal).plan(desired)


@dataclass
class _Row:
    current: dict[str, PairedEndpoint] = field(default_factory=dict)
    candidates: dict[str, list[Endpoint]] = field(default_factory=dict)


class _Planner:
    """Most of what is wanted exists already: that is found in one pass, by lookups and comparisons of
    equal values alone. Only rows with anything else in them are gathered and planned."""

    def __init__(self, pairing: Pairing, settings: PlanSettings, equal: EqualValues) -> None:
        self._pairing = pairing
        self._settings = settings
        self._equal = equal
        self._rows: dict[_RowKey, _Row] = {}
        self._types_at: dict[str, set[str]] = defaultdict(set)
        self._foreign: set[str] = set()
        self._is_everywhere = settings.domain_filter.matches_everything
        self._matched: dict[str, bool] = {}
        self._creates: list[Endpoint] = []
        self._updates: list[Update] = []
        self._deletes: list[PairedEndpoint] = []
        self._left: list[LeftAlone] = []

    def plan(self, desired: Iterable[Endpoint]) -> PlannedChanges:
        managed = self._settings.managed_types
        records: dict[tuple[str, str, str], PairedEndpoint] = {
            record.key: record
            for record in self._pairing.records
            if record.key.record_type in managed and self._is_in_reach(record.key.name)
        }
        settled = self._find_settled(desired, records)
        self._open_rows_of_unwanted(records, settled)
        self._fill_rows(records, settled)
        for row_key in sorted(self._rows):
            self._plan_row(*row_key, self._rows[row_key])
        left = sorted(self._left, key=lambda each: (each.key, each.reason))
        return PlannedChanges(tuple(self._creates), tuple(self._updates), tuple(self._deletes), tuple(left))

    def _find_settled(
        self, desired: Iterable[Endpoint], records: Mapping[tuple[str, str, str], PairedEndpoint]
    ) -> dict[tuple[str, str, str], Endpoint]:
        """What is there already as the only candidate for its key. The rest opens its row."""
        settled: dict[tuple[str, str, str], Endpoint] = {}
        for endpoint in desired:
            # A key that is found is canonical, and need not be made so first.
            key = (endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)
            record = records.get(key)
            if record is not None and key not in settled and is_written_the_same(record.endpoint, endpoint):
                settled[key] = endpoint
            else:
                self._take_desired(endpoint)
        return settled

    def _take_desired(self, endpoint: Endpoint) -> None:
        try:
            key = endpoint_key(endpoint)
        except InvalidName as error:
            key = EndpointKey(endpoint.dns_name, endpoint.record_type.upper(), endpoint.set_identifier)
            self._leave(key, f"Its name cannot exist: {error.reason}.")
            return
        if key.record_type not in self._settings.managed_types:
            self._leave(key, "Records of this type are not managed here.")
        elif not self._is_in_reach(key.name):
            self._leave(key, "It is outside the domain filter.")
        elif not endpoint.targets:
            self._leave(key, "It has no target.")
        else:
            row = self._rows.setdefault((key.name, key.set_identifier), _Row())
            row.candidates.setdefault(key.record_type, []).append(endpoint)

    def _open_rows_of_unwanted(
        self,
        records: Mapping[tuple[str, str, str], PairedEndpoint],
        settled: Mapping[tuple[str, str, str], Endpoint],
    ) -> None:
        for key in records.keys() - settled.keys():
            if self._is_ours(records[key]):
                self._rows.setdefault((key[0], key[2]), _Row())

    def _fill_rows(
        self,
        records: Mapping[tuple[str, str, str], PairedEndpoint],
        settled: Mapping[tuple[str, str, str], Endpoint],
    ) -> None:
        """All record sets at the names of open rows, and what is settled there, which counts as wanted."""
        if not self._rows:
            return
        names = {name for name, _ in self._rows}
        for record in self._pairing.records:
            name, record_type, set_identifier = record.key
            if name not in names:
                continue
            self._types_at[name].add(record_type)
            if record.key not in records:
                continue
            if not self._is_ours(record):
                self._foreign.add(name)
            row = self._rows.get((name, set_identifier))
            if row is not None:
                row.current[record_type] = record
                if record.key in settled:
                    row.candidates.setdefault(record_type, []).append(settled[record.key])

    def _plan_row(self, name: str, set_identifier: str, row: _Row) -> None:
        self._drop_cname_beside_others(name, set_identifier, row)
        for record_type, record in sorted(row.current.items()):
            candidates = row.candidates.get(record_type)
            if candidates is None:
                self._plan_delete(record)
            else:
                self._plan_update(record, candidates)
        for record_type in sorted(row.candidates.keys() - row.current.keys()):
            key = EndpointKey(name, record_type, set_identifier)
            self._plan_create(key, row, row.candidates[record_type])

    def _drop_cname_beside_others(self, name: str, set_identifier: str, row: _Row) -> None:
        if len(row.candidates) > 1 and "CNAME" in row.candidates:
            del row.candidates["CNAME"]
            key = EndpointKey(name, "CNAME", set_identifier)
            self._leave(key, "Other types are wanted at its name, and a CNAME cannot exist beside them.")

    def _plan_create(self, key: EndpointKey, row: _Row, candidates: list[Endpoint]) -> None:
        foreign = [record for record in row.current.values() if not self._is_ours(record)]
        if foreign:
            self._leave(key, f"A record set at its name is not ours: {describe_owner(foreign[0])}.")
            return
        if key.name in self._foreign:
            self._leave(key, "Another owner has a record set at the same name.")
            return
        goes = row.current.keys() if self._settings.policy is Policy.SYNC else set()
        others = self._types_at.get(key.name, set()) - goes - {key.record_type}
        if key.record_type == "CNAME" and others:
            self._leave(key, f"A CNAME cannot exist beside {', '.join(sorted(others))}.")
        elif "CNAME" in others:
            self._leave(key, "There is a CNAME at its name, and nothing else can exist beside it.")
        else:
            self._creates.append(choose_new(candidates))

    def _plan_update(self, record: PairedEndpoint, candidates: list[Endpoint]) -> None:
        endpoint = record.endpoint
        if len(candidates) == 1 and is_as_wanted(endpoint, candidates[0], self._equal):
            return
        wanted = _choose_next(candidates, self._resource_of(record))
        if is_as_wanted(endpoint, wanted, self._equal):
            return
        if not self._is_ours(record):
            self._leave(record.key, f"It is not ours to update: {describe_owner(record)}.")
        elif self._settings.policy is Policy.CREATE_ONLY:
            self._leave(record.key, "The policy create-only updates nothing.", is_meant=True)
        else:
            self._updates.append(Update(record, wanted))

    def _plan_delete(self, record: PairedEndpoint) -> None:
        if not self._is_ours(record):
            return  # nobody wants it here and it is not ours: that is how a shared zone looks
        if self._settings.policy is Policy.SYNC:
            self._deletes.append(record)
        else:
            self._leave(
                record.key, f"The policy {self._settings.policy.value} deletes nothing.", is_meant=True
            )

    def _is_ours(self, record: PairedEndpoint) -> bool:
        if not self._settings.has_ownership:
            return True
        return record.owner_id == self._settings.owner_id and record.state is OwnershipState.OWNED

    def _is_in_reach(self, name: str) -> bool:
        if self._is_everywhere:
            return True
        known = self._matched.get(name)
        if known is None:
            known = self._matched[name] = self._settings.domain_filter.matches(name)
        return known

    def _resource_of(self, record: PairedEndpoint) -> str:
        """As ExternalDNS reads it: the claim's labels, over those that the provider returns."""
        effective = record.effective_claim
        labels = {} if effective is None else self._pairing.claims[effective].labels
        return labels.get(RESOURCE, record.endpoint.labels.get(RESOURCE, ""))

    def _leave(self, key: EndpointKey, reason: str, *, is_meant: bool = False) -> None:
        self._left.append(LeftAlone(key, reason, is_meant))


def describe_owner(record: PairedEndpoint) -> str:
    """Whose a record set is, in a clause."""
    if record.state is OwnershipState.OWNED:
        return f"{record.owner_id} owns it"
    return {
        OwnershipState.UNMANAGED: "nobody owns it",
        OwnershipState.CONFLICT: "its claims disagree",
    }.get(record.state, "its owner is not known")


# Of several wanted endpoints for one name and type, in ExternalDNS, one with fewer targets comes first, then
# addresses before names, then the text itself; one from the resource of what is there keeps it, also where
# neither names any.


def choose_new(candidates: Sequence[Endpoint]) -> Endpoint:
    """The one to create of at least one candidate."""
    return candidates[0] if len(candidates) == 1 else min(candidates, key=_rank)


def _choose_next(candidates: Sequence[Endpoint], resource: str) -> Endpoint:
    """The one to update to, where `resource` is what the record set stands for now."""
    if len(candidates) > 1:
        same = [each for each in candidates if each.labels.get(RESOURCE, "") == resource]
        if same:
            return choose_new(same)
    return choose_new(candidates)


def _rank(endpoint: Endpoint) -> tuple[object, ...]:
    targets = sorted((not _is_address(target), target.lower()) for target in endpoint.targets)
    # Beyond what ExternalDNS compares: where it takes the first of equals, no order is left to chance here.
    resource = endpoint.labels.get(RESOURCE, "")
    properties = sorted((item.name, item.value) for item in endpoint.provider_specific)
    return len(targets), targets, resource, endpoint.record_ttl, properties, endpoint.targets


def _is_address(target: str) -> bool:
    try:
        ipaddress.ip_address(target)
    except ValueError:
        return False
    return True
