"""Whatever a registry store says, no secret we show it is in a log, run, finding, page or the trail (I18)."""

import logging
from collections.abc import Callable

import pytest
from django.core import serializers
from django.test import Client

from registry_app.actor import SYSTEM
from registry_app.inventory.cluster import change_cluster, probe_cluster
from registry_app.inventory.registry_profile import change_registry_profile, probe_registry
from registry_app.models import AuditEntry, Cluster, Finding, Provider, RegistryProfile, SyncRun
from registry_app.resync.resync_registry import resync_registry
from tests.factories import make_administrator, make_cluster, make_provider
from tests.faults import framing_faults
from tests.faults.fault import Fault
from tests.kubernetes_api import faults as kubernetes_faults
from tests.kubernetes_api.server import KubernetesApi
from tests.reference_server import make_record
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.stored_registries import DynamoDbRegistry, KubernetesRegistry, open_registry
from tests.strict_dynamodb import SECRET, TOKEN, body, refusal

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db]

WWW = make_record("www.example.org")
PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKl0bm90LWEta2V5\n-----END PRIVATE KEY-----\n"


def _echo(kind: str, secret: str) -> Fault:
    said = f"{secret} is not welcome here"
    if kind == "dynamodb":
        return refusal("AccessDeniedException", said)
    return kubernetes_faults.error(403, "Forbidden", said)


FAULTS: dict[str, Callable[[str, str], Fault | None]] = {
    "none": lambda _kind, _secret: None,
    "echo": _echo,
    "undecodable": lambda _kind, secret: body(f'{{"items": "{secret}'.encode()),
    "reset": lambda _kind, _secret: framing_faults.reset(),
}


@pytest.mark.parametrize("kind", ["configmap", "crd", "dynamodb"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_secret_is_told(kind: str, fault: str, caplog: pytest.LogCaptureFixture, client: Client) -> None:
    caplog.set_level(logging.DEBUG)
    client.force_login(make_administrator())
    with RecordingProvider([WWW]) as reference, open_registry(kind, reference) as registry:
        assert isinstance(registry, DynamoDbRegistry | KubernetesRegistry)
        provider = make_provider(url=reference.url, deadline_seconds=2)
        profile = registry.profile(provider)
        assert profile is not None
        registry.put(WWW, "blue-cluster")
        secret = profile.cluster.token if profile.cluster else SECRET
        told = [str(change_registry_profile(SYSTEM, profile.pk, {"secret_access_key": SECRET}))]
        if profile.cluster is not None:
            told.append(str(change_cluster(SYSTEM, profile.cluster.pk, {"token": secret})))
        for _ in range(3):
            found = FAULTS[fault](kind, secret)
            for _ in range(3 if found else 0):
                assert found is not None
                registry.plan_read(found)
            sync(provider)
            told.append(str(probe_registry(SYSTEM, profile.pk)))
            RegistryProfile.objects.update(next_resync_at=None)
            resync_registry(profile.pk)
            registry.clear_faults()
        told += [
            client.get(f"/admin/registry_app/{noun}/{pk}/change/", follow=True).content.decode()
            for noun, pk in (("registryprofile", profile.pk), ("provider", provider.pk))
        ]

    rows = (SyncRun, Finding, AuditEntry)
    told += [serializers.serialize("json", model.objects.all()) for model in rows]
    told += [f"{row.last_error} {row.last_error_code}" for row in Provider.objects.all()]
    assert [text for text in (*told, caplog.text) if secret in text] == []


def test_no_session_token_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with RecordingProvider([WWW]) as reference, open_registry("dynamodb", reference) as registry:
        assert isinstance(registry, DynamoDbRegistry)
        provider = make_provider(url=reference.url, deadline_seconds=2)
        profile = registry.profile(provider)
        assert profile is not None
        told = [str(change_registry_profile(SYSTEM, profile.pk, {"session_token": TOKEN}))]
        for fault in (None, _echo("dynamodb", TOKEN), FAULTS["undecodable"]("dynamodb", TOKEN)):
            for _ in range(2 if fault else 0):
                assert fault is not None
                registry.plan_read(fault)
            sync(provider)
            told.append(str(probe_registry(SYSTEM, profile.pk)))

    told += [serializers.serialize("json", model.objects.all()) for model in (SyncRun, Finding, AuditEntry)]
    assert [run.error_code for run in SyncRun.objects.order_by("pk")][1:] == ["registry_unreadable"] * 2
    assert [text for text in (*told, caplog.text) if TOKEN in text] == []


def test_a_version_that_is_the_token_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with KubernetesApi() as api:
        cluster = make_cluster(api_url=api.url, token=api.token)
        api.faults.plan("GET /version", body(f'{{"gitVersion": "v1 {api.token}"}}'.encode()))

        report = probe_cluster(SYSTEM, cluster.pk)

    assert report.is_ok
    assert api.token not in f"{report} {caplog.text}"


def test_a_client_key_that_is_none_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    cluster = make_cluster(api_url="https://127.0.0.1:1", client_key=PEM, client_certificate="not one either")

    report = probe_cluster(SYSTEM, cluster.pk)

    assert report.error
    assert "MC4CAQ" not in f"{report} {caplog.text} {Cluster.objects.get()}"


@pytest.mark.parametrize("address", ["http://169.254.169.254", "http://[fe80::1]:6443"])
def test_no_token_goes_to_an_address_that_is_always_refused(address: str) -> None:
    provider = make_provider(url="http://127.0.0.1:1")
    cluster = make_cluster(api_url=address, token="t0ken-of-blue")
    maps = RegistryProfile.objects.create(name="maps", kind="configmap", cluster=cluster, namespace="dns")
    table = RegistryProfile.objects.create(
        name="table",
        kind="dynamodb",
        table="external-dns",
        region="eu-central-1",
        endpoint_url=address,
        access_key_id="AKIAEXAMPLE",
        secret_access_key=SECRET,
    )
    for profile in (maps, table):
        profile.providers.set([provider])

    codes = {probe_registry(SYSTEM, maps.pk).error_code, probe_registry(SYSTEM, table.pk).error_code}

    assert codes == {"address_forbidden"}
    assert probe_cluster(SYSTEM, cluster.pk).error_code == "address_forbidden"
