"""What a request would do. Reads the mirror only: writes nothing, asks no provider."""

from dataclasses import replace

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotAllowed, NotFound
from registry_app.models import Owner, Provider, Transfer
from registry_app.queries.access import may_read
from registry_app.queries.instance import WITH_PROFILES
from registry_app.queries.owner import find_look_alikes
from registry_app.transfer.plan.build_plan import PlanRequest, build_provider_plan
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.refusals import build_confirmation_text
from registry_app.transfer.plan.transfer_request import TransferRequest, find_claims, find_record_sets

_KIND = Transfer.Kind
_KINDS_WITH_TARGET = (_KIND.TRANSFER, _KIND.ADOPT)


def preview_transfer(actor: Actor, request: TransferRequest) -> tuple[ProviderPlan, ...]:
    """One plan for each provider the selection touches, refusals included.

    Raises InvalidRequest for a malformed request (nothing selected, an unknown kind or owner),
    NotFound for ids that are not there or a selection that finds nothing, NotAllowed for an unknown actor.
    """
    if not (may_read(actor) or actor.user_id is not None or actor.is_superuser):
        raise NotAllowed("The requester is not known.", todo="Log in, or use a token.")
    _raise_if_malformed(request)
    target = _find_target(request)
    selection = request.selection
    if request.kind == _KIND.CLEAN_UP:
        ids = set(find_claims(selection).order_by().values_list("provider_id", flat=True).distinct())
    else:
        ids = set(find_record_sets(selection).order_by().values_list("provider_id", flat=True).distinct())
    providers = Provider.objects.filter(pk__in=ids).order_by("pk")
    plans = [build_provider_plan(PlanRequest(actor, request, provider, target)) for provider in providers]
    if not plans:
        raise NotFound(
            "The selection matches no record set.",
            todo="Select more, or wait for the next sync of the provider.",
        )
    return _with_confirmation(request, plans)


def _with_confirmation(request: TransferRequest, plans: list[ProviderPlan]) -> tuple[ProviderPlan, ...]:
    """The plans with the text to type. It counts the items of all providers: a request is confirmed once."""
    included = [item for plan in plans for item in plan.included]
    behind = sum(len(plan.left_behind) for plan in plans)
    text = build_confirmation_text(request.kind, included, request.target_owner_id, left_behind=behind)
    return tuple(replace(plan, confirmation_text=text) for plan in plans)


def _raise_if_malformed(request: TransferRequest) -> None:
    if request.kind not in _KIND.values or request.kind == _KIND.UNDO:
        raise InvalidRequest(
            f"There is no kind of transfer called {request.kind[:50]!r}.",
            fields={"kind": [f"One of {', '.join(kind for kind in _KIND.values if kind != _KIND.UNDO)}."]},
        )
    raise_if_unknown_intent(request.target_intent)
    if request.selection.is_empty:
        raise InvalidRequest("Nothing is selected.", fields={"selection": ["Select something."]})
    if request.selection.claim_ids and request.kind != _KIND.CLEAN_UP:
        raise InvalidRequest(
            "Claims are selected only for a clean-up.", fields={"claim_ids": ["Select record sets."]}
        )
    if request.selection.record_set_ids and request.kind == _KIND.CLEAN_UP:
        raise InvalidRequest(
            "A clean-up is about claims, not record sets.", fields={"record_set_ids": ["Select claims."]}
        )


def raise_if_unknown_intent(intent: str) -> None:
    """Raise InvalidRequest unless it is a TargetIntent."""
    if intent not in Transfer.TargetIntent.values:
        allowed = ", ".join(Transfer.TargetIntent.values)
        raise InvalidRequest(
            f"{intent[:50]!r} is not an intent of the target.",
            fields={"target_intent": [f"One of {allowed}."]},
        )


def _raise_if_look_alike(target: Owner) -> None:
    original = find_look_alikes([target.owner_id]).get(target.owner_id)
    if original is not None:
        raise InvalidRequest(
            f"The owner {target.owner_id[:100]!a} is not registered. It looks like {original!a}, which is "
            "registered.",
            todo=f"Choose {original}. If you mean the other one, register it first.",
            fields={"target_owner_id": ["It looks like a registered owner, and is another."]},
            code="target_looks_alike",
        )


def _find_target(request: TransferRequest) -> Owner | None:
    if request.kind not in _KINDS_WITH_TARGET:
        if request.target_owner_id:
            raise InvalidRequest(
                f"A {request.kind.replace('_', ' ')} has no target owner.",
                fields={"target_owner_id": ["Leave it empty."]},
            )
        return None
    if not request.target_owner_id:
        raise InvalidRequest("No target owner is named.", fields={"target_owner_id": ["Choose an owner."]})
    target = Owner.objects.prefetch_related(WITH_PROFILES).filter(owner_id=request.target_owner_id).first()
    if target is None:
        raise InvalidRequest(
            f"No owner {request.target_owner_id[:100]!r} is known.",
            fields={"target_owner_id": ["Register it first, or check its spelling."]},
            code="unknown_target_owner",
        )
    _raise_if_look_alike(target)
    if request.selection.owner_id == target.owner_id and request.kind == _KIND.TRANSFER:
        raise InvalidRequest(
            f"{target.owner_id} is source and target.",
            fields={"target_owner_id": ["Choose another owner than the source."]},
            code="same_owner",
        )
    return target
