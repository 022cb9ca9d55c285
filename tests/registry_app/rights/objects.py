"""What there is to act on, twice: what the narrowed grants are for, and what they are not."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone

from registry_app.hand_over.request_hand_over import ALLOWED
from registry_app.hand_over.request_hand_over import compute_stored_fingerprint as compute_of_hand_over
from registry_app.mirror.place import name_place
from registry_app.models import (
    ApiToken,
    ApprovalChange,
    Cluster,
    Contention,
    DesiredEndpoint,
    Finding,
    Freeze,
    Grant,
    GuardDecision,
    GuardEndpoint,
    GuardStep,
    HandOver,
    HeldDelete,
    HeldSnapshot,
    Instance,
    Loop,
    LoopRun,
    Owner,
    Provider,
    RecordSet,
    RegistryProfile,
    SavedFilter,
    SyncRun,
    Transfer,
    TransferItem,
    TransferStep,
)
from registry_app.queries.transfer import POLICY_APPROVES
from registry_app.transfer.plan.provider_plan import compute_stored_fingerprint
from tests.factories import (
    make_administrator,
    make_cluster,
    make_contention,
    make_desired_set,
    make_finding,
    make_guard_decision,
    make_guard_endpoint,
    make_guard_step,
    make_held_delete,
    make_instance,
    make_owner,
    make_user,
)
from tests.registry_app.admin.world import make_claimed, make_fresh_provider, make_loop_run, make_transfer


@dataclass
class Side:
    """One provider with one of everything, all of it of `owner` and under `name`."""

    key: str
    provider: Provider
    owner: Owner
    target: Owner
    name: str
    cluster: Cluster
    instance: Instance
    spare_instance: Instance
    guard: GuardEndpoint
    desired: DesiredEndpoint
    decision: GuardDecision
    guard_step: GuardStep
    held_delete: HeldDelete
    contention: Contention
    profile: RegistryProfile
    record: RecordSet
    fresh: RecordSet
    name_finding: Finding
    wide_finding: Finding
    held: HeldSnapshot
    freeze: Freeze
    loop: Loop
    run: LoopRun
    transfers: dict[str, Transfer]
    hand_overs: dict[str, HandOver]
    step: TransferStep
    sync_run: SyncRun
    token: ApiToken
    team: Group
    grant: Grant
    saved_filter: SavedFilter


def make_side(key: str, owner: Owner, target: Owner, name: str) -> Side:
    """Nothing listens at its provider's address: what would be asked of it is answered with that."""
    now = timezone.now()
    provider = Provider.objects.get(name=key)
    record = make_claimed(provider, owner, name)
    run = make_loop_run(provider, owner)
    assert run.loop is not None
    run.loop.endpoints.update(name=name)
    run.steps.update(items=[])
    cluster = make_cluster(f"{key}-cluster", api_url="https://127.0.0.1:1", token="t")
    profile = RegistryProfile.objects.create(
        name=f"{key}-store", kind="crd", namespace="dns", cluster=cluster
    )
    profile.providers.add(provider)
    held = HeldSnapshot.objects.create(
        provider=provider, body=b"", body_digest="d", created_at=now, last_seen_at=now
    )
    transfers = {
        status: _make_transfer(provider, owner, target, name, status)
        for status in ("requested", "needs_operator", "verified")
    }
    step = TransferStep.objects.create(
        transfer=transfers["verified"],
        phase="write",
        batch=0,
        change_set="{}",
        body_digest="d",
        epoch=1,
        stored_at=now,
    )
    asker = make_administrator(f"{key} administrator")
    ApprovalChange.objects.create(
        provider=provider,
        from_policy="none",
        to_policy="none",
        asked_by=asker,
        asked_by_issuer=asker,
        asked_by_name=asker.username,
        asked_at=now,
    )
    about: dict[str, Any] = {"provider": provider, "kind": Finding.Kind.LEGACY_CLAIM}
    token = ApiToken.objects.create(
        public_id=key.ljust(16, "0"), secret_hash="h", name=f"{key} token", user=make_user(f"{key} user")
    )
    team = Group.objects.create(name=f"{key} team")
    # Of an owner of its own: an owner with several instances says nothing about them itself.
    guarded = make_owner(f"{key}-guarded")
    guard = make_guard_endpoint(make_instance(guarded), provider, slug=key, username=key, password_hash="h")
    make_desired_set(guard, name)
    return Side(
        key=key,
        provider=provider,
        owner=owner,
        target=target,
        name=name,
        cluster=cluster,
        instance=make_instance(owner),
        spare_instance=make_instance(guarded, "spare"),
        guard=guard,
        desired=guard.desired_endpoints.get(),
        decision=make_guard_decision(guard, name),
        guard_step=make_guard_step(guard, name),
        held_delete=make_held_delete(guard, name),
        contention=make_contention(provider, name),
        profile=profile,
        record=record,
        fresh=make_claimed(provider, owner, name, record_type="AAAA"),
        name_finding=make_finding(name=name, owner=owner, **about),
        wide_finding=make_finding(**about),
        held=held,
        freeze=Freeze.objects.create(
            provider=provider,
            reason="later",
            starts_at=now + timedelta(days=1),
            created_by="alice",
        ),
        loop=run.loop,
        run=run,
        transfers=transfers,
        hand_overs={
            status: _make_hand_over(provider, owner, target, name, status)
            for status in ("requested", "running", "paused")
        },
        step=step,
        sync_run=SyncRun.objects.create(
            provider=provider, trigger="schedule", status="stored", epoch=1, started_at=now
        ),
        token=token,
        team=team,
        grant=Grant.objects.create(group=team, action=Grant.Action.REQUEST, name_suffix="nobody.invalid"),
        saved_filter=SavedFilter.objects.create(
            user=token.user, list_name="record-sets", name="mine", filters={"type": "A"}
        ),
    )


def make_sides() -> tuple[Side, Side]:
    """Own and foreign. The providers and owners first: grants name them."""
    for key in ("own", "foreign"):
        make_fresh_provider(key, url="http://127.0.0.1:1", deadline_seconds=1)
    own, foreign, third = (make_owner(f"{key}-owner") for key in ("own", "foreign", "third"))
    return (
        make_side("own", own, third, "www.own.example.org"),
        make_side("foreign", foreign, third, "www.foreign.example.net"),
    )


def _make_transfer(provider: Provider, owner: Owner, target: Owner, name: str, status: str) -> Transfer:
    # A decision to send again is refused once the rights of who asked have ended.
    requester = make_administrator(f"requester of {provider.name} {status}")
    transfer = make_transfer(
        provider,
        owner,
        target,
        status=status,
        approval_policy=Provider.ApprovalPolicy.NONE,
        requested_by=requester,
        requested_by_issuer=requester,
        preconditions={"url": name_place(provider), "protocol": provider.protocol, "owners": {}},
        target_intent=Transfer.TargetIntent.SAME,
        plan_fingerprint="",
        approved_by_name="" if status == "requested" else POLICY_APPROVES,
    )
    item_status = status if status in TransferItem.Status.values else "pending"
    transfer.items.update(name=name, owner_before=owner.owner_id, status=item_status)
    digest = compute_stored_fingerprint(transfer)
    Transfer.objects.filter(pk=transfer.pk).update(plan_fingerprint=digest, approved_fingerprint=digest)
    transfer.refresh_from_db()
    return transfer


def _make_hand_over(provider: Provider, owner: Owner, target: Owner, name: str, status: str) -> HandOver:
    now = timezone.now()
    requester = make_administrator(f"requester of {provider.name} hand-over {status}")
    row = HandOver.objects.create(
        provider=provider,
        from_owner=owner,
        to_owner=target,
        status=status,
        reason="It moves.",
        allowed_verdicts=sorted(ALLOWED),
        approval_policy=Provider.ApprovalPolicy.NONE,
        wave_count=2,
        ends_at=now + timedelta(days=1),
        requested_by=requester,
        requested_by_issuer=requester,
        requested_by_name=requester.username,
    )
    row.items.create(name=name, changed_at=now)
    HandOver.objects.filter(pk=row.pk).update(fingerprint=compute_of_hand_over(row))
    row.refresh_from_db()
    return row


def enforce_both(side: Side) -> None:
    """Both owners of the side are behind the guard, which enforces."""
    taker = make_instance(side.target, f"{side.key} taker", provider=side.provider)
    for instance in (side.instance, taker):
        about = {"slug": f"{side.key}-{instance.pk}", "username": "u", "password_hash": "h"}
        make_guard_endpoint(instance, side.provider, mode=GuardEndpoint.Mode.ENFORCE, **about)


def clear_hand_overs(side: Side) -> None:
    """As `enforce_both`, and no name is part of a hand-over."""
    enforce_both(side)
    HandOver.objects.filter(provider=side.provider).delete()
