"""What must be so for a hand-over: when it is requested, when it is approved, and when names move."""

from registry_app.errors import RefusedBySafety
from registry_app.models import GuardEndpoint, InstancePolicy, Owner, Provider
from registry_app.queries.instance import list_instances_at


def raise_if_not_guarded(provider: Provider, owner: Owner) -> None:
    """Raise RefusedBySafety unless every instance of an owner that may write here is behind the guard, which
    enforces."""
    instances = list_instances_at(owner, provider)
    enforcing = GuardEndpoint.objects.filter(
        provider=provider, mode=GuardEndpoint.Mode.ENFORCE, instance__in=instances
    ).values_list("instance", flat=True)
    missing = [each for each in instances if each.pk not in set(enforcing)]
    if missing or not instances:
        who = f"The instance {missing[0].name} of {owner}" if missing else f"{owner}"
        raise RefusedBySafety(
            f"{who} has no guard endpoint at {provider} that enforces.",
            todo="Register one, point the instance to it, and set its mode to enforce.",
            code="not_guarded",
        )


def raise_if_never_finished(provider: Provider, owner: Owner) -> None:
    """Raise RefusedBySafety where the new owner never changes what it gets."""
    for each in list_instances_at(owner, provider):
        if each.policy in (InstancePolicy.CREATE_ONLY, InstancePolicy.UPSERT_ONLY):
            raise RefusedBySafety(
                f"The instance {each.name} of {owner} runs with --policy={each.policy}: it could not replace "
                "or remove what it gets.",
                todo="Use an ordinary transfer, or change its policy to sync.",
                code="policy_cannot_finish",
            )
