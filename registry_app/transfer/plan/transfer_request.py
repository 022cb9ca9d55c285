"""What somebody requests, before anything is checked, and the rows that it selects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from django.db.models import Q, QuerySet

from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.errors import InvalidRequest, NotFound
from registry_app.models import Claim, Provider, RecordSet, Transfer
from registry_app.queries.named_row import build_suffix_query, read_name
from registry_app.transfer.plan.items import REMOVABLE

_NO_FINGERPRINTS: Mapping[int, str] = MappingProxyType({})
# How many rows one statement may name; more are selected by owner, suffix or state.
MOST_NAMED = 10_000


@dataclass(frozen=True)
class Selection:
    """Which record sets (for a clean-up: which claims). Every field given narrows the others.

    `record_set_ids` and `claim_ids` are explicit: each of them must be fit, or the request is refused.
    `names` are taken in any spelling. `states` are ownership states; for a clean-up, claim verdicts.
    """

    record_set_ids: tuple[int, ...] = ()
    claim_ids: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    owner_id: str = ""
    provider_id: int | None = None
    name_suffix: str = ""
    record_types: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @property
    def is_explicit(self) -> bool:
        """Whether each subject was named by its id: then none of them may be left out silently."""
        return bool(self.record_set_ids or self.claim_ids)

    @property
    def is_empty(self) -> bool:
        """Whether no field is given: it would select everything."""
        return not (self.record_set_ids or self.claim_ids or self.names or self.owner_id or self.name_suffix)


@dataclass(frozen=True)
class TransferRequest:
    """A request as it was typed. `fingerprints` are those of the reviewed preview, by provider id; empty if
    there was none. `whole_names`: a transfer includes the other types of the same owner at each name (and set
    identifier), selected or not. `least_policy`: an approval policy that holds where the provider's asks for
    less."""

    kind: str
    selection: Selection
    target_owner_id: str = ""
    target_intent: str = Transfer.TargetIntent.UNKNOWN
    reason: str = ""
    ticket: str = ""
    confirmation: str = ""
    whole_names: bool = True
    least_policy: str = Provider.ApprovalPolicy.NONE
    fingerprints: Mapping[int, str] = field(default_factory=lambda: _NO_FINGERPRINTS)


def find_record_sets(selection: Selection) -> QuerySet[RecordSet]:
    """The record sets of a selection. Raises InvalidRequest if it names too much, NotFound for an id."""
    _raise_if_too_many(selection)
    query = _build_common_query(selection, "name")
    if selection.record_set_ids:
        query &= Q(pk__in=selection.record_set_ids)
    else:
        # A record set that disappeared is only reported if it was selected by its id.
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


def _read_names(names: Sequence[str]) -> tuple[str, ...]:
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
        query &= Q(**{f"{name_field}__in": _read_names(selection.names)})
    if selection.owner_id:
        query &= Q(owner__owner_id=selection.owner_id)
    if selection.provider_id is not None:
        query &= Q(provider=selection.provider_id)
    if selection.record_types:
        query &= Q(record_type__in=[each.upper() for each in selection.record_types])
    return query


def _raise_if_too_many(selection: Selection) -> None:
    for name in ("record_set_ids", "claim_ids", "names"):
        if len(getattr(selection, name)) > MOST_NAMED:
            raise InvalidRequest(
                f"The request names {len(getattr(selection, name))} {name.replace('_', ' ')}, "
                f"more than {MOST_NAMED}.",
                fields={name: [f"At most {MOST_NAMED}."]},
                todo="Ask for an owner, a name suffix or a state instead.",
            )


def _raise_if_absent(ids: Sequence[int], found: QuerySet[RecordSet] | QuerySet[Claim], what: str) -> None:
    missing = set(ids) - set(found.values_list("pk", flat=True))
    if missing:
        raise NotFound(
            f"There is no {what} {min(missing)} within this selection ({len(missing)} in all are not there).",
            todo="It may have been purged, or the other filters exclude it: open the list again.",
        )
