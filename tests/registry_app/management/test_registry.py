"""`dnsadmin_registry`: a ConfigMap registry outlives its cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import ConfigMapStore
from registry_app.actor import SYSTEM
from registry_app.inventory.freeze import freeze
from registry_app.models import AuditEntry, Provider, RegistryProfile
from registry_app.reconcile.lease import take_lease
from tests.factories import (
    make_administrator,
    make_cluster,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
)
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.reference_server import make_record
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db

BLUE = "blue-cluster"
HERITAGE = f"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/shop/www"
NAMES = [f"app-{number}.example.org" for number in range(5)]


@dataclass
class Clusters:
    """Two clusters: blue's registry is in the old one, and nothing is in the new one."""

    old: KubernetesApi
    new: KubernetesApi
    provider: Provider

    def claims(self, api: KubernetesApi) -> dict[str, str]:
        found = ConfigMapStore(api.calm_client(), NAMESPACE, 100).fetch_claims()
        return {claim.key.name: claim.text for claim in found}


@pytest.fixture
def clusters() -> Iterator[Clusters]:
    make_administrator("alice")
    make_user("bob")
    with KubernetesApi() as old, KubernetesApi() as new:
        store = ConfigMapStore(old.calm_client(), NAMESPACE, 100)
        store.write([StoredClaimChange(make_record(name), None, HERITAGE) for name in NAMES])
        provider = make_provider()
        for name, api in (("old", old), ("new", new)):
            cluster = make_cluster(name, api_url=api.url, token=api.token)
            profile = RegistryProfile.objects.create(
                name=name, kind="configmap", cluster=cluster, namespace=NAMESPACE
            )
            profile.providers.set([provider])
        yield Clusters(old, new, provider)


def export(path: Path, *more: str) -> tuple[int, str]:
    asked = ("--profile", "old", "--owner", BLUE, "--file", str(path))
    return run_command("dnsadmin_registry", "export", *asked, *(more or ("--as", "alice")))


def restore(path: Path, *more: str) -> tuple[int, str]:
    asked = ("--profile", "new", "--file", str(path))
    return run_command("dnsadmin_registry", "restore", *asked, *(more or ("--as", "alice")))


def test_a_registry_is_taken_out_of_one_cluster_and_brought_into_another(
    clusters: Clusters, tmp_path: Path
) -> None:
    path = tmp_path / "blue.json"

    taken, brought = export(path), restore(path)

    assert (taken[0], brought[0]) == (0, 0)
    assert clusters.claims(clusters.new) == clusters.claims(clusters.old) == dict.fromkeys(NAMES, HERITAGE)
    entry = AuditEntry.objects.get(action="registry_profile.restoring")
    assert (entry.actor_name, entry.after) == (
        "alice",
        {"owner_id": BLUE, "rows": 5, "intents": 0, "left_out": 0},
    )


def test_what_was_moved_to_another_owner_since_is_not_claimed_again(
    clusters: Clusters, tmp_path: Path
) -> None:
    path = tmp_path / "blue.json"
    export(path)
    blue, green = make_owner(BLUE), make_owner("green-cluster")
    make_record_set(clusters.provider, NAMES[0], owner=green)
    make_record_set(clusters.provider, NAMES[1], owner=blue)
    make_record_set(clusters.provider, NAMES[2])
    make_record_set(make_provider("green-zone"), NAMES[3], owner=green)

    code, text = restore(path)

    assert (code, clusters.claims(clusters.new)) == (0, dict.fromkeys(NAMES[1:], HERITAGE))
    assert "rows 4, left_out 1" in text


def test_a_file_that_is_there_is_not_written_over(clusters: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "blue.json"
    path.write_text("mine")

    code, text = export(path)

    assert (code, path.read_text()) == (1, "mine")
    assert "cannot be written" in text


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"kind": "configmap-registry"}', b"[" * 100_000])
def test_a_file_that_no_export_wrote_changes_nothing(
    clusters: Clusters, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "blue.json"
    path.write_bytes(content)

    code, text = restore(path)

    assert code == 1, text
    assert "no export" in text or "cannot be read" in text
    assert clusters.claims(clusters.new) == {}
    assert not clusters.new.writes()


def test_a_document_that_somebody_edited_is_refused(clusters: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "blue.json"
    export(path)
    path.write_bytes(path.read_bytes().replace(b"app-3", b"app-9"))

    code, text = restore(path)

    assert (code, clusters.claims(clusters.new)) == (1, {})
    assert "digest" in text


def test_who_may_not_changes_nothing(clusters: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "blue.json"
    export(path)

    codes = [export(tmp_path / "bobs.json", "--as", "bob")[0], restore(path, "--as", "bob")[0]]

    assert codes == [1, 1]
    assert not (tmp_path / "bobs.json").exists()
    assert clusters.claims(clusters.new) == {}


def test_in_a_freeze_or_beside_a_sync_nothing_is_brought_back(clusters: Clusters, tmp_path: Path) -> None:
    path = tmp_path / "blue.json"
    export(path)
    lease = take_lease(clusters.provider.pk, "a sync")

    busy = restore(path)
    freeze(SYSTEM, provider_id=None, reason="Moving house.")
    frozen = restore(path)

    assert lease is not None
    assert (busy[0], frozen[0]) == (1, 3)
    assert clusters.claims(clusters.new) == {}


def test_an_answer_that_was_lost_says_that_some_may_be_written_and_doing_it_again_completes_it(
    clusters: Clusters, tmp_path: Path
) -> None:
    path = tmp_path / "blue.json"
    export(path)
    clusters.new.faults.plan("create /configmaps", faults.applied_then_reset())

    lost, again = restore(path), restore(path)

    assert (lost[0], again[0]) == (1, 0)
    assert "may have been written" in lost[1]
    assert clusters.claims(clusters.new) == dict.fromkeys(NAMES, HERITAGE)


def test_an_owner_without_a_registry_is_told(clusters: Clusters, tmp_path: Path) -> None:
    code, document = run_json(
        "dnsadmin_registry",
        "export",
        *("--profile", "new", "--owner", BLUE, "--as", "alice", "--file", str(tmp_path / "blue.json")),
    )

    assert code == 1
    assert document["error"]["code"] == "no_registry"
