"""Whether anything may be sent to a provider now. Everything that sends asks here first."""

from dataclasses import dataclass

from registry_app.models import Provider
from registry_app.outside_copy import find_copy_ahead
from registry_app.queries.freeze import describe_freeze, fetch_active_freezes


@dataclass(frozen=True)
class SendStop:
    """One reason why nothing may be sent to a provider. `happened` is one sentence."""

    happened: str
    todo: str
    code: str


def find_send_stops(provider: Provider) -> list[SendStop]:
    """Why nothing may be sent to `provider` at this moment: freezes, and a database that was restored."""
    return [*_find_freezes(provider), *_find_restore(provider)]


def _find_freezes(provider: Provider) -> list[SendStop]:
    todo = "Wait until it ends, or ask an operator to lift it."
    return [
        SendStop(f"{describe_freeze(freeze)}.", todo, "frozen") for freeze in fetch_active_freezes(provider)
    ]


def _find_restore(provider: Provider) -> list[SendStop]:
    if Provider.objects.filter(pk=provider.pk, restored_at__isnull=False).exists():
        happened = f"The database was restored, and no snapshot of {provider.name} was accepted since."
        todo = (
            "Check its record sets. Then accept its snapshot on its page, or with `dnsadmin_restore accept`."
        )
        return [SendStop(happened, todo, "restored")]
    if find_copy_ahead() is not None:
        happened = "The database was restored from an earlier state, and dnsadmin has not recorded this yet."
        return [SendStop(happened, "Wait a moment: a worker records it.", "database_restored")]
    return []
