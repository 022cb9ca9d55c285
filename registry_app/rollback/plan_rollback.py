"""Which record sets go back to the owner they had at a moment, and which stay, each with why. Reads only."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from providers.wire.endpoint import EndpointKey
from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety
from registry_app.models import DesiredEndpoint, OwnershipState, Provider, RecordSet, Transfer
from registry_app.queries.guard_endpoint import is_stale, list_desired_endpoints
from registry_app.queries.past_record_set import Difference, PastFilter, iterate_differences
from registry_app.queries.readable import readable
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.transfer_request import MOST_NAMED, Selection, TransferRequest

MOST_RECORD_SETS = 50_000
_NAMES_AT_ONCE = 500
_OWNED, _UNMANAGED = OwnershipState.OWNED.value, OwnershipState.UNMANAGED.value
_Kind = Transfer.Kind


@dataclass(frozen=True)
class RollbackRequest:
    """What somebody asks for. `wanted` narrows it; its owner is the one before or now. `target_intent` is
    what the former owners' instances want of these record sets, as far as the requester knows. `fingerprint`
    is that of the reviewed plan; without it the transfers wait for an approval, whatever the policy."""

    provider: Provider
    moment: datetime
    wanted: PastFilter = field(default_factory=PastFilter)
    target_intent: str = Transfer.TargetIntent.UNKNOWN
    reason: str = ""
    ticket: str = ""
    confirmations: tuple[str, ...] = ()
    fingerprint: str = ""


class Way(NamedTuple):
    """How ownership goes back: the kind of transfer, the owner now and the owner then. Empty: nobody."""

    kind: str
    source_owner_id: str
    target_owner_id: str


class NotRolledBack(NamedTuple):
    """A record set that stays as it is, and why. `code` is stable for programs."""

    key: EndpointKey
    code: str
    why: str


@dataclass(frozen=True)
class Part:
    """One transfer of a rollback: what it would be requested as, and its preview."""

    way: Way
    request: TransferRequest
    plan: ProviderPlan


@dataclass(frozen=True)
class RollbackPlan:
    """Everything that changed owner since the moment: in a part, or not rolled back."""

    parts: Sequence[Part]
    left: Sequence[NotRolledBack]

    @property
    def fingerprint(self) -> str:
        """What a review is bound to: the plan of every part."""
        return hashlib.sha256("\n".join(part.plan.fingerprint for part in self.parts).encode()).hexdigest()


def plan_rollback(actor: Actor, request: RollbackRequest) -> RollbackPlan:
    """What goes back to whom, as transfers that can be requested. Record sets that came or went since are
    left as they are: only ownership is rolled back. So is a name that another owner wants now.

    Raises InvalidRequest for a moment that the history does not have, RefusedBySafety for too many record
    sets, and what a preview raises. Database reads.
    """
    ways, left = _sort_out(request)
    wanted_by = _fetch_who_wants(request.provider, {key.name for keys in ways.values() for key in keys})
    parts: list[Part] = []
    for way in sorted(ways):
        keys = [key for key in ways[way] if not _find_others(way, key, wanted_by)]
        left += [
            NotRolledBack(key, "wanted_by_other", f"{', '.join(others)} wants it now.")
            for key in ways[way]
            if (others := _find_others(way, key, wanted_by))
        ]
        ids = _find_ids(actor, request.provider, keys)
        chunks = (tuple(ids[start : start + MOST_NAMED]) for start in range(0, len(ids), MOST_NAMED))
        parts += [_preview(actor, request, way, chunk) for chunk in chunks]
    return RollbackPlan(parts, sorted(left))


def _sort_out(request: RollbackRequest) -> tuple[Mapping[Way, list[EndpointKey]], list[NotRolledBack]]:
    ways: dict[Way, list[EndpointKey]] = defaultdict(list)
    left: list[NotRolledBack] = []
    now = fetch_now()
    for number, change in enumerate(
        iterate_differences(request.provider, request.moment, now, request.wanted), start=1
    ):
        if number > MOST_RECORD_SETS:
            raise RefusedBySafety(
                f"More than {MOST_RECORD_SETS} record sets changed since.",
                now="Nothing was planned.",
                todo="Narrow it: --owner, --name-suffix or a later moment.",
                code="too_many_changes",
            )
        if (found := _find_way(change)) is None:
            continue
        if isinstance(found, NotRolledBack):
            left.append(found)
        else:
            ways[found].append(change.key)
    return ways, left


def _find_way(change: Difference) -> Way | NotRolledBack | None:
    """None where the owner is the same."""
    key, before, after = change.key, change.before, change.after
    if before is None:
        return NotRolledBack(key, "came", "It was not there then.")
    if after is None:
        whose = before["owner"] or before["state"]
        return NotRolledBack(key, "gone", f"It is not there any more ({whose} then).")
    was, now = (before["state"], before["owner"]), (after["state"], after["owner"])
    if was == now:
        return None
    for (state, _owner), when in ((was, "then"), (now, "now")):
        if state not in (_OWNED, _UNMANAGED):
            return NotRolledBack(key, f"{state}_{when}", f"Its ownership is {_describe_state(state)} {when}.")
    if was[0] == _UNMANAGED:
        return Way(_Kind.RELEASE, now[1], "")
    return Way(_Kind.ADOPT if now[0] == _UNMANAGED else _Kind.TRANSFER, now[1], was[1])


def _describe_state(state: str) -> str:
    return {"conflict": "in conflict", "unknown": "not known"}.get(state, state)


def _fetch_who_wants(provider: Provider, names: Collection[str]) -> Mapping[str, frozenset[str]]:
    """By name, the owners whose instances want it now, as far as they posted to the guard lately."""
    now, found, ordered = fetch_now(), defaultdict(set), sorted(names)
    fresh: dict[int, str] = {}
    rows = list_desired_endpoints().filter(guard_endpoint__provider=provider)
    for start in range(0, len(ordered), _NAMES_AT_ONCE):
        here = rows.filter(name__in=ordered[start : start + _NAMES_AT_ONCE])
        for each in here:
            owner_id = fresh.setdefault(each.guard_endpoint_id, _find_fresh_owner(each, now))
            if owner_id:
                found[each.name].add(owner_id)
    return {name: frozenset(owners) for name, owners in found.items()}


def _find_fresh_owner(each: DesiredEndpoint, now: datetime) -> str:
    """Empty where the instance did not post lately."""
    guard = each.guard_endpoint
    return "" if is_stale(guard.desired_set, now) else guard.instance.owner.owner_id


def _find_others(way: Way, key: EndpointKey, wanted_by: Mapping[str, Collection[str]]) -> list[str]:
    """The owners but the former one that want this name now."""
    return sorted(set(wanted_by.get(key.name, ())) - {way.target_owner_id})


def _find_ids(actor: Actor, provider: Provider, keys: Sequence[EndpointKey]) -> list[int]:
    """The rows of these record sets, in order."""
    wanted, found = frozenset(keys), {}
    names = sorted({key.name for key in keys})
    for start in range(0, len(names), _NAMES_AT_ONCE):
        rows = RecordSet.objects.filter(provider=provider, name__in=names[start : start + _NAMES_AT_ONCE])
        columns = ("name", "record_type", "set_identifier", "pk")
        for *key, pk in readable(actor, rows).values_list(*columns):
            found[EndpointKey(*key)] = pk
    return [found[key] for key in sorted(wanted) if key in found]


def _preview(actor: Actor, request: RollbackRequest, way: Way, ids: tuple[int, ...]) -> Part:
    asked = TransferRequest(
        kind=way.kind,
        selection=Selection(record_set_ids=ids, provider_id=request.provider.pk),
        target_owner_id=way.target_owner_id,
        target_intent=request.target_intent if way.target_owner_id else Transfer.TargetIntent.UNKNOWN,
        reason=_describe(request),
        ticket=request.ticket,
        # The other types at a name may have had another owner then.
        whole_names=False,
    )
    (plan,) = preview_transfer(actor, asked)
    typed = plan.confirmation_text if plan.confirmation_text in request.confirmations else ""
    return Part(way, replace(asked, confirmation=typed), plan)


def _describe(request: RollbackRequest) -> str:
    moment = request.moment.isoformat(timespec="seconds")
    return f"Roll back to {moment}: {request.reason.strip()}" if request.reason.strip() else ""


def list_left(plan: RollbackPlan) -> list[dict[str, Any]]:
    """What is not rolled back as JSON values: of the history, and what the previews leave out."""
    of_parts = [
        NotRolledBack(item.key, item.problem_code, item.problem)
        for part in plan.parts
        for item in part.plan.left_out
    ]
    return [{**each.key._asdict(), "code": each.code, "why": each.why} for each in (*plan.left, *of_parts)]
