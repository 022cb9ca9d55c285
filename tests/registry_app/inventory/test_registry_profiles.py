"""Registry profiles and clusters say where claims are kept; what cannot be is refused with the field."""

import pytest
from django.db.models import ProtectedError

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest
from registry_app.inventory.change_cluster import change_cluster
from registry_app.inventory.change_registry_profile import change_registry_profile
from registry_app.inventory.register_cluster import register_cluster
from registry_app.inventory.register_registry_profile import register_registry_profile
from registry_app.models import AuditEntry, Cluster, Provider, RegistryProfile
from tests.factories import make_cluster, make_provider

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t-of-the-table"
API = "https://k8s.example.org:6443"


def register_table(provider: Provider, **values: object) -> RegistryProfile:
    table = {"kind": "dynamodb", "table": "external-dns", "region": "eu-central-1", "providers": [provider]}
    return register_registry_profile(SYSTEM, {"name": "table", "access_key_id": "AKIA", **table, **values})


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("configmap", {"cluster", "namespace"}),
        ("crd", {"cluster", "namespace"}),
        ("dynamodb", {"table", "region"}),
    ],
)
def test_a_store_must_say_where_it_is(kind: str, missing: set[str]) -> None:
    provider = make_provider()

    with pytest.raises(InvalidRequest) as caught:
        register_registry_profile(SYSTEM, {"name": "store", "kind": kind, "providers": [provider]})

    assert set(caught.value.fields) == missing
    assert not RegistryProfile.objects.exists()


@pytest.mark.parametrize("kind", ["configmap", "crd", "dynamodb", "aws-sd"])
@pytest.mark.parametrize("names", [(), ("blue-zone", "green-zone")])
def test_a_store_speaks_for_exactly_one_provider(kind: str, names: tuple[str, ...]) -> None:
    providers = [make_provider(name) for name in names]
    place = {"cluster": make_cluster(), "namespace": "dns", "table": "t", "region": "eu-central-1"}

    with pytest.raises(InvalidRequest) as caught:
        register_registry_profile(SYSTEM, {"name": "store", "kind": kind, "providers": providers, **place})

    assert set(caught.value.fields) == {"providers"}


def test_a_store_keeps_its_one_provider_when_it_is_changed() -> None:
    profile = register_table(make_provider())

    with pytest.raises(InvalidRequest) as caught:
        change_registry_profile(SYSTEM, profile.pk, {"providers": []})

    assert set(caught.value.fields) == {"providers"}
    assert profile.providers.count() == 1


def test_one_store_is_not_heard_twice() -> None:
    provider = make_provider()
    register_table(provider)

    with pytest.raises(InvalidRequest, match="this very store"):
        register_table(provider, name="again")
    other = register_table(provider, name="another", table="other-table")
    with pytest.raises(InvalidRequest, match="this very store"):
        change_registry_profile(SYSTEM, other.pk, {"table": "external-dns"})

    assert sorted(RegistryProfile.objects.values_list("name", flat=True)) == ["another", "table"]


def test_a_secret_access_key_is_forgotten_when_the_endpoint_moves() -> None:
    profile = register_table(make_provider(), secret_access_key=SECRET, endpoint_url="https://db.example.org")

    change_registry_profile(SYSTEM, profile.pk, {"endpoint_url": "https://db.example.org/path"})
    kept = RegistryProfile.objects.get().secret_access_key
    change_registry_profile(SYSTEM, profile.pk, {"endpoint_url": "https://elsewhere.example.org"})

    assert kept == SECRET
    assert RegistryProfile.objects.get().secret_access_key == ""
    assert SECRET not in str(list(AuditEntry.objects.values_list("before", "after")))


def test_the_credentials_of_a_cluster_are_forgotten_when_its_api_moves() -> None:
    cluster = register_cluster(SYSTEM, {"name": "blue", "api_url": API, "token": SECRET})

    change_cluster(SYSTEM, cluster.pk, {"description": "Ours."})
    kept = Cluster.objects.get().token
    change_cluster(SYSTEM, cluster.pk, {"api_url": "https://elsewhere.example.org:6443"})
    moved = Cluster.objects.get().token
    change_cluster(SYSTEM, cluster.pk, {"api_url": API, "token": "new"})

    assert (kept, moved, Cluster.objects.get().token) == (SECRET, "", "new")
    assert SECRET not in str(list(AuditEntry.objects.values_list("before", "after")))


@pytest.mark.parametrize(
    "url", ["ftp://k8s.example.org", "k8s.example.org", "https://", "https://a:b@k8s.example.org"]
)
def test_an_address_that_cannot_be_used_is_refused_by_field(url: str) -> None:
    with pytest.raises(InvalidRequest) as cluster:
        register_cluster(SYSTEM, {"name": "blue", "api_url": url})
    with pytest.raises(InvalidRequest) as table:
        register_table(make_provider(), endpoint_url=url)

    assert set(cluster.value.fields) == {"api_url"}
    assert set(table.value.fields) == {"endpoint_url"}
    assert not Cluster.objects.exists()
    assert not RegistryProfile.objects.exists()


def test_a_cluster_that_holds_claims_is_not_deleted_under_them() -> None:
    cluster = make_cluster()
    register_registry_profile(
        SYSTEM,
        {
            "name": "maps",
            "kind": "configmap",
            "cluster": cluster,
            "namespace": "dns",
            "providers": [make_provider()],
        },
    )

    with pytest.raises(ProtectedError):
        cluster.delete()
