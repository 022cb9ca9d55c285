"""Request a hand-over: which names, from whom to whom, in which waves, until when."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.hand_over.hand_over_row import advance_row
from registry_app.hand_over.preconditions import raise_if_never_finished, raise_if_not_guarded
from registry_app.hand_over.waves import Waves, assign_waves
from registry_app.models import (
    Grant,
    HandOver,
    HandOverItem,
    Owner,
    Provider,
    RecordSet,
    TransferItem,
)
from registry_app.queries.access import may_act
from registry_app.queries.freeze import find_send_stops
from registry_app.queries.hand_over import names_in_open_hand_overs
from registry_app.queries.named_row import build_suffix_query, read_name
from registry_app.queries.transfer import POLICY_APPROVES

ALLOWED = (TransferItem.Verdict.NO_OP, TransferItem.Verdict.RETARGET)
_MOST_NAMES = 100_000
_ROWS = 500
_LONGEST = timedelta(days=90)
_NOT_REVIEWED = (
    "It was requested without the fingerprint of its plan, so somebody must review and approve it."
)
_MAY_NOT_APPLY = "It was requested with a token without the scope apply, so somebody must approve it."


@dataclass(frozen=True)
class HandOverRequest:
    """What somebody asks for. Without `names` all names of the old owner at the provider go, or those at or
    below `name_suffix`, or with resources in `namespace`."""

    provider: Provider
    from_owner: Owner
    to_owner: Owner
    ends_at: datetime
    reason: str
    ticket: str = ""
    names: tuple[str, ...] = ()
    name_suffix: str = ""
    namespace: str = ""
    waves: Waves = field(default_factory=Waves)
    allowed_verdicts: tuple[str, ...] = ALLOWED


@dataclass(frozen=True)
class HandOverPlan:
    """What would be requested: the wave of each name, what an approval is bound to, and warnings."""

    waves: dict[str, int]
    fingerprint: str
    warnings: tuple[str, ...]


def preview_hand_over(actor: Actor, request: HandOverRequest) -> HandOverPlan:
    """The plan of a hand-over. Reads only. Raises NotAllowed, InvalidRequest, RefusedBySafety."""
    _raise_if_invalid(request)
    namespaces = _find_names(request)
    if not namespaces:
        raise InvalidRequest(
            f"{request.from_owner} has none of these names at {request.provider}.",
            todo="Select other names, or wait for the next sync of the provider.",
        )
    _raise_if_may_not(actor, request, namespaces)
    for owner in (request.from_owner, request.to_owner):
        raise_if_not_guarded(request.provider, owner)
    raise_if_never_finished(request.provider, request.to_owner)
    _raise_if_taken(request.provider, namespaces)
    waves = assign_waves(list(namespaces), namespaces, request.waves)
    return HandOverPlan(waves, _compute_fingerprint(request, waves), tuple(_list_warnings(request)))


def _raise_if_taken(provider: Provider, names: Collection[str]) -> None:
    taken = names_in_open_hand_overs(provider.pk, names)
    if taken:
        raise RefusedBySafety(
            f"{min(taken)} is part of another hand-over.",
            todo="Cancel that one, or leave the name out.",
            code="in_other_hand_over",
        )


def request_hand_over(actor: Actor, request: HandOverRequest, *, fingerprint: str = "") -> HandOver:
    """Store a hand-over. It waits for an approval, unless the provider requires none and `fingerprint` is
    that of a preview. Raises as `preview_hand_over`, and StateMoved if the plan has another fingerprint."""
    if not request.reason.strip():
        raise InvalidRequest("The request has no reason.", fields={"reason": ["Say why."]})
    plan = preview_hand_over(actor, request)
    if fingerprint and fingerprint != plan.fingerprint:
        raise StateMoved(
            "The plan changed since you reviewed it: the names, their waves or the request are different.",
            todo="Check the new preview, and request again if it is still right.",
            code="plan_moved",
        )
    with transaction.atomic():
        # One request at a time for each provider: of two for the same name, the second is refused.
        Provider.objects.select_for_update(no_key=True).only("pk").get(pk=request.provider.pk)
        _raise_if_taken(request.provider, plan.waves)
        row = _insert(actor, request, plan)
        record_audit(actor, "hand_over.requested", row, reason=row.reason, after=_describe(row, plan))
        if request.provider.approval_policy == Provider.ApprovalPolicy.NONE:
            return _approve_by_policy(actor, row, is_reviewed=bool(fingerprint))
    return row


def _insert(actor: Actor, request: HandOverRequest, plan: HandOverPlan) -> HandOver:
    now = fetch_now()
    row = HandOver.objects.create(
        provider=request.provider,
        from_owner=request.from_owner,
        to_owner=request.to_owner,
        reason=request.reason.strip(),
        ticket=request.ticket.strip()[:200],
        allowed_verdicts=sorted(request.allowed_verdicts),
        fingerprint=plan.fingerprint,
        approval_policy=request.provider.approval_policy,
        wave_count=max(plan.waves.values()),
        ends_at=request.ends_at,
        requested_by_id=actor.user_id,
        requested_by_issuer_id=actor.answerer_id,
        requested_by_name=actor.name[:200],
    )
    items = (
        HandOverItem(hand_over=row, name=name, wave=wave, changed_at=now) for name, wave in plan.waves.items()
    )
    HandOverItem.objects.bulk_create(items, batch_size=_ROWS)
    return row


def _approve_by_policy(actor: Actor, row: HandOver, *, is_reviewed: bool) -> HandOver:
    """Let it run where the provider requires no approval; otherwise say why somebody must approve it."""
    if is_reviewed and actor.has_scope("apply"):
        return advance_row(
            SYSTEM,
            row,
            [HandOver.Status.REQUESTED],
            HandOver.Status.RUNNING,
            action="hand_over.approved",
            reason=f"{row.provider.name} requires no approval.",
            approved_by_name=f"{POLICY_APPROVES}{row.provider.name}"[:200],
            approved_at=fetch_now(),
        )
    HandOver.objects.filter(pk=row.pk).update(status_reason=_MAY_NOT_APPLY if is_reviewed else _NOT_REVIEWED)
    row.refresh_from_db()
    return row


def _describe(row: HandOver, plan: HandOverPlan) -> dict[str, object]:
    return {
        "status": row.status,
        "provider": row.provider.name,
        "source": row.from_owner.owner_id,
        "target": row.to_owner.owner_id,
        "names": len(plan.waves),
        "waves": row.wave_count,
        "ends_at": row.ends_at.isoformat(),
        "fingerprint": row.fingerprint,
    }


def _raise_if_invalid(request: HandOverRequest) -> None:
    fields: dict[str, list[str]] = {}
    now = fetch_now()
    if not now < request.ends_at <= now + _LONGEST:
        fields["ends_at"] = [f"Choose a time within the next {_LONGEST.days} days."]
    if request.from_owner == request.to_owner:
        fields["to_owner"] = ["This is the owner the names have now."]
    elif request.to_owner.status != Owner.Status.REGISTERED:
        fields["to_owner"] = ["The new owner must be registered."]
    if not request.allowed_verdicts or not set(request.allowed_verdicts) <= set(ALLOWED):
        fields["allowed_verdicts"] = [f"Choose among {', '.join(ALLOWED)}."]
    if fields:
        raise InvalidRequest("The hand-over is not valid.", fields=fields)


def _raise_if_may_not(actor: Actor, request: HandOverRequest, names: Iterable[str]) -> None:
    """Raise NotAllowed unless `actor` may request it for both owners or, where both sides agree, for one."""
    listed, provider = list(names), request.provider
    owners = (request.from_owner, request.to_owner)
    denied = [
        owner.owner_id
        for owner in owners
        if not may_act(actor, Grant.Action.REQUEST, provider=provider, owner=owner, names=listed)
    ]
    most = 1 if provider.approval_policy == Provider.ApprovalPolicy.BOTH_SIDES else 0
    if len(denied) > most:
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not request transfers of all these names for "
            f"{' or '.join(denied)}.",
            todo="Ask somebody who may, or select fewer names.",
        )


def _find_names(request: HandOverRequest) -> dict[str, str]:
    """The selected names that the old owner has, with the namespace of the resource there."""
    rows = RecordSet.objects.filter(
        provider=request.provider, owner=request.from_owner, missing_since__isnull=True
    )
    if request.name_suffix:
        rows = rows.filter(build_suffix_query(request.name_suffix))
    found: dict[str, str] = {}
    wanted = {read_name(each) for each in request.names}
    for name, resource in rows.order_by("name", "pk").values_list("name", "resource").iterator():
        namespace = _read_namespace(resource)
        if (wanted and name not in wanted) or (request.namespace and namespace != request.namespace):
            continue
        found.setdefault(name, namespace)
        if len(found) > _MOST_NAMES:
            raise InvalidRequest(f"A hand-over has at most {_MOST_NAMES} names.", todo="Select fewer.")
    return found


def _read_namespace(resource: str) -> str:
    parts = resource.split("/")
    return parts[1] if len(parts) == 3 else ""


def _compute_fingerprint(request: HandOverRequest, waves: dict[str, int]) -> str:
    return _hash_plan(
        request.provider.pk,
        (request.from_owner, request.to_owner),
        request.allowed_verdicts,
        request.ends_at,
        waves,
    )


def compute_stored_fingerprint(row: HandOver) -> str:
    """The fingerprint of what is stored of a hand-over."""
    waves = dict(row.items.values_list("name", "wave"))
    owners = (row.from_owner, row.to_owner)
    return _hash_plan(row.provider_id, owners, row.allowed_verdicts, row.ends_at, waves)


def _hash_plan(
    provider_id: int,
    owners: tuple[Owner, Owner],
    verdicts: Collection[str],
    ends_at: datetime,
    waves: dict[str, int],
) -> str:
    """One text for all that an approval is bound to."""
    parts = [
        provider_id,
        *(owner.owner_id for owner in owners),
        sorted(verdicts),
        ends_at.astimezone(UTC).isoformat(),
        sorted(waves.items()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _list_warnings(request: HandOverRequest) -> Iterator[str]:
    provider = request.provider
    if provider.write_mode != Provider.WriteMode.ATOMIC:
        yield (
            f"{provider} does not apply a change set as a whole: where the new owner wants another "
            "type at a name, the name may be gone for a moment."
        )
    for stop in find_send_stops(provider):
        yield f"{stop.happened} Nothing moves until then. {stop.todo}"
