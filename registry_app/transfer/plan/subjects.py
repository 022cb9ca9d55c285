"""What a plan is made from: record sets and claims as values, and which claim is for which record set.

The rows are loaded in a handful of statements, however many there are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from providers.registries.claim import ClaimVerdict, OwnershipState
from providers.registries.labels import OWNER
from providers.registries.ownership import is_alias, precedence
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.models import Claim, Provider, RecordSet
from registry_app.reconcile.rows.bulk import read_json, select_json
from registry_app.transfer.plan.claim_key import ClaimKey, build_row_key, build_txt_key

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """One claim of the mirror. `owner_id` is empty where it cannot be read."""

    id: int
    place: ClaimKey
    raw: str
    verdict: str
    record_name: str
    record_type: str
    owner_id: str
    profile_reference: str
    is_encrypted: bool

    @property
    def is_readable(self) -> bool:
        return bool(self.owner_id) and self.verdict != ClaimVerdict.UNREADABLE


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """One record set of the mirror."""

    id: int
    key: EndpointKey
    targets: tuple[str, ...]
    ttl: int
    provider_specific: tuple[ProviderSpecificProperty, ...]
    state: str
    owner_id: str
    is_missing: bool
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def label_owner(self) -> str:
        """The owner that the provider's own label names; empty for none."""
        return self.labels.get(OWNER, "")

    def to_endpoint(self) -> Endpoint:
        return Endpoint(
            dns_name=self.key.name,
            targets=self.targets,
            record_type=self.key.record_type,
            set_identifier=self.key.set_identifier,
            record_ttl=self.ttl,
            provider_specific=self.provider_specific,
        )

    def to_dict(self) -> dict[str, Any]:
        """What a person reviews, and what is compared with the provider before anything is sent."""
        return {
            "targets": list(self.targets),
            "ttl": self.ttl,
            "provider_specific": [[item.name, item.value] for item in self.provider_specific],
            "state": self.state,
            **({"label_owner": self.label_owner} if self.label_owner else {}),
        }


@dataclass(frozen=True)
class Subject:
    """A record set with every claim for it, in the order in which ExternalDNS prefers them."""

    record: RecordFacts
    claims: tuple[ClaimFacts, ...]

    @cached_property
    def readable(self) -> tuple[ClaimFacts, ...]:
        """The claims that decide its owner, or leave it undecided. If it is owned, those of its owner.

        Claims of others, which ExternalDNS does not use, stay as they are."""
        readable = [claim for claim in self.claims if claim.is_readable]
        if self.record.state == OwnershipState.OWNED:
            readable = [claim for claim in readable if claim.owner_id == self.record.owner_id]
        return tuple(readable)

    @cached_property
    def ignored(self) -> tuple[ClaimFacts, ...]:
        """Readable claims of others that ExternalDNS does not use while the owner's own exist."""
        used = self.readable
        return tuple(claim for claim in self.claims if claim.is_readable and claim not in used)

    @property
    def owner_ids(self) -> tuple[str, ...]:
        if self.record.state == OwnershipState.OWNED:
            return (self.record.owner_id,)
        return tuple(sorted({claim.owner_id for claim in self.readable}))


def _build_subjects(records: Iterable[RecordFacts], claims: Iterable[ClaimFacts]) -> tuple[Subject, ...]:
    """Join record sets and claims as providers.registries.pairing does."""
    by_record: dict[tuple[str, str], list[ClaimFacts]] = defaultdict(list)
    for claim in claims:
        by_record[claim.record_name, claim.place.set_identifier].append(claim)
    return tuple(_build_subject(record, by_record) for record in records)


def _build_subject(record: RecordFacts, by_record: Mapping[tuple[str, str], list[ClaimFacts]]) -> Subject:
    name, record_type, set_identifier = record.key
    types = {record_type}
    if record_type != "AAAA":
        types.add("")
    if record_type == "A" and is_alias(record.to_endpoint()):
        types.add("CNAME")
    found = [claim for claim in by_record.get((name, set_identifier), ()) if _is_for(claim, record, types)]
    found.sort(key=lambda claim: (precedence(record_type, claim.record_type), claim.place, claim.raw))
    return Subject(record, tuple(found))


def _is_for(claim: ClaimFacts, record: RecordFacts, types: set[str]) -> bool:
    if claim.place.store:
        # A row is for exactly its record set, and for none where it was meant for another one.
        return claim.record_type == record.key.record_type and claim.verdict != ClaimVerdict.ORPHAN
    # A TXT endpoint that mixes heritage with other targets does not claim itself.
    is_itself = record.key.record_type == "TXT" and claim.place.name == record.key.name
    return claim.record_type in types and not is_itself


@dataclass(frozen=True)
class Loaded:
    """One provider's part of a selection. `neighbours` are all record sets at the names of `selected`,
    those included; `contents` are all targets of every place that holds one of their claims."""

    selected: tuple[Subject, ...]
    neighbours: tuple[Subject, ...]
    contents: dict[ClaimKey, tuple[str, ...]]


def load_selected(provider: Provider, found: QuerySet[RecordSet]) -> Loaded:
    """The selected record sets of one provider with their claims and neighbours."""
    mine = found.filter(provider=provider)
    selected_ids = set(mine.values_list("pk", flat=True))
    at_names = RecordSet.objects.filter(provider=provider, name__in=mine.order_by().values("name"))
    rows = at_names.filter(Q(missing_since__isnull=True) | Q(pk__in=mine.order_by().values("pk")))
    records = _load_records(rows)
    claims = Claim.objects.filter(provider=provider, record_name__in=mine.order_by().values("name"))
    claim_facts = load_claims(claims)
    subjects = _build_subjects(records, claim_facts)
    return Loaded(
        selected=tuple(subject for subject in subjects if subject.record.id in selected_ids),
        neighbours=subjects,
        contents=load_contents(provider, claim_facts),
    )


def load_claims(claims: QuerySet[Claim]) -> tuple[ClaimFacts, ...]:
    """Claims as facts, in a fixed order."""
    values = claims.order_by("txt_name", "set_identifier", "raw", "pk").values_list(
        "pk",
        "txt_name",
        "set_identifier",
        "raw",
        "verdict",
        "record_name",
        "record_type",
        "owner__owner_id",
        "registry_profile_id",
        "is_encrypted",
    )
    return tuple(_to_facts(_ClaimRow(*each)) for each in values.iterator())


class _ClaimRow(NamedTuple):
    pk: int
    txt_name: str
    set_identifier: str
    raw: str
    verdict: str
    record_name: str
    record_type: str
    owner_id: str | None
    profile: int | None
    is_encrypted: bool


def _to_facts(row: _ClaimRow) -> ClaimFacts:
    place = build_txt_key(row.txt_name, row.set_identifier)
    if not row.txt_name:  # a row of a registry store
        record = EndpointKey(row.record_name, row.record_type, row.set_identifier)
        # Nothing is written to a store that is not known any more: no profile has the key 0.
        place = build_row_key(str(row.profile or 0), record)
    return ClaimFacts(
        id=row.pk,
        place=place,
        raw=row.raw,
        verdict=row.verdict,
        record_name=row.record_name,
        record_type=row.record_type,
        owner_id=row.owner_id or "",
        profile_reference=str(row.profile or ""),
        is_encrypted=row.is_encrypted,
    )


def load_contents(provider: Provider, claims: Iterable[ClaimFacts]) -> dict[ClaimKey, tuple[str, ...]]:
    """All targets at the places that hold `claims`: the claims, and the other targets beside them."""
    found: dict[ClaimKey, list[str]] = defaultdict(list)
    for claim in claims:
        found[claim.place].append(claim.raw)
    mixed = {
        build_txt_key(row.name, row.set_identifier): tuple(row.targets)
        for row in load_txt_record_sets(provider, {key.name for key in found if not key.store})
    }
    # A TXT record set of the mirror is the whole endpoint, in the provider's own order.
    return {key: mixed.get(key, tuple(targets)) for key, targets in found.items()}


def load_shown(provider: Provider, names: Sequence[str]) -> dict[ClaimKey, tuple[str, ...]]:
    """What the mirror holds at the places of the claims for these names."""
    facts: list[ClaimFacts] = []
    for start in range(0, len(names), _CHUNK):
        facts += load_claims(provider.claims.filter(record_name__in=names[start : start + _CHUNK]))
    return load_contents(provider, facts)


def load_shown_elsewhere(provider: Provider, claims: Iterable[ClaimFacts]) -> dict[EndpointKey, str]:
    """Record sets that rows of registry stores are for and that another provider shows, with its name."""
    names = sorted({claim.record_name for claim in claims if claim.place.store})
    found: dict[EndpointKey, str] = {}
    for start in range(0, len(names), _CHUNK):
        rows = RecordSet.objects.filter(name__in=names[start : start + _CHUNK], missing_since__isnull=True)
        values = rows.exclude(provider=provider).values_list(
            "name", "record_type", "set_identifier", "provider__name"
        )
        found.update({EndpointKey(name, kind, label): shown_by for name, kind, label, shown_by in values})
    return found


def load_txt_record_sets(provider: Provider, names: Iterable[str]) -> list[RecordSet]:
    """The TXT record sets at `names` (foreign ones, and those that mix claims with other targets)."""
    ordered = sorted(names)
    rows: list[RecordSet] = []
    for start in range(0, len(ordered), _CHUNK):
        chunk = ordered[start : start + _CHUNK]
        rows += RecordSet.objects.filter(
            provider=provider, name__in=chunk, record_type="TXT", missing_since__isnull=True
        ).only("name", "set_identifier", "targets")
    return rows


def _load_records(rows: QuerySet[RecordSet]) -> list[RecordFacts]:
    """In the order of their names. As values: to make rows of so many takes twice as long."""
    columns = (
        "pk",
        "name",
        "record_type",
        "set_identifier",
        select_json("targets"),
        "ttl",
        select_json("provider_specific"),
        select_json("labels"),
        "state",
        "owner__owner_id",
        "missing_since",
    )
    ordered = rows.order_by("name", "record_type", "set_identifier")
    return [
        RecordFacts(
            id=pk,
            key=EndpointKey(*key),
            targets=tuple(read_json(targets)),
            ttl=ttl,
            provider_specific=_read_properties(read_json(properties)),
            state=state,
            owner_id=owner_id or "",
            is_missing=missing_since is not None,
            labels=_read_labels(read_json(labels)),
        )
        for pk, *key, targets, ttl, properties, labels, state, owner_id, missing_since in ordered.values_list(
            *columns
        ).iterator()
    ]


def to_record_facts(row: RecordSet) -> RecordFacts:
    """A row as a value; its `owner` must be loaded."""
    return RecordFacts(
        id=row.pk,
        key=EndpointKey(row.name, row.record_type, row.set_identifier),
        targets=tuple(row.targets),
        ttl=row.ttl,
        provider_specific=_read_properties(row.provider_specific),
        state=row.state,
        owner_id=row.owner.owner_id if row.owner else "",
        is_missing=row.missing_since is not None,
        labels=_read_labels(row.labels),
    )


def _read_properties(stored: Iterable[Mapping[str, Any]]) -> tuple[ProviderSpecificProperty, ...]:
    return tuple(
        [ProviderSpecificProperty(str(item.get("name", "")), str(item.get("value", ""))) for item in stored]
    )


def _read_labels(stored: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in stored.items()}
