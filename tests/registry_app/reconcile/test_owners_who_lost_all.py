"""One owner's claims gone from a registry store that others still speak in: not believed while its record
sets stand, however few they are beside the others'."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.models import HeldSnapshot, LoopRun, Provider, SyncRun, Transfer
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.transfer.send.run_transfer import run_transfer
from tests.kubernetes_api.server import KubernetesApi
from tests.reference_server import make_claim, make_record
from tests.registry_app.loop.world import run, wanted
from tests.registry_app.reconcile.syncing import mirrored, sync
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.stored_registries import (
    ConfigMapRegistry,
    DynamoDbRegistry,
    KubernetesRegistry,
    open_registry,
)
from tests.registry_app.transfer.world import World, ask, enter_world, make_alice, register_owner, request

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

BLUE, GREEN = "blue-cluster", "green-cluster"
KINDS = ["configmap", "crd", "dynamodb"]
GREENS = [make_record(f"app-{number:02}.example.org") for number in range(26)]
# Too few beside green's for any rule of shares.
BLUES = [make_record(f"job-{number:02}.example.org") for number in range(11)]


@dataclass
class Shared:
    """A store in which green claims 26 record sets and blue eleven."""

    world: World
    reference: RecordingProvider
    registry: DynamoDbRegistry | KubernetesRegistry

    @property
    def provider(self) -> Provider:
        return self.world.provider

    def lose(self, records: Sequence[Endpoint]) -> None:
        """Blue's claims are deleted behind everybody's back."""
        self.registry.remove(*records)

    def drop(self, records: Sequence[Endpoint]) -> None:
        self.reference.backend.apply(ChangeSet(delete=tuple(records)))

    def owners(self) -> set[str | None]:
        """Whose the record sets are that were blue's."""
        rows = mirrored(self.provider)
        return {row[5] for row in rows if row[0].startswith("job-") and row[1] == "A" and not row[-1]}

    def reasons(self) -> dict[str, str]:
        """Why what was seen last was not believed, by code."""
        return {each["code"]: each["text"] for each in HeldSnapshot.objects.get(status="open").reasons}


@contextmanager
def open_shared(kind: str, *more: Endpoint) -> Iterator[Shared]:
    with (
        RecordingProvider([*GREENS, *BLUES, *more]) as reference,
        open_registry(kind, reference) as registry,
    ):
        assert isinstance(registry, (DynamoDbRegistry, KubernetesRegistry))
        registry.put_all(GREENS, GREEN)
        registry.put_all(BLUES, BLUE)

        def register(provider: Provider) -> None:
            for owner in (BLUE, GREEN):
                register_owner(owner, registry_profile=registry.profile(provider))

        yield Shared(enter_world(reference, "shared-zone", prepare=register), reference, registry)


@pytest.mark.parametrize("kind", KINDS)
def test_that_all_claims_of_one_owner_are_gone_waits_for_a_person(kind: str) -> None:
    with open_shared(kind) as shared:
        shared.lose(BLUES)

        held = sync(shared.provider)
        reasons, owners = shared.reasons(), shared.owners()
        accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="Blue is gone.")
        stored = sync(shared.provider)

        assert held.status == SyncRun.Status.HELD
        assert list(reasons) == ["store_emptied"]
        gone = f"Gone: all 11 claims of {BLUE} in the {kind} registry. 11 record sets"
        assert reasons["store_emptied"].startswith(gone)
        assert owners == {BLUE}
        assert (stored.status, shared.owners()) == (SyncRun.Status.STORED, {None})


def test_a_configmap_that_was_deleted_whole_waits_for_a_person() -> None:
    with KubernetesApi() as api, RecordingProvider([*GREENS, *BLUES]) as reference:
        registry = ConfigMapRegistry(api)
        registry.put_all(GREENS, GREEN)
        registry.put(BLUES[0], BLUE)
        world = enter_world(reference, "shared-zone", prepare=registry.profile)
        api.delete_object("configmaps", f"{BLUE}-storage")

        held = sync(world.provider)

        (reason,) = HeldSnapshot.objects.get().reasons
        assert held.status == SyncRun.Status.HELD
        assert reason["code"] == "store_emptied"
        assert f"the one claim of {BLUE} in the configmap registry. 1 record set that" in reason["text"]
        assert world.owner_of(BLUES[0].dns_name) == BLUE


def test_a_deletion_under_way_is_not_believed_either() -> None:
    with open_shared("crd") as shared:
        shared.lose(BLUES[:4])

        held = sync(shared.provider)

        assert held.status == SyncRun.Status.HELD
        assert list(shared.reasons()) == ["store_shrunk"]
        assert f"4 of the 11 claims of {BLUE} in the crd registry" in shared.reasons()["store_shrunk"]
        assert shared.owners() == {BLUE}


def test_what_came_back_clears_it() -> None:
    with open_shared("configmap") as shared:
        shared.lose(BLUES)
        sync(shared.provider)
        shared.registry.put_all(BLUES, BLUE)

        cleared = sync(shared.provider)

        assert cleared.status in (SyncRun.Status.STORED, SyncRun.Status.UNCHANGED)
        assert HeldSnapshot.objects.get().status == HeldSnapshot.Status.CLEARED


def test_an_owner_may_release_a_few() -> None:
    with open_shared("crd") as shared:
        shared.lose(BLUES[:3])

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        assert shared.owners() == {BLUE, None}


@pytest.mark.parametrize("kind", KINDS)
def test_an_owner_may_clean_up_all_it_had(kind: str) -> None:
    with open_shared(kind) as shared:
        shared.drop(BLUES)
        shared.lose(BLUES)

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        assert shared.owners() == set()


def test_a_clean_up_hides_no_loss() -> None:
    with open_shared("dynamodb") as shared:
        shared.drop(BLUES[:9])
        shared.lose(BLUES)

        held = sync(shared.provider)

        assert held.status == SyncRun.Status.HELD
        assert f"all 2 claims of {BLUE}" in shared.reasons()["store_emptied"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_of_all_that_was_reviewed_here_is_no_loss(kind: str) -> None:
    alice = make_alice()
    with open_shared(kind) as shared:
        asked = ask("release")
        transfer = request(alice, asked)
        run_transfer(transfer.pk)

        again = sync(shared.provider)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert again.status in (SyncRun.Status.STORED, SyncRun.Status.UNCHANGED)
        assert shared.owners() == {None}


def test_what_another_tool_gave_to_somebody_is_no_loss() -> None:
    with open_shared("crd") as shared:
        for each in BLUES:
            shared.registry.rewrite(each, GREEN)

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        assert shared.owners() == {GREEN}


def test_what_its_owner_claims_in_the_zone_too_is_no_loss() -> None:
    with open_shared("dynamodb", *[make_claim(each.dns_name, owner=BLUE) for each in BLUES]) as shared:
        shared.lose(BLUES)

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        assert shared.owners() == {BLUE}


def test_claims_that_nobody_can_read_any_more_make_their_owner_unknown_and_are_no_loss() -> None:
    with open_shared("dynamodb") as shared:
        shared.registry.put_all(BLUES, "blue=cluster")

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        states = {row[4] for row in mirrored(shared.provider) if row[0].startswith("job-")}
        assert states == {"unknown"}


def test_claims_that_nobody_could_read_are_not_believed_to_be_gone_either() -> None:
    with open_shared("dynamodb") as shared:
        shared.registry.put_all(BLUES, "blue=cluster")
        sync(shared.provider)
        shared.lose(BLUES)

        held = sync(shared.provider)

        assert held.status == SyncRun.Status.HELD
        assert "all 11 claims of owners that cannot be read" in shared.reasons()["store_emptied"]
        assert {row[4] for row in mirrored(shared.provider) if row[0].startswith("job-")} == {"unknown"}


def test_an_intent_that_its_owner_drops_is_no_loss_though_somebody_else_made_the_record_set() -> None:
    late = make_record("late.example.org")
    with open_shared("dynamodb") as shared:
        shared.registry.put(late, "red-cluster")
        sync(shared.provider)
        shared.registry.remove(late)
        shared.reference.backend.apply(ChangeSet(create=(late,)))

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        assert shared.world.owner_of(late.dns_name) == "unmanaged"


def test_a_conflict_that_ends_for_the_owner_who_moved_to_the_zone_is_no_loss() -> None:
    greens = [make_claim(each.dns_name, owner=GREEN) for each in BLUES]
    with open_shared("dynamodb", *greens) as shared:
        blues = tuple(make_claim(each.dns_name, owner=BLUE) for each in BLUES)
        shared.reference.backend.apply(ChangeSet(update_old=tuple(greens), update_new=blues))
        shared.lose(BLUES)

        stored = sync(shared.provider)

        assert stored.status == SyncRun.Status.STORED
        assert shared.owners() == {BLUE}


def test_a_conflict_does_not_end_because_one_side_lost_all() -> None:
    with open_shared("dynamodb", *[make_claim(each.dns_name, owner=GREEN) for each in BLUES]) as shared:
        before = shared.owners()
        shared.lose(BLUES)

        held = sync(shared.provider)

        assert held.status == SyncRun.Status.HELD
        assert list(shared.reasons()) == ["store_emptied"]
        assert shared.owners() == before == {None}


def _lose_blues(shared: Shared) -> None:
    shared.lose(BLUES)


def _lose_more(shared: Shared) -> None:
    shared.lose(BLUES[1:])


@pytest.mark.parametrize("lose", [_lose_blues, _lose_more])
def test_what_is_lost_after_a_person_accepted_less_is_held_again(lose: Callable[[Shared], None]) -> None:
    with open_shared("dynamodb") as shared:
        shared.drop(GREENS[:20])
        sync(shared.provider)
        accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="Green shrinks.")
        lose(shared)

        held = sync(shared.provider)

        assert held.status == SyncRun.Status.HELD
        assert {"store_emptied", "store_shrunk"} & shared.reasons().keys()
        assert shared.owners() == {BLUE}


def test_a_loop_plans_nothing_over_a_store_in_which_an_owner_lost_all() -> None:
    with open_shared("crd") as shared:
        register_owner("parked")
        shared.lose(BLUES)

        ended = run(shared.world, [wanted("new.example.org")])

        assert ended.status == LoopRun.Status.FAILED
        assert f"all 11 claims of {BLUE}" in ended.reason
        assert shared.world.change_sets() == []
