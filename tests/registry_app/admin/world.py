"""The world of the web admin's tests: the cast, a mirror with claims, and the addresses of every screen."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from registry_app.models import (
    ApiToken,
    AuditEntry,
    Claim,
    DeclaredEndpoint,
    Freeze,
    Grant,
    HandOver,
    HeldSnapshot,
    Loop,
    LoopRun,
    LoopStep,
    Owner,
    Provider,
    RecordEvent,
    RecordSet,
    RegistryProfile,
    SavedFilter,
    SyncRun,
    Transfer,
    TransferItem,
    TransferStep,
)
from tests.factories import (
    make_cluster,
    make_contention,
    make_desired_set,
    make_finding,
    make_guard_decision,
    make_guard_endpoint,
    make_guard_step,
    make_held_delete,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
    set_instance,
)

NOUNS = (
    "recordset",
    "owner",
    "instance",
    "cluster",
    "guardendpoint",
    "handover",
    "desiredendpoint",
    "guarddecision",
    "helddelete",
    "guardstep",
    "contention",
    "registryprofile",
    "provider",
    "finding",
    "syncrun",
    "heldsnapshot",
    "freeze",
    "loop",
    "looprun",
    "transfer",
    "auditentry",
    "grant",
    "apitoken",
    "savedfilter",
)
FORMS = (
    "owner_register",
    "cluster_register",
    "guardendpoint_register",
    "helddelete_release",
    "helddelete_keep",
    "registryprofile_register",
    "provider_register",
    "freeze_start",
    "loop_register",
    "grant_give",
    "apitoken_issue",
    "savedfilter_register",
    "transfer_request",
    "handover_request",
)


def address(name: str, *args: Any) -> str:
    """`recordset_changelist`, `owner_edit`, ... as an address."""
    return reverse(f"admin:registry_app_{name}", args=args)


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def read_text(response: HttpResponseBase) -> str:
    content: bytes = getattr(response, "content", b"")
    return content.decode()


def make_team(name: str, *actions: Grant.Action, owner: Owner | None = None) -> Group:
    team = Group.objects.create(name=name)
    for action in actions:
        Grant.objects.create(group=team, action=action, owner=owner)
    return team


def make_member(username: str, team: Group) -> User:
    user = make_user(username)
    user.groups.add(team)
    return user


def make_fresh_provider(name: str = "blue-zone", **values: Any) -> Provider:
    now = timezone.now()
    fresh: dict[str, Any] = {
        "status": Provider.Status.OK,
        "accepted_at": now,
        "last_sync_at": now,
        "next_sync_at": now + timedelta(minutes=1),
        "accepted_snapshots": 1,
        "approval_policy": Provider.ApprovalPolicy.NONE,
        "max_transfer_percent": 100,
    }
    return make_provider(name, **{**fresh, **values})


def make_claimed(provider: Provider, owner: Owner, name: str = "www.example.org", **values: Any) -> RecordSet:
    """A record set with the claim that makes it its owner's."""
    row = make_record_set(provider, name, owner=owner, **values)
    make_claim(row, owner)
    return row


def make_claim(row: RecordSet, owner: Owner | None, **values: Any) -> Claim:
    now = timezone.now()
    signer = owner.owner_id if owner else "nobody"
    defaults: dict[str, Any] = {
        "provider": row.provider,
        "identity": row.pk.to_bytes(16, "big"),
        "txt_name": f"{row.record_type.lower()}-{row.name}",
        "raw": f'"heritage=external-dns,external-dns/owner={signer},external-dns/resource=ingress/shop/www"',
        "format": Claim.Format.NEW,
        "verdict": Claim.Verdict.EFFECTIVE,
        "record_name": row.name,
        "record_type": row.record_type,
        "owner": owner,
        "resource": "ingress/shop/www",
        "labels": {"owner": signer, "resource": "ingress/shop/www"},
        "digest": b"\0" * 16,
        "first_seen_at": now,
        "changed_at": now,
    }
    return Claim.objects.create(**{**defaults, **values})


def make_transfer(provider: Provider, source: Owner, target: Owner, **values: Any) -> Transfer:
    """A stored transfer of one record set that waits for approval."""
    defaults: dict[str, Any] = {
        "kind": Transfer.Kind.TRANSFER,
        "source_owner": source,
        "target_owner": target,
        "reason": "The shop moves.",
        "plan_fingerprint": "f" * 64,
        "approval_policy": Provider.ApprovalPolicy.OTHER_PERSON,
        "requested_by_name": "alice",
        "item_count": 1,
        "expires_at": timezone.now() + timedelta(days=7),
    }
    # Asked for without a token: the person alone answers for it.
    defaults["requested_by_issuer"] = values.get("requested_by")
    transfer = Transfer.objects.create(provider=provider, **{**defaults, **values})
    claim = {"dnsName": "a-www.example.org", "recordType": "TXT"}
    TransferItem.objects.create(
        transfer=transfer,
        ordinal=0,
        name="www.example.org",
        record_type="A",
        before=[{**claim, "targets": ['"heritage=external-dns,external-dns/owner=blue-cluster"']}],
        after=[{**claim, "targets": ['"heritage=external-dns,external-dns/owner=green-cluster"']}],
        verdict=TransferItem.Verdict.UNKNOWN,
        verdict_reason="No desired set is known.",
    )
    return transfer


def make_hand_over(provider: Provider, source: Owner, target: Owner, *names: str, **values: Any) -> HandOver:
    """A stored hand-over of these names, or of one, that waits for approval."""
    now = timezone.now()
    defaults: dict[str, Any] = {
        "reason": "It moves.",
        "allowed_verdicts": ["no_op", "retarget"],
        "approval_policy": Provider.ApprovalPolicy.NONE,
        "ends_at": now + timedelta(days=1),
        "requested_by_name": "alice",
    }
    row = HandOver.objects.create(
        provider=provider, from_owner=source, to_owner=target, **{**defaults, **values}
    )
    for name in names or ("www.example.org",):
        row.items.create(name=name, changed_at=now)
    return row


def make_loop_run(provider: Provider, owner: Owner) -> LoopRun:
    """A loop of `owner` with one declared endpoint, and a run that made it."""
    now = timezone.now()
    loop = Loop.objects.create(owner=owner, provider=provider, next_run_at=now)
    DeclaredEndpoint.objects.create(
        loop=loop, name="kept.example.org", record_type="A", targets=["192.0.2.1"]
    )
    run = LoopRun.objects.create(
        loop=loop,
        owner=owner,
        provider=provider,
        trigger="schedule",
        policy="sync",
        source="declared endpoints",
        status="verified",
        epoch=1,
        started_at=now,
        left_alone_count=1,
        left_alone=[
            {"name": "www.example.org", "record_type": "A", "set_identifier": "", "reason": "Not ours."}
        ],
    )
    item = {"name": "kept.example.org", "record_type": "A", "set_identifier": "", "action": "create"}
    LoopStep.objects.create(
        run=run,
        ordinal=1,
        status="verified",
        change_set="{}",
        body_digest="d",
        items=[{**item, "claims": [["a-kept.example.org", "TXT", ""]], "outcome": "verified"}],
        epoch=1,
        stored_at=now,
    )
    return run


def make_one_of_each(number: int, user: User) -> None:
    """One more row behind every list."""
    now = timezone.now()
    provider = make_fresh_provider(f"zone-{number}")
    blue, green = make_owner(f"blue-{number}"), make_owner(f"green-{number}")
    cluster = make_cluster(f"cluster-{number}")
    instance = set_instance(blue, cluster=cluster)
    guard = make_guard_endpoint(instance, provider, username="blue", password_hash="h")
    make_desired_set(guard, f"www-{number}.example.org")
    make_guard_decision(guard)
    make_held_delete(guard)
    make_guard_step(guard, f"www-{number}.example.org")
    make_contention(provider, f"www-{number}.example.org")
    RegistryProfile.objects.create(name=f"profile-{number}", encryption_key="k" * 32)
    row = make_claimed(provider, blue, f"www-{number}.example.org")
    run = SyncRun.objects.create(
        provider=provider, trigger="schedule", status="stored", epoch=1, started_at=now
    )
    RecordEvent.objects.create(
        provider=provider, name=row.name, record_type="A", kind="changed", at=now, sync_run_id=run.pk
    )
    make_finding(provider=provider, owner=blue, name=row.name, record_type="A")
    HeldSnapshot.objects.create(
        provider=provider,
        reasons=[{"code": "empty", "text": "It is empty."}],
        difference={"vanished": 1},
        body=b"",
        body_digest="",
        created_at=now,
        last_seen_at=now,
    )
    Freeze.objects.create(provider=provider, reason="Change stop.", starts_at=now, created_by="alice")
    make_loop_run(provider, green)
    make_hand_over(provider, blue, green)
    transfer = make_transfer(provider, blue, green)
    TransferStep.objects.create(
        transfer=transfer, phase="write", batch=0, change_set="{}", body_digest="d", epoch=1, stored_at=now
    )
    AuditEntry.objects.create(
        sequence=1_000 + number, at=now, actor_kind="user", actor_name="alice", action="owner.changed",
        object_type="owner", object_id=str(blue.pk), previous_hash="0", hash="0",
    )  # fmt: skip
    team = Group.objects.create(name=f"team-{number}")
    Grant.objects.create(group=team, action=Grant.Action.REQUEST, provider=provider, owner=blue)
    ApiToken.objects.create(public_id=f"{number:016x}", secret_hash="h", name=f"token {number}", user=user)
    SavedFilter.objects.create(
        user=user, list_name="record-sets", name=f"filter {number}", filters={"q": "www"}, is_pinned=False
    )
