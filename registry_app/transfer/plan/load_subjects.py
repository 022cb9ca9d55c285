"""The mirror's rows of a selection as plain values, in a handful of statements however many there are."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q, QuerySet

from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import EndpointKey, ProviderSpecificProperty
from registry_app.errors import InvalidRequest, NotFound
from registry_app.models import Claim, Provider, RecordSet
from registry_app.queries.name_range import build_suffix_query, read_name
from registry_app.transfer.plan.claim_key import ClaimKey, build_row_key, build_txt_key
from registry_app.transfer.plan.clean_up import REMOVABLE
from registry_app.transfer.plan.selection import Selection
from registry_app.transfer.plan.subjects import ClaimFacts, RecordFacts, Subject, build_subjects

# What one statement may name by value; more is asked for by owner, suffix or state.
MOST_NAMED = 10_000
_CHUNK = 500


@dataclass(frozen=True)
class Loaded:
    """One provider's part of a selection. `neighbours` are all record sets at the names of `selected`,
    those included; `contents` are all targets of every place that holds one of their claims."""

    selected: tuple[Subject, ...]
    neighbours: tuple[Subject, ...]
    contents: dict[ClaimKey, tuple[str, ...]]


def find_record_sets(selection: Selection) -> QuerySet[RecordSet]:
    """The record sets of a selection. Raises InvalidRequest if it names too much, NotFound for an id."""
    _raise_if_too_many(selection)
    query = _build_common_query(selection, "name")
    if selection.record_set_ids:
        query &= Q(pk__in=selection.record_set_ids)
    else:
        # A record set that vanished is only worth a word where somebody named it by its id.
        query &= Q(missing_since__isnull=True)
    if selection.name_suffix:
        query &= build_suffix_query(selection.name_suffix)
    if selection.states:
        query &= Q(state__in=selection.states)
    found = RecordSet.objects.filter(query)
    if selection.record_set_ids:
        _raise_if_absent(selection.record_set_ids, found, "record set")
    return found


def find_claims(selection: Selection) -> QuerySet[Claim]:
    """The claims of a selection for a clean-up: those named, or all that decide nothing."""
    _raise_if_too_many(selection)
    query = _build_common_query(selection, "record_name")
    if selection.claim_ids:
        query &= Q(pk__in=selection.claim_ids)
    else:
        query &= Q(verdict__in=selection.states or REMOVABLE)
    if selection.name_suffix:
        name = read_name(selection.name_suffix)
        query &= Q(record_name=name) | Q(record_name__endswith=f".{name}")
    found = Claim.objects.filter(query)
    if selection.claim_ids:
        _raise_if_absent(selection.claim_ids, found, "claim")
    return found


def load_selected(provider: Provider, found: QuerySet[RecordSet]) -> Loaded:
    """The selected record sets of one provider with their claims and neighbours."""
    mine = found.filter(provider=provider)
    selected_ids = set(mine.values_list("pk", flat=True))
    at_names = RecordSet.objects.filter(provider=provider, name__in=mine.order_by().values("name"))
    rows = at_names.filter(Q(missing_since__isnull=True) | Q(pk__in=mine.order_by().values("pk")))
    records = [to_record_facts(row) for row in _record_values(rows)]
    claims = Claim.objects.filter(provider=provider, record_name__in=mine.order_by().values("name"))
    claim_facts = load_claims(claims)
    subjects = build_subjects(records, claim_facts)
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
        # A store that nobody knows any more is no place to write to: no profile has this key.
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
    """All targets at the places that hold `claims`: the claims, and what else stands beside them."""
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
    """Record sets that rows of registry stores speak for and that another provider shows, with its name."""
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


def read_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names in any spelling as the mirror has them. Raises InvalidRequest for what is no name."""
    result: list[str] = []
    for text in names:
        try:
            result.append(canonical_name(text.strip()))
        except InvalidName as error:
            raise InvalidRequest(
                f"{text[:100]!r} is not a DNS name: {error.reason}.", fields={"names": [error.reason]}
            ) from error
    return tuple(dict.fromkeys(result))


def _build_common_query(selection: Selection, name_field: str) -> Q:
    query = Q()
    if selection.names:
        query &= Q(**{f"{name_field}__in": read_names(selection.names)})
    if selection.owner_id:
        query &= Q(owner__owner_id=selection.owner_id)
    if selection.provider_id is not None:
        query &= Q(provider=selection.provider_id)
    if selection.record_types:
        query &= Q(record_type__in=[each.upper() for each in selection.record_types])
    return query


def _record_values(rows: QuerySet[RecordSet]) -> Iterable[RecordSet]:
    fields = (
        "name",
        "record_type",
        "set_identifier",
        "targets",
        "ttl",
        "provider_specific",
        "labels",
        "state",
    )
    ordered = rows.select_related("owner").only(*fields, "missing_since", "owner__owner_id")
    return ordered.order_by("name", "record_type", "set_identifier").iterator()


def to_record_facts(row: RecordSet) -> RecordFacts:
    """A row as a value; its `owner` must be loaded."""
    return RecordFacts(
        id=row.pk,
        key=EndpointKey(row.name, row.record_type, row.set_identifier),
        targets=tuple(row.targets),
        ttl=row.ttl,
        provider_specific=tuple(
            ProviderSpecificProperty(str(item.get("name", "")), str(item.get("value", "")))
            for item in row.provider_specific
        ),
        state=row.state,
        owner_id=row.owner.owner_id if row.owner else "",
        is_missing=row.missing_since is not None,
        labels={str(key): str(value) for key, value in row.labels.items()},
    )


def _raise_if_too_many(selection: Selection) -> None:
    for field in ("record_set_ids", "claim_ids", "names"):
        if len(getattr(selection, field)) > MOST_NAMED:
            raise InvalidRequest(
                f"The request names {len(getattr(selection, field))} {field.replace('_', ' ')}, "
                f"more than {MOST_NAMED}.",
                fields={field: [f"At most {MOST_NAMED}."]},
                todo="Ask for an owner, a name suffix or a state instead.",
            )


def _raise_if_absent(ids: Sequence[int], found: QuerySet[RecordSet] | QuerySet[Claim], what: str) -> None:
    missing = set(ids) - set(found.values_list("pk", flat=True))
    if missing:
        raise NotFound(
            f"There is no {what} {min(missing)} within this selection ({len(missing)} in all are not there).",
            todo="It may have been purged, or the other filters exclude it: open the list again.",
        )
