"""A provider on loopback, its mirror, and `parked`, an owner that dnsadmin runs itself."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.utils import timezone

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES, Policy
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import Actor
from registry_app.loop.loop_request import LoopRequest, build_request, find_loop
from registry_app.loop.run_loop import run_request
from registry_app.models import DeclaredEndpoint, Loop, LoopRun, Owner, Provider
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import World, open_world, register_owner

PARKED = "parked"
WWW, API, OLD = "www.example.org", "api.example.org", "old.example.org"
SHELL = Actor(kind="command", name="alice (shell)")
# Somebody else's, and nobody's: what every zone here holds beside the rest.
BYSTANDERS = [
    make_record("shop.example.org"),
    make_claim("shop.example.org", owner="blue-cluster"),
    make_record("mail.example.org", targets=["192.0.2.25"]),
]


@contextmanager
def open_parking(zone: Sequence[Endpoint] = (), **values: Any) -> Iterator[World]:
    """A world with bystanders and `zone`, synced once, where `parked` is registered."""
    with open_world([*BYSTANDERS, *zone], **values) as world:
        register_owner(PARKED)
        yield world


def owned(name: str, *targets: str, record_type: str = "A") -> list[Endpoint]:
    """A record set of `parked` and its claim."""
    record = make_record(name, record_type, targets or ["192.0.2.1"])
    return [record, make_claim(name, record_type, owner=PARKED)]


def wanted(name: str, *targets: str, record_type: str = "A", ttl: int = 0) -> Endpoint:
    """An endpoint as a source gives it."""
    return Endpoint(dns_name=name, targets=targets or ("192.0.2.1",), record_type=record_type, record_ttl=ttl)


def make_request(world: World, desired: Iterable[Endpoint], **values: Any) -> LoopRequest:
    """What `parked` wants at this provider, on the word of a loop that is switched off."""
    owner = Owner.objects.get(owner_id=values.pop("owner_id", PARKED))
    provider = Provider.objects.get(pk=world.provider.pk)
    Loop.objects.get_or_create(owner=owner, provider=provider, defaults={"is_enabled": False})
    defaults: dict[str, Any] = {"policy": Policy.SYNC, "managed_types": DEFAULT_MANAGED_TYPES}
    return LoopRequest(owner, provider, tuple(desired), "a test", **{**defaults, **values})


def run(world: World, desired: Iterable[Endpoint], **values: Any) -> LoopRun:
    """One iteration of the loop, asked for by a person."""
    return run_request(make_request(world, desired, **values), actor=SHELL, trigger=LoopRun.Trigger.PERSON)


def declare(world: World, desired: Iterable[Endpoint], **values: Any) -> Loop:
    """The loop of `parked` with these endpoints declared, due now."""
    loop, _ = Loop.objects.update_or_create(
        owner=Owner.objects.get(owner_id=PARKED),
        provider=world.provider,
        defaults={"is_enabled": True, "next_run_at": None, **values},
    )
    DeclaredEndpoint.objects.filter(loop=loop).delete()
    for each in desired:
        DeclaredEndpoint.objects.create(
            loop=loop,
            name=each.dns_name,
            record_type=each.record_type,
            targets=list(each.targets),
            ttl=each.record_ttl,
        )
    return loop


def run_declared(loop: Loop, confirmation: str = "") -> LoopRun:
    """One iteration of a stored loop, asked for by a person."""
    request = build_request(find_loop(loop.pk), confirmation)
    return run_request(request, actor=SHELL, trigger=LoopRun.Trigger.PERSON)


def let_time_pass() -> None:
    """The lease of a dead worker is over, and what waits is due."""
    a_moment_ago = timezone.now() - timedelta(seconds=1)
    Provider.objects.filter(lease_until__isnull=False).update(lease_until=a_moment_ago)
    LoopRun.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=a_moment_ago)
    Loop.objects.filter(next_run_at__isnull=False).update(next_run_at=a_moment_ago)


def names_changed(change_set: ChangeSet) -> set[tuple[str, str]]:
    """Names and types of everything a change set touches."""
    lists = (change_set.create, change_set.update_old, change_set.update_new, change_set.delete)
    return {(each.dns_name, each.record_type) for every in lists for each in every}


def outcomes(run: LoopRun) -> dict[str, str]:
    """What became of each record set of a run, by name and type."""
    return {
        f"{item['name']} {item['record_type']}": item["outcome"]
        for step in run.steps.order_by("ordinal")
        for item in step.items
    }
