"""Testing where claims are kept: asked once, told in words, and nothing is changed."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import Client

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import NotAllowed
from registry_app.inventory.cluster import probe_cluster
from registry_app.inventory.registry_profile import probe_registry
from registry_app.models import Cluster, RegistryProfile
from tests.factories import make_administrator, make_cluster, make_provider
from tests.kubernetes_api.server import KubernetesApi
from tests.reference_server import make_record
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.stored_registries import open_registry

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.deep]

BLUE = "blue-cluster"
BOB = Actor(kind="user", name="bob", user_id=4711)
RECORDS = [make_record("www.example.org"), make_record("api.example.org")]


@contextmanager
def open_profile(kind: str) -> Iterator[RegistryProfile]:
    """A profile whose store holds two claims of blue's."""
    with RecordingProvider(RECORDS) as reference, open_registry(kind, reference) as registry:
        for record in RECORDS:
            registry.put(record, BLUE)
        profile = registry.profile(make_provider(url=reference.url))
        assert profile is not None
        yield profile


@pytest.mark.parametrize("kind", ["configmap", "crd", "database", "dynamodb", "aws-sd"])
def test_the_claims_of_a_store_are_counted_by_owner(kind: str) -> None:
    with open_profile(kind) as profile:
        report = probe_registry(SYSTEM, profile.pk)

    assert (report.error, report.claim_count, report.problem_count) == ("", 2, 0)
    assert report.owners == ((BLUE, 2),)


@pytest.mark.parametrize("kind", ["configmap", "crd", "dynamodb"])
def test_wrong_credentials_are_told_with_a_way_out_and_without_a_secret(kind: str) -> None:
    secret = "not-the-right-one"
    with open_profile(kind) as profile:
        Cluster.objects.update(token=secret)
        RegistryProfile.objects.update(secret_access_key=secret)

        report = probe_registry(SYSTEM, profile.pk)

    assert report.error
    assert report.hint
    assert secret not in f"{report}"


def test_who_may_not_is_told_nothing() -> None:
    with open_profile("crd") as profile, pytest.raises(NotAllowed):
        probe_registry(BOB, profile.pk)
    with pytest.raises(NotAllowed):
        probe_cluster(BOB, make_cluster("other").pk)


def test_a_cluster_says_its_version() -> None:
    with KubernetesApi() as api:
        cluster = make_cluster(api_url=api.url, token=api.token)

        report = probe_cluster(SYSTEM, cluster.pk)

    assert (report.error, report.version[:2]) == ("", "v1")


def test_a_cluster_that_is_not_there_is_told() -> None:
    with KubernetesApi() as api:
        cluster = make_cluster(api_url=api.url, token=api.token)

    report = probe_cluster(SYSTEM, cluster.pk)

    assert report.error_code == "connection_refused"
    assert api.token not in f"{report}"


def test_a_reference_that_leads_nowhere_is_told() -> None:
    cluster = make_cluster(api_url="http://127.0.0.1:1", token="env:NOT_OURS")

    report = probe_cluster(SYSTEM, cluster.pk)

    assert report.error_code == "secret_unavailable"


def test_the_buttons_show_what_was_found(client: Client) -> None:
    client.force_login(make_administrator())
    with open_profile("configmap") as profile:
        registry = client.post(f"/admin/registry_app/registryprofile/{profile.pk}/test/").content.decode()
        cluster = client.post(f"/admin/registry_app/cluster/{profile.cluster_id}/test/").content.decode()

    assert "blue-cluster (2)" in registry
    assert "Kubernetes" in cluster
    assert "Nothing was changed." in registry
