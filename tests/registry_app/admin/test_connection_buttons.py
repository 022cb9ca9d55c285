"""The buttons that test where claims are kept: only for who may, only by POST, only from our own pages."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.test import Client

from registry_app.models import RegistryProfile
from tests.factories import make_administrator, make_cluster, make_provider, make_user
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.reference_server import ReferenceProvider

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


@dataclass
class Buttons:
    """A ConfigMap registry, the addresses its buttons post to, and the pages they are on."""

    api: KubernetesApi
    profile: RegistryProfile

    @property
    def pages(self) -> list[str]:
        admin, profile = "/admin/registry_app", self.profile
        return [f"{admin}/registryprofile/{profile.pk}", f"{admin}/cluster/{profile.cluster_id}"]

    def was_asked(self) -> bool:
        return bool(self.api.history.requests())


@pytest.fixture
def buttons() -> Iterator[Buttons]:
    with KubernetesApi() as api, ReferenceProvider() as reference:
        cluster = make_cluster(api_url=api.url, token=api.token)
        profile = RegistryProfile.objects.create(
            name="maps", kind="configmap", cluster=cluster, namespace=NAMESPACE
        )
        profile.providers.set([make_provider(url=reference.url)])
        yield Buttons(api, profile)


def test_who_may_only_look_has_no_button_and_asks_nobody(buttons: Buttons, client: Client) -> None:
    client.force_login(make_user("dora"))

    posted = [client.post(f"{page}/test/", follow=True) for page in buttons.pages]
    shown = [client.get(f"{page}/change/").content.decode() for page in buttons.pages]

    assert all("may not" in each.content.decode() or each.status_code == 403 for each in posted)
    assert not [page for page in shown if "/test/" in page]
    assert not buttons.was_asked()


def test_nobody_asks_by_following_a_link(buttons: Buttons, client: Client) -> None:
    client.force_login(make_administrator())

    statuses = [client.get(f"{page}/test/").status_code for page in buttons.pages]

    assert statuses == [405, 405]
    assert not buttons.was_asked()


def test_another_site_cannot_press_the_button(buttons: Buttons) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_administrator())

    statuses = [client.post(f"{page}/test/").status_code for page in buttons.pages]

    assert statuses == [403, 403]
    assert not buttons.was_asked()


def test_who_is_not_signed_in_is_asked_to(buttons: Buttons, client: Client) -> None:
    statuses = [client.post(f"{page}/test/").status_code for page in buttons.pages]

    assert statuses == [302, 302]
    assert not buttons.was_asked()
