"""A person saw what a provider shows after a restore: from then on it may be sent to again."""

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import Provider
from registry_app.queries.access import may_operate
from registry_app.reconcile.find_subject import find_provider
from registry_app.reconcile.findings.draft import Kind, compute_fingerprint
from registry_app.reconcile.store_findings import resolve_finding


def accept_restored(actor: Actor, provider_id: int, *, reason: str) -> Provider:
    """Accept the snapshot that one provider gave since the restore.

    Raises NotFound, NotAllowed, StateMoved (nothing waits there), RefusedBySafety (no snapshot since).
    """
    provider = find_provider(provider_id)
    _raise_if_may_not(actor, provider)
    if provider.restored_at is None:
        raise StateMoved(
            f"{provider.name} does not wait for an acceptance after a restore.",
            todo="Nothing to do: dnsadmin may write to it.",
        )
    refusal = find_reason_to_wait(provider)
    if refusal is not None:
        raise refusal
    with transaction.atomic():
        _accept(actor, provider, reason)
    provider.refresh_from_db(fields=["restored_at"])
    return provider


def accept_all_restored(actor: Actor, *, reason: str) -> tuple[list[Provider], list[tuple[Provider, str]]]:
    """Accept every provider that gave a snapshot since the restore, in one act: all of them or, where the
    actor may not operate one of them, none. Those that gave none yet are left, with the reason.

    Raises NotAllowed, StateMoved (somebody was first).
    """
    waiting = list(restored_providers())
    for provider in waiting:
        _raise_if_may_not(actor, provider)
    left = [(each, refusal) for each in waiting if (refusal := find_reason_to_wait(each)) is not None]
    kept = {provider.pk for provider, _ in left}
    accepted = [provider for provider in waiting if provider.pk not in kept]
    with transaction.atomic():
        for provider in accepted:
            _accept(actor, provider, reason)
    return accepted, [(provider, str(refusal)) for provider, refusal in left]


def restored_providers() -> "list[Provider]":
    """The providers to which nothing is sent since a restore, by name."""
    return list(Provider.objects.filter(restored_at__isnull=False).order_by("name"))


def find_reason_to_wait(provider: Provider) -> RefusedBySafety | None:
    """Why the snapshot of a restored provider cannot be accepted yet."""
    if provider.status == Provider.Status.HELD:
        return RefusedBySafety(
            f"The snapshot of {provider.name} since the restore is held.",
            todo="Accept or reject the held snapshot first.",
            code="snapshot_held",
        )
    restored_at, accepted_at = provider.restored_at, provider.accepted_at
    if restored_at is not None and (accepted_at is None or accepted_at <= restored_at):
        return RefusedBySafety(
            f"{provider.name} returned no snapshot since the restore.",
            todo="Wait for its next sync, or request one. Then check the record sets and accept.",
            code="no_snapshot_since_restore",
        )
    return None


def _raise_if_may_not(actor: Actor, provider: Provider) -> None:
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not accept the snapshot of {provider.name}.",
            todo="Ask somebody with a grant to operate this provider.",
        )


def _accept(actor: Actor, provider: Provider, reason: str) -> None:
    moved = Provider.objects.filter(pk=provider.pk, restored_at=provider.restored_at)
    if not moved.update(restored_at=None):
        raise StateMoved(
            f"Somebody else decided on {provider.name}, or the database was restored again.",
            todo="Open the provider again.",
        )
    resolve_finding(compute_fingerprint(Kind.DATABASE_RESTORED, provider.pk, ""), fetch_now())
    restored_at = None if provider.restored_at is None else provider.restored_at.isoformat()
    record_audit(
        actor,
        "provider.accepted_after_restore",
        provider,
        reason=reason,
        before={"restored_at": restored_at},
        after={"accepted_digest": provider.accepted_digest},
    )
