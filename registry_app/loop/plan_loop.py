"""From what is desired and what exists to a plan, with a sentence for all that is left alone.

A plan that changes more than one run may change unasked needs a typed confirmation.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from providers.planning.equal_values import list_questions
from providers.planning.plan import PlanSettings, compute_plan
from providers.planning.planned_changes import LeftAlone, PlannedChanges
from providers.registries.claim import ClaimVerdict, OwnershipState, PairedEndpoint, Pairing, TxtProfile
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.session import LoopSession
from registry_app.mirror.owner_registry import OwnerRegistry, fetch_owner_registry
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import RecordSet
from registry_app.queries.freeze import Stops, fetch_name_stops
from registry_app.queries.loop import is_first_contact, names_of_open_transfers

_LEFT_OUT = "The provider removed it when it adjusted the desired endpoints."
SMALLEST_SHARED = 10
SHARE_PERCENT = 30


@dataclass(frozen=True)
class LoopPlan:
    """What one run would do, and all it was computed from, so that it can be computed again.

    `store` is the registry profile, by primary key as text, whose store holds the owner's claims; empty for
    TXT records under `profile`. With `keeps_txt`, such records repeat the rows of the store. `excess` is why
    it is more than a run does without a confirmation; then `confirmation_text` is what a person types.
    `stops` are the freezes of some names.
    """

    changes: PlannedChanges
    snapshot: Snapshot
    settings: PlanSettings
    profile: TxtProfile
    desired: tuple[Endpoint, ...]
    left_out_by_provider: frozenset[EndpointKey]
    store: str = ""
    keeps_txt: bool = False
    excess: str = ""
    confirmation_text: str = ""
    stops: Stops = field(default_factory=Stops)

    @property
    def pairing(self) -> Pairing:
        """What the plan was computed against."""
        return Pairing(records=self.snapshot.records, claims=self.snapshot.claims)


def plan_loop(session: LoopSession, request: LoopRequest) -> LoopPlan:
    """Read the provider, have it adjust what is wanted, and plan. Sends no change.

    Raises ProviderError, WireError, SecretUnavailable, RefusedBySafety, LeaseLost.
    """
    registry = fetch_owner_registry(request.owner, request.provider, session.profiles)
    domain_filter = session.negotiate()
    snapshot = session.read(_list_names(request, registry), with_changed=True)
    session.renew()
    desired, missing = _adjust(session, request.desired)
    plan = LoopPlan(
        changes=PlannedChanges(),
        snapshot=snapshot,
        settings=PlanSettings(
            owner_id=request.owner.owner_id,
            policy=request.policy,
            domain_filter=domain_filter,
            managed_types=request.managed_types,
            has_ownership=registry.keeps_claims,
        ),
        profile=registry.copies or registry.txt,
        keeps_txt=registry.copies is not None,
        desired=desired,
        left_out_by_provider=missing,
        store=registry.store if registry.keeps_claims else "",
    )
    return _judge_size(plan_again(session, plan, snapshot), request)


def _list_names(request: LoopRequest, registry: OwnerRegistry) -> set[str] | None:
    """The names where the run may change something, unless something changed since the mirror was last true;
    None for all. Database read."""
    if not registry.keeps_claims or registry.store:
        return None
    rows = RecordSet.objects.filter(provider=request.provider, owner=request.owner)
    names = rows.order_by().values_list("name", flat=True).iterator(chunk_size=5_000)
    return {*names, *(key.name for key in _keys_of(request.desired))}


def plan_again(
    session: LoopSession, plan: LoopPlan, snapshot: Snapshot, names: Collection[str] | None = None
) -> LoopPlan:
    """The same plan from another reading, with the property values in it that the provider calls equal; with
    `names`, only what is to change at these. Raises LeaseLost."""
    desired = plan.desired if names is None else keep_names(plan, names).desired
    pairing = Pairing(records=snapshot.records, claims=snapshot.claims)
    equal = session.find_equal_values(list_questions(desired, pairing, plan.settings.managed_types))
    changes = compute_plan(desired, pairing, plan.settings, equal)
    plan = replace(plan, stops=fetch_name_stops(session.provider, plan.settings.owner_id))
    return _leave_out(plan, changes, snapshot, names_of_open_transfers(session.provider.pk))


def keep_names(plan: LoopPlan, names: Collection[str]) -> LoopPlan:
    """The plan with what is wanted at these names alone. Pure."""
    kept = tuple(each for each in plan.desired if (key := _key_of(each)) is not None and key.name in names)
    return replace(plan, desired=kept)


def _leave_out(
    plan: LoopPlan, changes: PlannedChanges, snapshot: Snapshot, held_names: Collection[str]
) -> LoopPlan:
    reasons = _Reasons(plan, snapshot, frozenset(held_names))
    return replace(plan, snapshot=snapshot, changes=_leave_more_alone(changes, reasons))


class _Reasons:
    """Why a change is not made that ExternalDNS's plan contains."""

    def __init__(self, plan: LoopPlan, snapshot: Snapshot, held_names: frozenset[str]) -> None:
        self._held_names = held_names
        self._shadowed = snapshot.set_aside_names
        self._missing = plan.left_out_by_provider
        self._filter = plan.settings.domain_filter
        self._stops = plan.stops
        self._orphans = _orphans_of_others(snapshot, plan.settings)

    def list_left_out(self, listed: Collection[EndpointKey]) -> list[LeftAlone]:
        """What is desired and not in the plan at all, because the provider left it out."""
        return [LeftAlone(key, self._why_left_out(key)) for key in self._missing.difference(listed)]

    def find(self, key: EndpointKey, *, is_create: bool = False) -> str:
        """One sentence, or nothing."""
        if key.name in self._held_names:
            return "An open transfer has its name."
        if stop := self._stops.find(key.name):
            return stop
        if key.name in self._shadowed:
            return "A record at its name could not be read this time."
        if key in self._missing:
            return _LEFT_OUT
        if is_create and key in self._orphans:
            return f"An orphaned claim names {self._orphans[key]} as its owner: clean it up first."
        return ""

    def _why_left_out(self, key: EndpointKey) -> str:
        # Providers leave out what they cannot store, most without a reason. This one is known here.
        if self._filter.matches_everything or self._filter.matches(key.name):
            return _LEFT_OUT
        return "It is outside the domain filter."


def _orphans_of_others(snapshot: Snapshot, settings: PlanSettings) -> dict[EndpointKey, str]:
    if not settings.has_ownership:
        return {}
    return {
        EndpointKey(claim.record_name, claim.record_type, claim.set_identifier): claim.owner_id
        for claim in snapshot.claims
        if claim.verdict is ClaimVerdict.ORPHAN and claim.owner_id not in ("", settings.owner_id)
    }


def _leave_more_alone(changes: PlannedChanges, reasons: _Reasons) -> PlannedChanges:
    left: list[LeftAlone] = []

    def may_change(key: EndpointKey, *, is_create: bool = False) -> bool:
        reason = reasons.find(key, is_create=is_create)
        if reason:
            left.append(LeftAlone(key, reason))
        return not reason

    creates = tuple(each for each in changes.creates if may_change(endpoint_key(each), is_create=True))
    updates = tuple(each for each in changes.updates if may_change(each.current.key))
    deletes = tuple(each for each in changes.deletes if may_change(each.key))
    left += reasons.list_left_out([each.key for each in (*changes.left_alone, *left)])
    left_alone = sorted((*changes.left_alone, *left), key=lambda each: (each.key, each.reason))
    return PlannedChanges(creates, updates, deletes, tuple(left_alone))


def _adjust(
    session: LoopSession, desired: Sequence[Endpoint]
) -> tuple[tuple[Endpoint, ...], frozenset[EndpointKey]]:
    """What is wanted in the form the provider would store it, and what it left out.

    It may return other types at a desired name, as Route 53 does with a CNAME that becomes an alias of A and
    AAAA. Other names are not taken from it.
    """
    if not desired:
        return (), frozenset()
    adjusted = [(_key_of(each), each) for each in session.client.adjust_endpoints(desired)]
    asked = _keys_of(desired)
    places = {_place_of(key) for key in asked}
    kept = {key: each for key, each in adjusted if key is not None and _place_of(key) in places}
    turned = {_place_of(key) for key in kept.keys() - asked}
    # The plan itself reports what cannot have a key.
    impossible = tuple(each for each in desired if _key_of(each) is None)
    missing = frozenset(key for key in asked - kept.keys() if _place_of(key) not in turned)
    return (*(each for key, each in adjusted if key in kept), *impossible), missing


def _place_of(key: EndpointKey) -> tuple[str, str]:
    return key.name, key.set_identifier


def _keys_of(endpoints: Iterable[Endpoint]) -> set[EndpointKey]:
    return {key for key in map(_key_of, endpoints) if key is not None}


def _key_of(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None


def _judge_size(plan: LoopPlan, request: LoopRequest) -> LoopPlan:
    around = _PlanSize(
        own_count=sum(_is_own(record, plan.settings) for record in plan.snapshot.records),
        wanted_count=len(request.desired),
        most=request.provider.max_transfer_count,
        has_ownership=plan.settings.has_ownership,
        is_first_contact=is_first_contact(request.owner, request.provider),
    )
    excess = _find_excess(plan.changes, around)
    text = build_confirmation_text(plan.changes, plan.settings.owner_id) if excess else ""
    return replace(plan, excess=excess, confirmation_text=text)


def _is_own(record: PairedEndpoint, settings: PlanSettings) -> bool:
    """Whether a record set is one that this plan may change."""
    if record.key.record_type not in settings.managed_types:
        return False
    if settings.has_ownership:
        return record.owner_id == settings.owner_id and record.state is OwnershipState.OWNED
    return settings.domain_filter.matches_everything or settings.domain_filter.matches(record.key.name)


@dataclass(frozen=True)
class _PlanSize:
    """What else the rules depend on: how many record sets the owner has, how many endpoints are desired, and
    the provider's limit for one transfer. `is_first_contact`: dnsadmin never ran this owner before."""

    own_count: int
    wanted_count: int
    most: int
    has_ownership: bool
    is_first_contact: bool


def _find_excess(planned: PlannedChanges, around: _PlanSize) -> str:
    """Why the plan is more than one run does without a confirmation, as a sentence; empty if it is not."""
    creates, updates, deletes = len(planned.creates), len(planned.updates), len(planned.deletes)
    if deletes and not around.wanted_count:
        return "There is no desired endpoint, so every record set of the owner would be deleted."
    if not around.has_ownership and updates + deletes:
        return "Without ownership (noop), record sets are changed whoever created them."
    if around.is_first_contact and updates + deletes:
        return "dnsadmin never managed this owner here before, and the owner already has record sets."
    for count, verb in ((deletes, "deleted"), (updates, "changed")):
        if around.own_count >= SMALLEST_SHARED and count * 100 > around.own_count * SHARE_PERCENT:
            return f"{count} of {around.own_count} record sets would be {verb}, more than {SHARE_PERCENT} %."
    total = creates + updates + deletes
    if total > around.most:
        return (
            f"{total} record sets would change, more than the {around.most} that one transfer may change "
            "at this provider."
        )
    return ""


def build_confirmation_text(planned: PlannedChanges, owner_id: str) -> str:
    """The exact text to type for just these changes."""
    counts = {
        "create": len(planned.creates),
        "update": len(planned.updates),
        "delete": len(planned.deletes),
    }
    what = ", ".join(f"{verb} {count}" for verb, count in counts.items() if count)
    noun = "record set" if sum(counts.values()) == 1 else "record sets"
    return f"{what} {noun} of {owner_id}"


def is_confirmed(wanted: str, typed: str) -> bool:
    """Whether what was typed is the text, but for white space at its ends and doubled inside."""
    return not wanted or " ".join(typed.split()) == " ".join(wanted.split())


def list_keys(changes: PlannedChanges) -> Iterator[EndpointKey]:
    """The record sets that a plan changes."""
    yield from (endpoint_key(each) for each in changes.creates)
    yield from (each.current.key for each in changes.updates)
    yield from (each.key for each in changes.deletes)
