"""Configuration can be deleted while nothing depends on it; finished history keeps the names."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import LeaseLost, NotAllowed, NotFound, RefusedBySafety, StateMoved
from registry_app.inventory.cluster import delete_cluster
from registry_app.inventory.loop import delete_loop
from registry_app.inventory.owner import delete_owner
from registry_app.inventory.provider import delete_provider
from registry_app.inventory.registry_profile import delete_registry_profile
from registry_app.models import (
    ApiToken,
    AuditEntry,
    Cluster,
    DeclaredEndpoint,
    Grant,
    Loop,
    LoopRun,
    Owner,
    Provider,
    RecordSet,
    RegistryProfile,
    Transfer,
)
from registry_app.reconcile.lease import Lease, raise_if_lost, take_lease
from registry_app.reconcile.purge_history import purge_deleted_providers
from tests.factories import (
    make_administrator,
    make_cluster,
    make_finding,
    make_owner,
    make_provider,
    make_record_set,
)
from tests.registry_app.admin.world import make_team

pytestmark = pytest.mark.django_db


def _transfer(provider: Provider, source: Owner, target: Owner, status: str) -> Transfer:
    return Transfer.objects.create(
        kind=Transfer.Kind.TRANSFER,
        provider=provider,
        source_owner=source,
        target_owner=target,
        status=status,
        reason="The team moves.",
        plan_fingerprint="f",
        approved_fingerprint="f",
        approval_policy=Provider.ApprovalPolicy.NONE,
        requested_by_name="alice",
        expires_at=timezone.now() + timedelta(days=1),
    )


def _run(loop: Loop, status: str) -> LoopRun:
    return LoopRun.objects.create(
        loop=loop,
        owner=loop.owner,
        provider=loop.provider,
        trigger=LoopRun.Trigger.SCHEDULE,
        policy=loop.policy,
        source="declared",
        status=status,
        epoch=1,
        started_at=timezone.now(),
    )


def test_a_mistyped_provider_goes_with_its_mirror_and_its_name_is_free_again() -> None:
    provider = make_provider("blue-zone", secret="s3cr3t", username="bob", url_query="token=1")
    make_record_set(provider)
    make_finding(provider=provider)

    delete_provider(SYSTEM, provider.pk)
    purge_deleted_providers()
    again = make_provider("blue-zone")

    assert list(Provider.objects.all()) == [again]
    assert not RecordSet.objects.exists()
    left = Provider.with_deleted.get(pk=provider.pk)
    assert (left.secret, left.url_query, left.username, left.is_enabled) == ("", "", "", False)
    entry = AuditEntry.objects.get(action="provider.deleted")
    assert entry.before is not None
    assert (entry.before["url"], entry.before["secret"]) == (provider.url, "set")


def test_purging_a_deleted_provider_touches_no_other() -> None:
    gone, kept = make_provider("gone"), make_provider("kept")
    for provider in (gone, kept):
        make_record_set(provider)
        make_finding(provider=provider)

    delete_provider(SYSTEM, gone.pk)

    assert purge_deleted_providers() == 2
    assert RecordSet.objects.get().provider == kept
    assert purge_deleted_providers() == 0


def test_finished_history_keeps_the_names_of_what_was_deleted() -> None:
    provider, blue, green = (
        make_provider("blue-zone"),
        make_owner("blue-cluster"),
        make_owner("green-cluster"),
    )
    transfer = _transfer(provider, blue, green, Transfer.Status.VERIFIED)
    loop = Loop.objects.create(owner=blue, provider=provider)
    run = _run(loop, LoopRun.Status.VERIFIED)

    delete_loop(SYSTEM, loop.pk)
    delete_provider(SYSTEM, provider.pk)
    delete_owner(SYSTEM, blue.pk)

    kept = Transfer.objects.get(pk=transfer.pk)
    assert (kept.provider.name, str(kept.source_owner)) == ("blue-zone", "blue-cluster")
    assert str(LoopRun.objects.get(pk=run.pk).owner) == "blue-cluster"


@pytest.mark.parametrize("status", Transfer.OPEN_STATUSES)
def test_an_unfinished_transfer_keeps_its_provider_and_both_owners(status: str) -> None:
    provider, blue, green = make_provider(), make_owner("blue-cluster"), make_owner("green-cluster")
    transfer = _transfer(provider, blue, green, status)

    for delete, row in ((delete_provider, provider), (delete_owner, blue), (delete_owner, green)):
        with pytest.raises(RefusedBySafety, match=f"unfinished transfer {transfer}") as caught:
            delete(SYSTEM, row.pk)
        assert caught.value.code == "in_use"

    assert Provider.objects.exists()
    assert Owner.objects.count() == 2
    assert not AuditEntry.objects.exists()


def test_what_uses_a_row_is_named() -> None:
    provider, cluster = make_provider(), make_cluster("blue")
    profile = RegistryProfile.objects.create(name="blue-txt")
    profile.providers.add(provider)
    owner = make_owner("blue-cluster", cluster=cluster, registry_profile=profile)
    make_record_set(provider, owner=owner)
    loop = Loop.objects.create(owner=owner, provider=provider)
    _run(loop, LoopRun.Status.RUNNING)

    cases = (
        (delete_provider, provider, ("loop Loop of blue-cluster", "registry profile blue-txt")),
        (delete_owner, owner, ("1 record set in the mirror", "loop Loop of blue-cluster")),
        (delete_registry_profile, profile, ("blue-cluster",)),
        (delete_cluster, cluster, ("blue-cluster",)),
        (delete_loop, loop, ("unfinished loop run",)),
    )
    for delete, row, names in cases:
        with pytest.raises(RefusedBySafety) as caught:
            delete(SYSTEM, row.pk)
        assert all(name in str(caught.value) for name in names), str(caught.value)


def test_an_owner_that_a_token_is_restricted_to_stays_until_the_token_is_revoked() -> None:
    owner = make_owner()
    token = ApiToken.objects.create(public_id="p", secret_hash="h", name="deploy", user=make_administrator())
    token.owners.add(owner)

    with pytest.raises(RefusedBySafety, match="API token deploy"):
        delete_owner(SYSTEM, owner.pk)
    ApiToken.objects.update(revoked_at=timezone.now())
    delete_owner(SYSTEM, owner.pk)

    assert not Owner.objects.exists()


def test_a_grant_for_a_deleted_row_goes_with_it_and_reaches_nothing_else() -> None:
    team = make_team("team-blue")
    provider, owner = make_provider(), make_owner()
    Grant.objects.create(group=team, action=Grant.Action.REQUEST, provider=provider)
    Grant.objects.create(group=team, action=Grant.Action.REQUEST, owner=owner)

    delete_provider(SYSTEM, provider.pk)
    delete_owner(SYSTEM, owner.pk)

    assert not Grant.objects.exists()


def test_a_sync_under_way_stores_nothing_of_a_deleted_provider() -> None:
    provider = make_provider()
    lease = take_lease(provider.pk, "worker")
    assert isinstance(lease, Lease)

    delete_provider(SYSTEM, provider.pk)

    with pytest.raises(LeaseLost):
        raise_if_lost(lease)
    assert take_lease(provider.pk, "another") is None


def test_a_cluster_can_go_after_the_registry_profile_that_was_in_it() -> None:
    cluster = make_cluster("blue")
    profile = RegistryProfile.objects.create(
        name="maps", kind="configmap", cluster=cluster, namespace="dns", store_place="x"
    )

    delete_registry_profile(SYSTEM, profile.pk)
    delete_cluster(SYSTEM, cluster.pk)

    assert not Cluster.objects.exists()
    assert RegistryProfile.with_deleted.get(pk=profile.pk).store_place == ""


def test_deleting_a_loop_deletes_what_was_declared_and_keeps_the_record_sets() -> None:
    provider, owner = make_provider(), make_owner()
    loop = Loop.objects.create(owner=owner, provider=provider)
    DeclaredEndpoint.objects.create(loop=loop, name="www.example.org", record_type="A", targets=["192.0.2.1"])
    make_record_set(provider, owner=owner)

    delete_loop(SYSTEM, loop.pk)

    assert not DeclaredEndpoint.objects.exists()
    assert RecordSet.objects.exists()


def test_of_two_deletions_and_a_change_one_wins() -> None:
    provider = make_provider()
    read_at = provider.updated_at
    Provider.objects.filter(pk=provider.pk).update(updated_at=timezone.now())

    with pytest.raises(StateMoved):
        delete_provider(SYSTEM, provider.pk, expected_updated_at=read_at)
    delete_provider(SYSTEM, provider.pk)
    with pytest.raises(NotFound):
        delete_provider(SYSTEM, provider.pk)


def test_only_an_administrator_deletes() -> None:
    provider = make_provider()

    with pytest.raises(NotAllowed):
        delete_provider(Actor(kind="user", name="bob", user_id=1), provider.pk)

    assert Provider.objects.get() == provider
