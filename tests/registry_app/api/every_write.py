"""Every operation that writes, with a request that it accepts, and a world in which it does."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from registry_app.actor import Actor
from registry_app.hand_over.request_hand_over import HandOverRequest, request_hand_over
from registry_app.hand_over.waves import Waves
from registry_app.inventory.declared import declare_endpoint
from registry_app.models import (
    ApprovalChange,
    GuardEndpoint,
    HandOver,
    HeldSnapshot,
    Loop,
    Owner,
    Provider,
    RegistryProfile,
    SavedFilter,
    SyncRun,
    Transfer,
)
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import (
    make_administrator,
    make_cluster,
    make_desired_set,
    make_finding,
    make_guard_decision,
    make_guard_endpoint,
    make_guard_step,
    make_held_delete,
    make_instance,
    make_provider,
    make_record_set,
    set_instance,
)
from tests.reference_server import ReferenceProvider
from tests.registry_app.api.client import API, CheckingClient, make_client, make_token
from tests.registry_app.api.documented import document
from tests.registry_app.transfer.world import (
    GREEN,
    approve,
    ask,
    make_actor,
    open_world,
    register_owner,
    request,
)


@dataclass(frozen=True)
class Write:
    """One request. `{name}` in the address is filled from the ids of the world."""

    body: dict[str, Any] | None = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    version_at: str = ""
    by_person: bool = False  # in a browser: a token never issues a token


@dataclass(frozen=True)
class BusyWorld:
    """One of everything that can be written to."""

    reference: ReferenceProvider
    client: APIClient
    browser: APIClient
    ids: dict[str, Any]


_TRANSFER = {
    "kind": "transfer",
    "selection": {"names": ["app-00004.example.org"]},
    "target_owner": GREEN,
    "target_intent": "same",
    "reason": "Green takes it over.",
}
_REASON = {"reason": "As agreed."}
_HAND_OVER = {
    "provider": "blue-zone",
    "from_owner": "old-cluster",
    "to_owner": "new-cluster",
    "ends_at": (timezone.now() + timedelta(days=2)).isoformat(),
    "names": ["moves-0.example.org"],
    "reason": "The new one takes it over.",
}
_HANDED_OVER = {
    "asked_hand_over": ("moves-1.example.org",),
    "hand_over": ("moves-2.example.org", "moves-3.example.org"),
    "paused_hand_over": ("moves-4.example.org",),
}
_ENDPOINT = {"name": "new.example.org", "record_type": "A", "targets": ["192.0.2.9"]}

# What each operation accepts in `open_busy_world`. One that is missing here is asked with an empty body.
WRITES: dict[str, Write] = {
    "POST /owners/": Write({"owner_id": "yellow-cluster"}),
    "PATCH /owners/{id}/": Write({"description": "The shop."}, {"id": "owner"}, "/owners/{id}/"),
    "POST /instances/": Write({"owner": "red-cluster", "name": "second"}),
    "PATCH /instances/{id}/": Write({"policy": "upsert-only"}, {"id": "instance"}, "/instances/{id}/"),
    "DELETE /instances/{id}/": Write(None, {"id": "instance"}, "/instances/{id}/"),
    "POST /clusters/": Write({"name": "green"}),
    "PATCH /clusters/{id}/": Write({"description": "In Graz."}, {"id": "cluster"}, "/clusters/{id}/"),
    "POST /registry-profiles/": Write({"name": "other", "prefix": "other-"}),
    "PATCH /registry-profiles/{id}/": Write(
        {"prefix": "more-"}, {"id": "profile"}, "/registry-profiles/{id}/"
    ),
    "POST /providers/": Write({"name": "green-zone", "url": "http://127.0.0.1:9"}),
    "PATCH /providers/{id}/": Write({"description": "Ours."}, {"id": "provider"}, "/providers/{id}/"),
    "POST /providers/{id}/syncs/": Write({}, {"id": "provider"}),
    "POST /providers/{id}/visits/": Write({}, {"id": "provider"}),
    "POST /providers/{id}/accept-restored/": Write(_REASON, {"id": "restored"}),
    "POST /providers/accept-all-restored/": Write(_REASON),
    "POST /providers/{id}/approval-change/confirm/": Write({}, {"id": "restored"}),
    "POST /providers/{id}/approval-change/cancel/": Write({}, {"id": "restored"}),
    "POST /held-snapshots/{id}/accept/": Write(_REASON, {"id": "held"}),
    "POST /held-snapshots/{id}/reject/": Write(_REASON, {"id": "held"}),
    "POST /findings/{id}/acknowledge/": Write(_REASON, {"id": "finding"}),
    "POST /transfers/": Write(_TRANSFER),
    "POST /transfers/preview/": Write(_TRANSFER),
    "POST /transfers/{public_id}/approve/": Write(
        {"fingerprint": "{fingerprint}"}, {"public_id": "requested"}
    ),
    "POST /transfers/{public_id}/reject/": Write(_REASON, {"public_id": "requested"}),
    "POST /transfers/{public_id}/cancel/": Write(_REASON, {"public_id": "requested"}),
    "POST /transfers/{public_id}/undo/": Write(
        {"reason": "Too early.", "confirmation": "{confirmation}"}, {"public_id": "verified"}
    ),
    "POST /transfers/{public_id}/undo/preview/": Write({}, {"public_id": "verified"}),
    "POST /transfers/{public_id}/decide/": Write(
        {"decision": "keep_as_is", "reason": "Looked at."}, {"public_id": "undecided"}
    ),
    "POST /hand-overs/": Write(_HAND_OVER),
    "POST /hand-overs/preview/": Write(_HAND_OVER),
    "POST /hand-overs/{public_id}/approve/": Write(
        {"fingerprint": "{hand_over_fingerprint}"}, {"public_id": "asked_hand_over"}
    ),
    "POST /hand-overs/{public_id}/reject/": Write(_REASON, {"public_id": "asked_hand_over"}),
    "POST /hand-overs/{public_id}/cancel/": Write(_REASON, {"public_id": "hand_over"}),
    "POST /hand-overs/{public_id}/pause/": Write(_REASON, {"public_id": "hand_over"}),
    "POST /hand-overs/{public_id}/resume/": Write(_REASON, {"public_id": "paused_hand_over"}),
    "POST /hand-overs/{public_id}/next-wave/": Write(_REASON, {"public_id": "hand_over"}),
    "POST /loops/": Write({"owner": "red-cluster", "provider": "blue-zone", "is_enabled": False}),
    "PATCH /loops/{id}/": Write({"interval_seconds": 120}, {"id": "loop"}, "/loops/{id}/"),
    "PUT /loops/{id}/endpoints/": Write({"endpoints": [_ENDPOINT]}, {"id": "loop"}, "/loops/{id}/endpoints/"),
    "POST /loops/{id}/endpoints/": Write(_ENDPOINT, {"id": "loop"}),
    "DELETE /loops/{id}/endpoints/{endpoint_pk}/": Write(None, {"id": "loop", "endpoint_pk": "endpoint"}),
    "POST /loops/{id}/run/": Write({}, {"id": "loop"}),
    "POST /guard-endpoints/": Write(
        {"slug": "red", "provider": "blue-zone", "instance": "{instance}", "networks": ["192.0.2.0/24"]}
    ),
    "PATCH /guard-endpoints/{id}/": Write({"slug": "second"}, {"id": "guard"}, "/guard-endpoints/{id}/"),
    "POST /guard-endpoints/{id}/mode/": Write({"mode": "paused", **_REASON}, {"id": "guard"}),
    "POST /guard-endpoints/{id}/credential/": Write({"username": "red.cluster"}, {"id": "guard"}),
    "DELETE /guard-endpoints/{id}/credential/": Write(None, {"id": "guard"}),
    "POST /held-deletes/release/": Write({"ids": "{held_deletes}", **_REASON}),
    "POST /held-deletes/keep/": Write(
        {"guard_endpoint": "guarded", "name_suffix": "kept.example.org", "expected_count": 1, **_REASON}
    ),
    "DELETE /guard-endpoints/{id}/": Write(None, {"id": "guard"}, "/guard-endpoints/{id}/"),
    "POST /freezes/": Write({"provider": None, "reason": "Change freeze."}),
    "POST /freezes/{id}/lift/": Write(_REASON, {"id": "freeze"}),
    "DELETE /owners/{id}/": Write(None, {"id": "owner"}, "/owners/{id}/"),
    "DELETE /clusters/{id}/": Write(None, {"id": "cluster"}, "/clusters/{id}/"),
    "DELETE /registry-profiles/{id}/": Write(None, {"id": "profile"}, "/registry-profiles/{id}/"),
    "DELETE /providers/{id}/": Write(None, {"id": "spare"}, "/providers/{id}/"),
    "DELETE /loops/{id}/": Write(None, {"id": "loop"}, "/loops/{id}/"),
    "DELETE /freezes/{id}/": Write(None, {"id": "planned"}),
    "POST /saved-filters/": Write({"name": "mine", "list": "findings", "filters": {"kind": "conflict"}}),
    "PATCH /saved-filters/{id}/": Write({"name": "other"}, {"id": "saved"}, "/saved-filters/{id}/"),
    "DELETE /saved-filters/{id}/": Write(None, {"id": "saved"}, "/saved-filters/{id}/"),
    "POST /tokens/": Write({"name": "ci", "scopes": ["read"]}, by_person=True),
    "DELETE /tokens/{id}/": Write(None, {"id": "token"}),
}


def operations() -> dict[str, tuple[str, str]]:
    """Every operation of the document by method and short address."""
    return {
        f"{method.upper()} {path.removeprefix(API)}": (method, path)
        for path, methods in sorted(document()["paths"].items())
        for method in methods
    }


def send(world: BusyWorld, name: str, query: str = "", **headers: str) -> Any:
    """Send the example request of this operation."""
    method, path = operations()[name]
    write = WRITES.get(name, Write())
    filled = fill(world, path, write.ids)
    if write.version_at:
        shown = world.client.get(API + fill(world, write.version_at, write.ids))
        headers["If-Match"] = shown["ETag"]
    body = write.body if write.body is None else fill_body(world, write.body)
    return (world.browser if write.by_person else world.client).generic(
        method.upper(), filled, _encode(world, body), "application/json", QUERY_STRING=query, headers=headers
    )


def _encode(world: BusyWorld, body: dict[str, Any] | None) -> Any:
    return "" if body is None else world.client._encode_data(body, "json")[0]  # type: ignore[attr-defined]


def fill(world: BusyWorld, path: str, ids: dict[str, str]) -> str:
    """The address with the ids of the world; `1` where the world has none."""
    return re.sub(r"\{(\w+)\}", lambda found: str(world.ids.get(ids.get(found[1], ""), 1)), path)


def fill_body(world: BusyWorld, body: dict[str, Any]) -> dict[str, Any]:
    return {
        key: world.ids[value[1:-1]] if isinstance(value, str) and value.startswith("{") else value
        for key, value in body.items()
    }


@contextmanager
def open_busy_world() -> Iterator[BusyWorld]:
    """A provider with transfers in several states, and one of everything else."""
    root = make_administrator()
    with open_world(approval_policy=Provider.ApprovalPolicy.OTHER_PERSON) as world:
        ids: dict[str, Any] = {"provider": world.provider.pk}
        ids.update(_make_transfers(world.provider))
        ids.update(_make_rows(world.provider))
        ids.update(_make_hand_overs(world.provider))
        token, _ = make_token(root)
        ids["token"] = token.pk
        saved = SavedFilter.objects.create(
            user=root, list_name="owners", name="own", filters={"status": "registered"}
        )
        ids["saved"] = saved.pk
        world.reference.history.clear()
        client, browser = make_client(root), CheckingClient()
        browser.force_login(root)
        client.get(f"{API}/clusters/")  # when a token was last used is stored once a minute
        yield BusyWorld(world.reference, client, browser, ids)


def _make_transfers(provider: Provider) -> dict[str, Any]:
    bob = make_actor(make_administrator("bob"))
    requested, done, undecided = (
        request(bob, ask(selection=Selection(names=(f"app-0000{number}.example.org",))))
        for number in (1, 2, 3)
    )
    charlie = make_actor(make_administrator("charlie"))
    run_transfer(approve(charlie, done).pk)
    done.refresh_from_db()
    assert done.status == Transfer.Status.VERIFIED, done.status_reason
    approve(charlie, undecided)
    Transfer.objects.filter(pk=undecided.pk).update(status=Transfer.Status.NEEDS_OPERATOR)
    return {
        "requested": requested.public_id,
        "fingerprint": requested.plan_fingerprint,
        "verified": done.public_id,
        "confirmation": "undo 1 record set",
        "undecided": undecided.public_id,
    }


def _make_rows(provider: Provider) -> dict[str, Any]:
    now = timezone.now()
    red = register_owner("red-cluster")
    loop = Loop.objects.create(
        owner=register_owner("parked"), provider=provider, next_run_at=now + timedelta(hours=1)
    )
    other = make_provider("other-zone", url="http://127.0.0.1:8")
    run = SyncRun.objects.create(provider=other, epoch=1, trigger="schedule", started_at=now)
    held = HeldSnapshot.objects.create(
        provider=other, sync_run=run, body=b"[]", body_digest="d", created_at=now, last_seen_at=now
    )
    Provider.objects.filter(pk=other.pk).update(status=Provider.Status.HELD)
    frozen = other.freezes.create(reason="Moving.", starts_at=now, created_by="root", created_at=now)
    planned = other.freezes.create(
        reason="Later.", starts_at=now + timedelta(days=1), created_by="root", created_at=now
    )
    old = {"name": "old.example.org", "record_type": "A", "targets": ["192.0.2.8"]}
    endpoint = declare_endpoint(make_actor(make_administrator("dora")), loop.pk, old)
    return {
        "owner": red.pk,
        "instance": make_instance(red).pk,
        **_make_guarded(provider),
        "restored": _make_restored().pk,
        "loop": loop.pk,
        "endpoint": endpoint.pk,
        "cluster": make_cluster().pk,
        "profile": RegistryProfile.objects.create(name="own", prefix="own-").pk,
        "finding": make_finding(provider=provider).pk,
        "held": held.pk,
        "freeze": frozen.pk,
        "planned": planned.pk,
        "spare": make_provider("spare-zone", url="http://127.0.0.1:7").pk,
    }


def _make_hand_overs(provider: Provider) -> dict[str, Any]:
    """One that waits for an approval, one that runs and one that is paused, between guarded owners."""
    old, new = register_owner("old-cluster"), register_owner("new-cluster")
    for owner in (old, new):
        instance = set_instance(owner, provider=provider)
        make_guard_endpoint(instance, provider, slug=owner.owner_id, mode=GuardEndpoint.Mode.ENFORCE)
    for number in range(6):
        make_record_set(provider, f"moves-{number}.example.org", owner=old)
    frank = make_actor(make_administrator("frank"))
    rows = {key: _request_hand_over(frank, provider, old, new, *names) for key, names in _HANDED_OVER.items()}
    HandOver.objects.filter(pk=rows["hand_over"].pk).update(status=HandOver.Status.RUNNING)
    HandOver.objects.filter(pk=rows["paused_hand_over"].pk).update(status=HandOver.Status.PAUSED)
    ids = {key: row.public_id for key, row in rows.items()}
    return {**ids, "hand_over_fingerprint": rows["asked_hand_over"].fingerprint}


def _request_hand_over(actor: Actor, provider: Provider, old: Owner, new: Owner, *names: str) -> HandOver:
    request = HandOverRequest(
        provider=provider,
        from_owner=old,
        to_owner=new,
        ends_at=timezone.now() + timedelta(days=2),
        reason="It moves.",
        names=names,
        waves=Waves("number", 1),
    )
    return request_hand_over(actor, request)


def _make_guarded(provider: Provider) -> dict[str, Any]:
    """The guard endpoint of an instance that posted, with a credential; two of its deletes are held."""
    instance = make_instance(register_owner("guarded"))
    row = make_guard_endpoint(instance, provider, slug="guarded", username="guarded", password_hash="h")
    make_desired_set(row, "www.example.org")
    make_guard_decision(row)
    make_guard_step(row, "www.example.org")
    make_held_delete(row, "www.kept.example.org")
    return {"guard": row.pk, "held_deletes": [make_held_delete(row, "www.example.org").pk]}


def _make_restored() -> Provider:
    """It waits after a restore, and for another administrator to confirm a looser approval policy."""
    now, asker = timezone.now(), make_administrator("emil")
    restored = make_provider("restored-zone", url="http://127.0.0.1:6", approval_policy="other_person")
    moments = {"restored_at": now - timedelta(hours=1), "accepted_at": now}
    Provider.objects.filter(pk=restored.pk).update(**moments)
    ApprovalChange.objects.create(
        provider=restored,
        from_policy="other_person",
        to_policy="none",
        asked_by=asker,
        asked_by_issuer=asker,
        asked_by_name=asker.username,
        asked_at=now,
    )
    return restored
