"""Move the names of a hand-over that the new owner wants, and see how far the others are."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Q

from providers.planning.equal_values import is_as_wanted
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import DnsadminError, RefusedBySafety, StateMoved
from registry_app.hand_over.decide_hand_over import end_hand_over
from registry_app.hand_over.hand_over_row import find_hand_over
from registry_app.hand_over.preconditions import raise_if_not_guarded
from registry_app.hand_over.rights import raise_if_rights_ended
from registry_app.models import HandOver, HandOverItem, Provider, RecordSet, Transfer
from registry_app.queries.actor import fetch_person
from registry_app.queries.approval_policy import needs_both_sides
from registry_app.queries.freeze import find_send_stops
from registry_app.queries.hand_over_items import Wanted, fetch_live, fetch_wanted
from registry_app.queries.sides import other_side
from registry_app.transfer.decisions import approve_transfer
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.refusals import compute_most_items
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest
from registry_app.transfer.request_transfer import request_transfer
from registry_app.transfer.transfer_row import advance as advance_transfer

_logger = structlog.get_logger(__name__)
_STATE, _STATUS = HandOverItem.State, HandOver.Status
_PAUSE = timedelta(seconds=15)
# Names that are wanted at one time go together, up to as many as one transfer should have.
_MOST_AT_ONCE = 500
# What the reason of a hand-over begins with while names are blocked.
_BLOCKED = "Blocked: "
_NO_POLICY = Provider.ApprovalPolicy.NONE
_UNDECIDED = (_STATE.WAITING, _STATE.BLOCKED)


def advance_hand_over(hand_over_id: int) -> None:
    """Bring a hand-over as far as it goes now. Called at any time, any number of times."""
    row = find_hand_over(hand_over_id)
    now = fetch_now()
    due = HandOver.objects.filter(pk=row.pk, next_run_at=row.next_run_at)
    if not due.update(next_run_at=now + _PAUSE):
        return  # another worker was first
    _follow_transfers(row)
    if row.status in HandOver.UNFINISHED_STATUSES and row.ends_at <= now:
        end_hand_over(SYSTEM, row, _STATUS.ENDED, "Its end came before all names had moved.")
        return
    if row.status != _STATUS.RUNNING:
        return
    # Names of later waves do not count yet: of a large hand-over, only its current part is read.
    current = Q(state__in=_UNDECIDED, wave__lte=row.wave) | Q(state=_STATE.MOVED)
    wanted = fetch_wanted(row, set(row.items.filter(current).values_list("name", flat=True)))
    _follow_moved(row, wanted)
    _move_wanted(row, wanted)
    if not row.items.exclude(state__in=(_STATE.SERVING, _STATE.GONE)).exists():
        end_hand_over(SYSTEM, row, _STATUS.FINISHED, "All names serve what the new owner wants.")


def _follow_transfers(row: HandOver) -> None:
    by_transfer: dict[Transfer | None, list[HandOverItem]] = defaultdict(list)
    for item in row.items.filter(state=_STATE.MOVING).select_related("transfer"):
        by_transfer[item.transfer].append(item)
    for transfer, items in by_transfer.items():
        if transfer is None:
            _set_state(items, _STATE.WAITING, "Its transfer is gone.")
        elif transfer.status == Transfer.Status.VERIFIED:
            _set_state(items, _STATE.MOVED)
        elif transfer.status not in Transfer.OPEN_STATUSES:
            said = f"Transfer #{transfer.pk} ended as {transfer.get_status_display().lower()}"
            # What is only stale is planned again, from a newer mirror.
            state = _STATE.WAITING if transfer.status == Transfer.Status.STALE else _STATE.FAILED
            _set_state(items, state, f"{said}. {transfer.status_reason}".strip())


def _follow_moved(row: HandOver, wanted: Wanted) -> None:
    """Names that serve what the new owner wants, by the mirror."""
    moved = list(row.items.filter(state=_STATE.MOVED))
    live = fetch_live(row, [item.name for item in moved])
    serving = [item for item in moved if _is_serving(wanted.get(item.name, []), live)]
    _set_state(serving, _STATE.SERVING)


def _is_serving(wanted: Collection[Endpoint], live: Mapping[EndpointKey, Endpoint]) -> bool:
    return bool(wanted) and all(
        (found := live.get(EndpointKey(each.dns_name, each.record_type, each.set_identifier))) is not None
        and is_as_wanted(found, each)
        for each in wanted
    )


def _move_wanted(row: HandOver, wanted: Wanted) -> None:
    candidates = row.items.filter(state__in=_UNDECIDED, wave__lte=row.wave, name__among=list(wanted))
    waiting = [item for item in candidates if _is_mirror_newer(row, item)]
    owners = _fetch_owners(row, [item.name for item in waiting])
    here = [item for item in waiting if row.from_owner_id in owners.get(item.name, ())]
    others = [item for item in waiting if item.name in owners and row.from_owner_id not in owners[item.name]]
    there = [item for item in others if set(owners[item.name]) == {row.to_owner_id}]
    gone = [item for item in others if set(owners[item.name]) != {row.to_owner_id}]
    _set_state(there, _STATE.MOVED)
    _set_state(gone, _STATE.GONE, "It is no longer the old owner's.")
    # What is blocked is tried last: it must not keep the others from their turn.
    here.sort(key=lambda item: item.state == _STATE.BLOCKED)
    sizes = {item.name: owners[item.name][row.from_owner_id] for item in here}
    for items in _split(here, sizes, compute_most_items(row.provider)):
        if _transfer_or_block(row, items):
            break  # the next ones in a few seconds
    _note_blocked(row)


def _split(
    items: Iterable[HandOverItem], sizes: Mapping[str, int], most: int
) -> Iterator[list[HandOverItem]]:
    """Parts for one transfer each: no more record sets than one may change, and at least one name."""
    part: list[HandOverItem] = []
    total = 0
    for item in items:
        if part and (total + sizes[item.name] > most or len(part) >= _MOST_AT_ONCE):
            yield part
            part, total = [], 0
        part.append(item)
        total += sizes[item.name]
    if part:
        yield part


def _transfer_or_block(row: HandOver, items: list[HandOverItem]) -> bool:
    """Whether a transfer of some of the items was requested; the others say why not."""
    try:
        _raise_if_not_now(row, [item.name for item in items])
        return _transfer(row, items)
    except DnsadminError as error:
        _logger.warning("hand_over.blocked", hand_over=row.pk, error=str(error))
        _set_state(items, _STATE.BLOCKED, str(error))
        return False


def _raise_if_not_now(row: HandOver, names: Collection[str]) -> None:
    """Raise what keeps these names from moving: before a transfer is requested, so that none is left over."""
    for owner in (row.from_owner, row.to_owner):
        raise_if_not_guarded(row.provider, owner)
    for stop in find_send_stops(row.provider):
        raise RefusedBySafety(stop.happened, todo=stop.todo, code=stop.code)
    raise_if_rights_ended(row, names)


def _note_blocked(row: HandOver) -> None:
    """Say on the hand-over how many of its names are blocked, and in the audit trail when that begins."""
    blocked = row.items.filter(state=_STATE.BLOCKED)
    first = blocked.values_list("reason", flat=True).first()
    number = blocked.count()
    text = f"{_BLOCKED}{number} of its names. {first}" if number else ""
    began = bool(text) and not row.status_reason.startswith(_BLOCKED)
    if text == row.status_reason or not (text or row.status_reason.startswith(_BLOCKED)):
        return
    with transaction.atomic():
        same = HandOver.objects.filter(pk=row.pk, status=_STATUS.RUNNING, status_reason=row.status_reason)
        if same.update(status_reason=text, updated_at=fetch_now()) and began:
            record_audit(SYSTEM, "hand_over.blocked", row, reason=text[:500], after={"blocked": number})
    row.status_reason = text


def _is_mirror_newer(row: HandOver, item: HandOverItem) -> bool:
    """Whether the mirror may say more than when the last transfer of the name ended."""
    accepted = row.provider.accepted_at
    return item.transfer_id is None or (accepted is not None and accepted > item.changed_at)


def _fetch_owners(row: HandOver, names: Collection[str]) -> dict[str, Counter[int | None]]:
    """How many record sets each owner has at the names; a name that is not in the mirror has none."""
    rows = RecordSet.objects.filter(provider=row.provider, name__among=names, missing_since__isnull=True)
    found: dict[str, Counter[int | None]] = defaultdict(Counter)
    for name, owner_id in rows.values_list("name", "owner_id"):
        found[name][owner_id] += 1
    return found


def _transfer(row: HandOver, items: list[HandOverItem]) -> bool:
    """One ordinary transfer of those of the names that may move, requested by who requested the hand-over and
    approved by who approved it: both must still have the right. Whether there was one. Raises DnsadminError.
    """
    requester = fetch_person(row.requested_by_id, row.requested_by_name)
    plan = _preview(requester, _build_request(row, items))
    problems = _find_problems(row, plan)
    by_reason: dict[str, list[HandOverItem]] = defaultdict(list)
    for item in items:
        by_reason[problems.get(item.name, "")].append(item)
    moving = by_reason.pop("", [])
    for reason, blocked in by_reason.items():
        _set_state(blocked, _STATE.BLOCKED, reason)
    if not moving:
        return False
    request = _build_request(row, moving)
    if problems:
        plan = _preview(requester, request)
    request = replace(request, fingerprints={plan.provider.pk: plan.fingerprint})
    (transfer,) = request_transfer(requester, request)
    _set_state(moving, _STATE.MOVING, transfer=transfer)
    if transfer.status == Transfer.Status.REQUESTED:
        _approve(row, transfer)
    return True


def _find_problems(row: HandOver, plan: ProviderPlan) -> dict[str, str]:
    """Why names of a plan may not move: one type that may not keeps its whole name."""
    problems = {each.name: each.problem for each in plan.left_out}
    return problems | {
        each.name: f"{each.record_type}: {each.verdict_reason}"
        for each in plan.included
        if each.verdict not in row.allowed_verdicts
    }


def _approve(row: HandOver, transfer: Transfer) -> None:
    """Approve it for who approved the hand-over, or consented to it. What is refused in this moment does not
    stay open."""
    approver = fetch_person(row.approved_by_id, row.approved_by_name)
    people: list[tuple[Actor, str | None]] = [(approver, None)]
    if needs_both_sides(transfer):
        first = fetch_person(row.consent_by_id, row.consent_by_name)
        people = [(first, row.consent_side), (approver, other_side(row.consent_side))]
    try:
        for person, side in people:
            approve_transfer(person, transfer.public_id, fingerprint=transfer.plan_fingerprint, side=side)
    except DnsadminError as error:
        _logger.warning("hand_over.not_approved", hand_over=row.pk, transfer=transfer.pk, error=str(error))
        with suppress(StateMoved):
            advance_transfer(
                transfer,
                before=[Transfer.Status.REQUESTED],
                after=Transfer.Status.STALE,
                actor=SYSTEM,
                reason=str(error),
                status_reason=str(error),
            )


def _preview(requester: Actor, request: TransferRequest) -> ProviderPlan:
    (plan,) = preview_transfer(requester, request)
    return plan


def _build_request(row: HandOver, items: Iterable[HandOverItem]) -> TransferRequest:
    names = tuple(item.name for item in items)
    return TransferRequest(
        kind=Transfer.Kind.TRANSFER,
        selection=Selection(names=names, owner_id=row.from_owner.owner_id, provider_id=row.provider_id),
        target_owner_id=row.to_owner.owner_id,
        reason=f"Hand-over {row.pk}: {row.reason}",
        ticket=row.ticket,
        # What both sides agreed to stays theirs, whatever the provider asks for by now.
        least_policy=Provider.ApprovalPolicy.BOTH_SIDES if needs_both_sides(row) else _NO_POLICY,
    )


def _set_state(
    items: Iterable[HandOverItem], state: str, reason: str = "", *, transfer: Transfer | None = None
) -> None:
    """Another state for names that are in the one they were read in."""
    now = fetch_now()
    values = {} if transfer is None else {"transfer": transfer}
    by_state: dict[str, list[int]] = defaultdict(list)
    for item in items:
        by_state[item.state].append(item.pk)
    for before, keys in by_state.items():
        if before == state:
            HandOverItem.objects.filter(pk__among=keys, state=before).update(reason=reason, **values)
        else:
            same = HandOverItem.objects.filter(pk__among=keys, state=before)
            same.update(state=state, reason=reason, changed_at=now, **values)
