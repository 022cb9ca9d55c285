"""After a restore the dashboard and the provider's page say so, and page and API accept."""

import pytest
from django.test import Client
from django.urls import reverse

from registry_app.actor import SYSTEM
from registry_app.models import Provider
from registry_app.restore.note_restore import note_restore
from tests.factories import make_administrator
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.transfer.world import open_world

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_pages_say_what_waits_and_accept_it() -> None:
    with open_world() as world:
        note_restore(SYSTEM, None, how="The drill.")
        client = Client()
        client.force_login(make_administrator())
        page = reverse("admin:registry_app_provider_change", args=[world.provider.pk])
        accept = reverse("admin:registry_app_provider_accept_restored", args=[world.provider.pk])

        board = client.get(reverse("admin:index")).content.decode()
        early = client.get(page).content.decode()
        client.post(accept, {"reason": "Too early."})
        assert Provider.objects.get().restored_at is not None
        world.sync()
        ready = client.get(page).content.decode()
        client.post(accept, {"reason": "Seen."})

        assert "The database was restored." in board
        assert "returned no snapshot since the restore" in early
        assert accept not in early
        assert accept in ready
        assert Provider.objects.get().restored_at is None
        assert "The database was restored" not in client.get(reverse("admin:index")).content.decode()


def test_all_are_accepted_from_the_dashboard() -> None:
    with open_world(name="one") as first, open_world(name="two"):
        note_restore(SYSTEM, None, how="The drill.")
        first.sync()
        client = Client()
        client.force_login(make_administrator())

        address = reverse("admin:registry_app_provider_accept_all_restored")
        board = client.post(address, {"reason": "Seen."}, follow=True).content.decode()

        waiting = Provider.objects.filter(restored_at__isnull=False).values_list("name", flat=True)
        assert list(waiting) == ["two"]
        assert "two is not accepted yet" in board


def test_the_api_accepts_one_or_all() -> None:
    with open_world() as world:
        note_restore(SYSTEM, None, how="The drill.")
        client = make_client(make_administrator())
        one = f"{API}/providers/{world.provider.pk}/accept-restored/"

        early = client.post(one, {"reason": "Too early."})
        waits = read(client.post(f"{API}/providers/accept-all-restored/", {"reason": "All."}))
        world.sync()
        accepted = read(client.post(one, {"reason": "Seen."}))
        again = client.post(one, {"reason": "Twice."})

        assert (early.status_code, read(early)["code"]) == (409, "no_snapshot_since_restore")
        assert [each["name"] for each in waits["waiting"]] == [world.provider.name]
        assert accepted["restored_at"] is None
        assert again.status_code == 409
