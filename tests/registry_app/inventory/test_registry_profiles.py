"""Registry profiles and clusters say where claims are kept; what cannot be is refused with the field."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest
from registry_app.inventory.cluster import change_cluster, register_cluster
from registry_app.inventory.registry_profile import change_registry_profile, register_registry_profile
from registry_app.models import AuditEntry, Cluster, Provider, RegistryProfile
from tests.factories import make_cluster, make_provider
from tests.registry_app.reconcile.interrupting import AfterReading

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t-of-the-table"
TOKEN = "t0ken-of-the-session"
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


def test_one_store_is_not_read_twice() -> None:
    provider = make_provider()
    register_table(provider)

    with pytest.raises(InvalidRequest, match="already uses this store"):
        register_table(provider, name="again")
    other = register_table(provider, name="another", table="other-table")
    with pytest.raises(InvalidRequest, match="already uses this store"):
        change_registry_profile(SYSTEM, other.pk, {"table": "external-dns"})

    assert sorted(RegistryProfile.objects.values_list("name", flat=True)) == ["another", "table"]


def test_settings_of_another_kind_do_not_make_it_another_store() -> None:
    provider = make_provider()
    first = register_table(provider)

    with pytest.raises(InvalidRequest, match="already uses this store"):
        register_table(provider, name="again", namespace="dns", cluster=make_cluster())

    assert RegistryProfile.objects.get() == first


def test_the_same_store_may_serve_two_providers() -> None:
    register_table(make_provider())

    register_table(make_provider("green-zone"), name="again")

    assert RegistryProfile.objects.count() == 2


def test_a_profile_that_left_a_store_leaves_room_for_another() -> None:
    provider = make_provider()
    first = register_table(provider)

    change_registry_profile(SYSTEM, first.pk, {"table": "other-table"})
    change_registry_profile(SYSTEM, first.pk, {"name": "first"})
    register_table(provider, name="again")

    assert RegistryProfile.objects.count() == 2
    told = [
        entry.after for entry in AuditEntry.objects.filter(action="registry_profile.changed").order_by("pk")
    ]
    assert told == [{"table": "other-table"}, {"name": "first"}]


def meanwhile(act: Callable[[], object]) -> AfterReading:
    """Somebody else acts after the place was found free: as late as the database lets them."""
    times = 2 if connection.vendor == "postgresql" else 1

    def act_and_close() -> None:
        try:
            act()
        finally:
            connection.close()

    def act_apart() -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(act_and_close).result(timeout=20)

    return AfterReading('"store_place" = ', act_apart, times=times)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_register_one_store_at_once_the_second_is_told_who_was_first() -> None:
    provider = make_provider()
    rival = meanwhile(lambda: register_table(provider, name="rival"))

    with connection.execute_wrapper(rival), pytest.raises(InvalidRequest) as caught:
        register_table(provider)

    assert rival.happen is None
    assert caught.value.fields == {
        "providers": ["The registry profile rival already uses this store at blue-zone."]
    }
    assert [each.name for each in RegistryProfile.objects.all()] == ["rival"]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_move_to_one_store_at_once_the_second_is_told_who_was_first() -> None:
    provider = make_provider()
    first = register_table(provider)
    second = register_table(provider, name="second", table="second")
    rival = meanwhile(lambda: change_registry_profile(SYSTEM, first.pk, {"table": "wanted"}))

    with (
        connection.execute_wrapper(rival),
        pytest.raises(InvalidRequest, match="profile table already uses this"),
    ):
        change_registry_profile(SYSTEM, second.pk, {"table": "wanted"})

    assert rival.happen is None
    assert sorted(RegistryProfile.objects.values_list("name", "table")) == [
        ("second", "second"),
        ("table", "wanted"),
    ]


def test_the_database_itself_keeps_a_store_to_one_profile() -> None:
    place = register_table(make_provider()).store_place

    with pytest.raises(IntegrityError), transaction.atomic():
        RegistryProfile.objects.create(name="again", store_place=place)

    assert len(place) == 32


def test_a_session_token_goes_with_its_key_and_with_its_place() -> None:
    profile = register_table(
        make_provider(),
        secret_access_key=SECRET,
        session_token=TOKEN,
        endpoint_url="https://db.example.org",
    )

    def token_after(**changes: object) -> str:
        change_registry_profile(SYSTEM, profile.pk, changes)
        token: str = RegistryProfile.objects.get().session_token
        return token

    with connection.cursor() as cursor:
        cursor.execute("SELECT session_token FROM registry_app_registryprofile")
        (stored,) = cursor.fetchone()
    kept = token_after(endpoint_url="https://db.example.org/path", access_key_id="AKIA")
    elsewhere = token_after(endpoint_url="https://elsewhere.example.org")
    entered = token_after(session_token=TOKEN)
    renewed = token_after(access_key_id="ASIANEW", session_token="another-token")
    other_key = token_after(access_key_id="ASIAOTHER")

    assert TOKEN not in stored
    assert (kept, elsewhere, entered, renewed, other_key) == (TOKEN, "", TOKEN, "another-token", "")
    assert TOKEN not in str(list(AuditEntry.objects.values_list("before", "after")))


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
    "url",
    [
        "ftp://k8s.example.org",
        "k8s.example.org",
        "https://",
        "https://a:b@k8s.example.org",
        "https://k8s.example.org?a=b",
    ],
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
