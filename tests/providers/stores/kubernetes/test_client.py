"""The client of a Kubernetes API: whole lists, one object, writes that never overwrite another's."""

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.credentials import BearerLogin, Credentials
from providers.http.errors import (
    AnswerTruncated,
    InvalidAddress,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    RefusedByProvider,
    TlsFailed,
    Unreachable,
)
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_texts
from providers.stores.kubernetes.client import CONFIG_MAPS, DNS_RECORDS, KubernetesClient
from providers.stores.kubernetes.objects import InvalidObjectName
from providers.stores.kubernetes.refusals import Conflict
from tests.faults.fault import Fault
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.providers.client.certificates import Authority, key_pem

NAME = "blue-cluster-storage"


def config_map(name: str = NAME, **data: str) -> KubernetesObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {**data}}


def dns_record(name: str = "www-example-org-1", **spec: str) -> KubernetesObject:
    version = "externaldns.k8s.io/v1alpha1"
    return {"apiVersion": version, "kind": "DNSRecord", "metadata": {"name": name}, "spec": {**spec}}


def names_of(objects: list[KubernetesObject]) -> list[str]:
    return [read_metadata(each, "name") for each in objects]


def test_a_list_is_read_page_after_page() -> None:
    names = [f"map-{number:02d}" for number in range(60)]
    with KubernetesApi() as api:
        for name in names:
            api.put_object("configmaps", config_map(name, number=name))

        objects = api.client().list_objects(CONFIG_MAPS, NAMESPACE)

        assert names_of(objects) == names
        assert objects == api.objects("configmaps")
        assert len(api.history.requests()) == 3


def test_a_page_of_the_largest_maps_fits_in_an_answer() -> None:
    with KubernetesApi() as api:
        for number in range(30):
            api.put_object("configmaps", config_map(f"map-{number:02d}", number="x" * 1_000_000))

        objects = api.client(Limits(seconds=30.0)).list_objects(CONFIG_MAPS, NAMESPACE)

        assert len(objects) == 30


def test_pages_are_of_one_moment_whatever_is_written_meanwhile() -> None:
    names = [f"map-{number:02d}" for number in range(30)]
    with KubernetesApi() as api:
        for name in names:
            api.put_object("configmaps", config_map(name))
        api.faults.plan(
            "list /configmaps", faults.meanwhile(lambda: api.delete_object("configmaps", "map-01")), after=1
        )

        objects = api.client().list_objects(CONFIG_MAPS, NAMESPACE)

        assert names_of(objects) == names


def test_a_list_that_expired_half_way_is_given_up() -> None:
    with KubernetesApi() as api:
        for number in range(30):
            api.put_object("configmaps", config_map(f"map-{number:02d}"))
        api.faults.plan("list /configmaps", faults.meanwhile(api.expire_lists), after=1)

        with pytest.raises(RefusedByProvider, match="responded with 410 when asked to list") as expired:
            api.client().list_objects(CONFIG_MAPS, NAMESPACE)

        assert "next sync" in expired.value.hint


def test_an_empty_namespace_is_empty_and_a_missing_one_is_an_error() -> None:
    with KubernetesApi() as api:
        objects = api.client().list_objects(CONFIG_MAPS, NAMESPACE)

        assert objects == []
        with pytest.raises(RefusedByProvider, match=r'responded with 404 .*namespaces "gone" not found'):
            api.client().list_objects(CONFIG_MAPS, "gone")


def test_where_namespaces_may_not_be_seen_an_empty_list_is_taken_as_it_is() -> None:
    with KubernetesApi() as api:
        api.forbid("get", "namespaces", "gone")

        assert api.client().list_objects(CONFIG_MAPS, "gone") == []


def test_one_object_is_read_with_all_that_it_holds() -> None:
    with KubernetesApi() as api:
        held = api.put_object("dnsrecords", {**dns_record(), "unknown": {"deep": [1, 2.5, None, True]}})

        found = api.client().find_object(DNS_RECORDS, NAMESPACE, "www-example-org-1")
        missing = api.client().find_object(DNS_RECORDS, NAMESPACE, "other")

        assert found == held
        assert missing is None


def test_a_resource_that_is_not_installed_is_an_error_and_not_an_empty_one() -> None:
    with KubernetesApi(has_crd=False) as api:
        client = api.client()

        with pytest.raises(RefusedByProvider, match=r"404 when asked to [a-z]+ dnsrecords") as listed:
            client.list_objects(DNS_RECORDS, NAMESPACE)
        with pytest.raises(RefusedByProvider, match=r"404 when asked to [a-z]+ dnsrecords"):
            client.find_object(DNS_RECORDS, NAMESPACE, "www-example-org-1")
        with pytest.raises(NothingSent, match=r"404 when asked to [a-z]+ dnsrecords"):
            client.create(DNS_RECORDS, NAMESPACE, dns_record())

        assert "that it has dnsrecords" in listed.value.hint


def test_an_object_is_created_replaced_and_deleted() -> None:
    with KubernetesApi() as api:
        client = api.client()

        made = client.create(CONFIG_MAPS, NAMESPACE, config_map(records="[]"))
        changed = client.replace(CONFIG_MAPS, NAMESPACE, {**made, "data": {"records": "[1]"}})
        held = api.objects("configmaps")
        client.delete(CONFIG_MAPS, NAMESPACE, changed)

        assert read_texts(made, "data") == {"records": "[]"}
        assert held == [changed]
        assert read_texts(changed, "data") == {"records": "[1]"}
        assert read_metadata(made, "resourceVersion") != read_metadata(changed, "resourceVersion")
        assert api.objects("configmaps") == []


def test_a_status_is_written_apart_from_the_rest() -> None:
    with KubernetesApi() as api:
        client = api.client()
        made = client.create(DNS_RECORDS, NAMESPACE, {**dns_record(), "status": {"state": "dropped"}})

        wanted: KubernetesObject = {**made, "spec": {"state": "ignored"}, "status": {"state": "kept"}}
        changed = client.replace(DNS_RECORDS, NAMESPACE, wanted, subresource="/status")

        assert "status" not in made
        assert changed["status"] == {"state": "kept"}
        assert changed["spec"] == {}


def test_a_conflict_is_told_apart_from_every_other_refusal() -> None:
    with KubernetesApi() as api:
        client = api.client()
        made = client.create(CONFIG_MAPS, NAMESPACE, config_map(records="[]"))
        api.put_object("configmaps", config_map(records="[2]"))
        before = api.objects("configmaps")

        with pytest.raises(Conflict, match="another writer was first"):
            client.replace(CONFIG_MAPS, NAMESPACE, made)
        with pytest.raises(Conflict):
            client.delete(CONFIG_MAPS, NAMESPACE, made)
        with pytest.raises(Conflict):
            client.create(CONFIG_MAPS, NAMESPACE, config_map())

        assert api.objects("configmaps") == before


def test_an_object_that_is_gone_is_a_conflict_too() -> None:
    with KubernetesApi() as api:
        client = api.client()
        made = client.create(CONFIG_MAPS, NAMESPACE, config_map())
        api.delete_object("configmaps", NAME)

        with pytest.raises(Conflict, match=r"another writer was first.* 404 when asked to update configmaps"):
            client.replace(CONFIG_MAPS, NAMESPACE, made)
        with pytest.raises(Conflict):
            client.delete(CONFIG_MAPS, NAMESPACE, made)


def test_a_namespace_that_is_gone_is_no_conflict() -> None:
    with KubernetesApi() as api:
        with pytest.raises(NothingSent, match='namespaces "gone" not found') as caught:
            api.client().create(CONFIG_MAPS, "gone", config_map())

        assert not isinstance(caught.value, Conflict)


@pytest.mark.parametrize(
    "name", ["", "Upper", "a/b", "..", "a..b", "-a", "a-", "a" * 254, "a%2fb", "ä", "a\n"]
)
def test_a_name_that_would_bend_the_path_is_not_sent(name: str) -> None:
    with KubernetesApi() as api:
        client = api.client()

        with pytest.raises(InvalidObjectName):
            client.find_object(CONFIG_MAPS, NAMESPACE, name)
        with pytest.raises(InvalidObjectName):
            client.list_objects(CONFIG_MAPS, name)
        with pytest.raises(NothingSent):
            client.create(CONFIG_MAPS, NAMESPACE, config_map(name))

        assert not api.history.requests()


def test_an_object_without_its_version_is_never_written_over_another() -> None:
    with KubernetesApi() as api:
        with pytest.raises(ValueError, match="resourceVersion"):
            api.client().replace(CONFIG_MAPS, NAMESPACE, config_map())
        with pytest.raises(ValueError, match="resourceVersion"):
            api.client().delete(CONFIG_MAPS, NAMESPACE, config_map())

        assert not api.history.requests()


@pytest.mark.parametrize(
    "fault",
    [
        faults.error(500),
        faults.error(503),
        faults.error(504),
        faults.applied_then_error(),
        faults.applied_then_reset(),
        faults.applied_then_cut(),
        faults.applied_then_silence(),
    ],
    ids=lambda fault: fault.name,
)
def test_a_write_without_a_success_that_can_be_read_has_an_unknown_outcome(fault: Fault) -> None:
    with KubernetesApi() as api:
        api.faults.plan("create /configmaps", fault)

        with pytest.raises(OutcomeUnknown):
            api.client(Limits(seconds=0.5)).create(CONFIG_MAPS, NAMESPACE, config_map())

        assert api.faults.played() == (fault.name,)


def test_nothing_is_sent_to_an_api_that_is_not_there() -> None:
    api = KubernetesApi()
    api.start()
    api.stop()

    with pytest.raises(NothingSent, match="No Kubernetes API responded at") as caught:
        api.client(Limits(seconds=1.0)).create(CONFIG_MAPS, NAMESPACE, config_map())

    assert not isinstance(caught.value, Conflict)


def test_a_connection_test_tells_the_version() -> None:
    with KubernetesApi() as api:
        assert api.client().check() == "v1.34.1"
        with pytest.raises(RefusedByProvider, match="responded with 401 when asked to get version"):
            api.client(credentials=Credentials(login=BearerLogin("another"))).check()


def test_the_address_and_the_token_are_checked_before_a_sync() -> None:
    with pytest.raises(InvalidAddress, match="has a query"):
        KubernetesClient("https://192.0.2.1:6443/?token=abc", Credentials(), AddressPolicy())
    with pytest.raises(ProviderError, match="does not allow connections"):
        KubernetesClient("http://127.0.0.1:1", Credentials(), AddressPolicy()).check()


def test_the_cluster_s_own_authority_is_trusted_and_a_certificate_is_shown() -> None:
    authority = Authority()
    certificate, key = authority.issue("dnsadmin")
    with KubernetesApi(tls=authority.server_context("127.0.0.1", clients=authority)) as api:
        known = Credentials(
            login=BearerLogin(api.token),
            ca_pem=authority.pem,
            client_certificate_pem=certificate,
            client_key_pem=key_pem(key),
        )

        assert api.client(credentials=known).check() == "v1.34.1"
        with pytest.raises(TlsFailed):
            api.client().check()
        # With TLS 1.3 the server's refusal comes after the handshake, and may be overtaken by its reset.
        with pytest.raises((TlsFailed, AnswerTruncated, Unreachable)):
            api.client(credentials=Credentials(ca_pem=authority.pem)).check()
