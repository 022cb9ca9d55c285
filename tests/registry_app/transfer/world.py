"""One provider on loopback, its mirror, and the people who move ownership there."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import msgspec
from django.contrib.auth.models import Group, User

from providers.backends.memory import ApplyMode
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_change_set_strict
from registry_app.actor import SYSTEM, Actor
from registry_app.inventory.owner import INSTANCE_FIELDS
from registry_app.models import Grant, Owner, Provider, RecordSet, SyncRun, Transfer
from registry_app.reconcile.sync import sync_provider
from registry_app.transfer.decisions import approve_transfer
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest
from registry_app.transfer.request_transfer import UndoRequest, preview_undo, request_transfer, request_undo
from tests.factories import make_provider, make_user, set_instance
from tests.reference_server import ReferenceProvider, make_zone

BLUE, GREEN = "blue-cluster", "green-cluster"
_NO_LIMITS: dict[str, Any] = {
    "max_transfer_count": 100_000,
    "max_transfer_percent": 100,
    "read_back_seconds": 0,
    "deadline_seconds": 2,
    "approval_policy": Provider.ApprovalPolicy.NONE,
}


@dataclass
class World:
    """A provider that speaks HTTP, its row, and its mirror as of the last sync."""

    reference: ReferenceProvider
    provider: Provider

    def sync(self) -> None:
        """Bring the mirror up to date, due or not."""
        run = sync_provider(self.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
        assert run is not None
        assert run.status in (SyncRun.Status.STORED, SyncRun.Status.UNCHANGED), run.error
        self.provider.refresh_from_db()

    def change_sets(self) -> list[ChangeSet]:
        """Every change set the provider was sent, in order."""
        return [
            decode_change_set_strict(entry.body, max_items=100_000)
            for entry in self.reference.history.requests("POST /records")
        ]

    def owner_of(self, name: str, record_type: str = "A") -> str:
        """What the mirror says: the owner id, or the state where there is none."""
        row = RecordSet.objects.get(provider=self.provider, name=name, record_type=record_type)
        return row.owner.owner_id if row.owner else row.state

    def zone(self) -> dict[tuple[str, str], Endpoint]:
        return {(each.dns_name, each.record_type): each for each in self.reference.endpoints()}

    def claim_text(self, txt_name: str) -> str:
        return self.zone()[txt_name, "TXT"].targets[0]


@contextmanager
def open_world(
    endpoints: Iterable[Endpoint] | None = None,
    *,
    mode: ApplyMode = ApplyMode.ATOMIC,
    reads_until_visible: int = 0,
    name: str = "blue-zone",
    reference_type: type[ReferenceProvider] = ReferenceProvider,
    **values: Any,
) -> Iterator[World]:
    """A world whose provider was synced once; ten record sets of blue-cluster unless said otherwise."""
    zone = make_zone(BLUE, 10) if endpoints is None else list(endpoints)
    with reference_type(zone, mode=mode, reads_until_visible=reads_until_visible) as reference:
        yield enter_world(reference, name, **values)


def enter_world(
    reference: ReferenceProvider,
    name: str,
    *,
    prepare: Callable[[Provider], object] = lambda _: None,
    **values: Any,
) -> World:
    """A world around a provider that serves already, synced once. `prepare` may say more of it before."""
    provider = make_provider(name, url=reference.url, **{**_NO_LIMITS, **values})
    for owner_id in (BLUE, GREEN):
        register_owner(owner_id)
    prepare(provider)
    world = World(reference, provider)
    world.sync()
    reference.history.clear()
    return world


def register_owner(owner_id: str, **values: Any) -> Owner:
    """An owner, whatever was known of it; what the values say of an instance its only one says."""
    own = {name: value for name, value in values.items() if name not in INSTANCE_FIELDS}
    owner, _ = Owner.objects.update_or_create(
        owner_id=owner_id, defaults={"status": Owner.Status.REGISTERED, **own}
    )
    if own != values:
        set_instance(owner, **{name: values[name] for name in values if name in INSTANCE_FIELDS})
    return owner


def make_actor(user: User, **values: Any) -> Actor:
    """A person who is signed in."""
    return Actor(kind="user", name=user.username, user_id=user.pk, is_superuser=user.is_superuser, **values)


def make_person(username: str, *actions: Grant.Action, owner: Owner | None = None) -> Actor:
    """A person whose group has grants for `actions`, of one owner or of all."""
    user = User.objects.filter(username=username).first() or make_user(username)
    group, _ = Group.objects.get_or_create(name=f"people like {username}")
    user.groups.add(group)
    for action in actions:
        Grant.objects.create(group=group, action=action, owner=owner)
    return make_actor(user)


def make_alice() -> Actor:
    """Who may request and operate everything."""
    return make_person("alice", Grant.Action.REQUEST, Grant.Action.OPERATE)


def make_bob() -> Actor:
    """Who may approve everything."""
    return make_person("bob", Grant.Action.APPROVE)


def ask(kind: str = "transfer", selection: Selection | None = None, **values: Any) -> TransferRequest:
    """A request to move all that blue-cluster has to green-cluster, which wants it, unless said otherwise."""
    defaults: dict[str, Any] = {"reason": "The shop moves.", "target_intent": Transfer.TargetIntent.SAME}
    if kind in ("transfer", "adopt"):
        defaults["target_owner_id"] = GREEN
    return TransferRequest(
        kind=kind, selection=selection or Selection(owner_id=BLUE), **{**defaults, **values}
    )


def plan(actor: Actor, request: TransferRequest) -> ProviderPlan:
    """The plan of a request that is about one provider."""
    (only,) = preview_transfer(actor, request)
    return only


def request(actor: Actor, asked: TransferRequest) -> Transfer:
    """The transfer of a request that is about one provider, by somebody who saw its plan."""
    (only,) = request_reviewed(actor, asked)
    return only


def request_reviewed(actor: Actor, asked: TransferRequest) -> list[Transfer]:
    """The transfers of a request by somebody who saw its plans."""
    seen = {each.provider.pk: each.fingerprint for each in preview_transfer(actor, asked)}
    return request_transfer(actor, replace(asked, fingerprints=asked.fingerprints or seen))


def undo_reviewed(actor: Actor, public_id: UUID, **values: Any) -> Transfer:
    """The undo of a transfer by somebody who saw its plan; `values` are those of an UndoRequest."""
    intent = values.get("target_intent", Transfer.TargetIntent.UNKNOWN)
    seen = preview_undo(actor, public_id, target_intent=intent)
    return request_undo(actor, public_id, UndoRequest(**{"fingerprint": seen.fingerprint, **values}))


def approve(actor: Actor, transfer: Transfer) -> Transfer:
    return approve_transfer(actor, transfer.public_id, fingerprint=transfer.plan_fingerprint)


def owners(world: World) -> Counter[str]:
    """How many claims in the zone name whom."""
    texts = [each.targets[0] for each in world.reference.endpoints() if each.record_type == "TXT"]
    return Counter(text.split("owner=")[1].split(",")[0].strip('"') for text in texts)


def rewrite(world: World, name: str, record_type: str, target: str) -> None:
    """Somebody beside us changes an endpoint."""
    old = world.zone()[name, record_type]
    new = msgspec.structs.replace(old, targets=(target,))
    world.reference.backend.apply(ChangeSet(update_old=(old,), update_new=(new,)))
