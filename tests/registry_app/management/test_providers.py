"""`dnsadmin_providers`: what is registered, and whether a provider keeps the protocol."""

import pytest

from registry_app.actor import SYSTEM
from registry_app.inventory.freeze import freeze
from registry_app.inventory.provider import register_provider
from registry_app.models import AuditEntry, Provider
from tests.factories import make_administrator, make_provider, make_user
from tests.providers.conformance.by_meaning import ByMeaningProvider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.transfer.world import make_actor

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_asks_any_address_and_changes_nothing() -> None:
    with ReferenceProvider(make_zone(count=3)) as zone:
        code, document = run_json("dnsadmin_providers", "conformance", zone.url)

        assert code == 0
        assert document["counts"]["failed"] == 0
        assert not document["report"]["wrote"]
        assert zone.history.requests("POST /records") == ()


def test_it_prints_a_report_for_people() -> None:
    with ByMeaningProvider(make_zone(count=3)) as zone:
        code, text = run_command("dnsadmin_providers", "conformance", zone.url, "--write", "example.org")

    assert code == 0
    assert "passed  Content-Type is the media type, byte for byte" in text
    assert "passed  Everything created for this run is deleted" in text
    assert "0 failed" in text


def test_a_provider_that_does_not_conform_is_told_by_the_exit_code() -> None:
    with ReferenceProvider(make_zone(count=3)) as zone:
        zone.stop()

        code, _ = run_json("dnsadmin_providers", "conformance", zone.url)

    assert code == 2


def test_an_address_nobody_may_sync_is_an_error() -> None:
    code, text = run_command("dnsadmin_providers", "conformance", "http://169.254.169.254/")

    assert code in {1, 2}
    assert "169.254.169.254" in text


def test_a_registered_provider_is_asked_with_its_own_credentials() -> None:
    with ReferenceProvider(make_zone(count=3)) as zone:
        make_provider("blue-zone", url=zone.url)

        code, document = run_json("dnsadmin_providers", "conformance", "blue-zone")

    assert (code, document["counts"]["failed"]) == (0, 0)


def test_writing_at_a_registered_provider_is_an_administrators_and_is_noted() -> None:
    root, alice = make_administrator(), make_user("alice")
    with ByMeaningProvider(make_zone(count=3)) as zone:
        make_provider("blue-zone", url=zone.url, read_back_seconds=0)
        before = zone.zone_bytes()
        asked = ("dnsadmin_providers", "conformance", "blue-zone", "--write", "example.org")

        nobody, refused = run_command(*asked), run_command(*asked, "--as", alice.username)
        done, _ = run_command(*asked, "--as", root.username)

        assert (nobody[0], refused[0], done) == (1, 1, 0)
        assert zone.zone_bytes() == before
    assert AuditEntry.objects.filter(action="provider.conformance_written").count() == 1
    assert Provider.objects.get().lease_holder == ""


@pytest.mark.parametrize("names", [[], ["www.example.org"]])
def test_nothing_is_written_in_a_freeze_also_if_it_is_of_some_names(names: list[str]) -> None:
    root = make_administrator()
    with ReferenceProvider(make_zone(count=3)) as zone:
        provider = make_provider("blue-zone", url=zone.url)
        freeze(make_actor(root), provider_id=provider.pk, reason="A change stop.", names=names)
        asked = ("dnsadmin_providers", "conformance", "blue-zone", "--write", "example.org")

        code, text = run_command(*asked, "--as", root.username)

        assert code == 3
        assert "frozen" in text
        assert zone.history.requests() == ()


def test_the_list_shows_no_secret_of_an_address() -> None:
    url = "http://127.0.0.1:9/?token=correct-horse-battery"
    register_provider(SYSTEM, {"name": "blue-zone", "url": url})

    code, text = run_command("dnsadmin_providers", "list")

    assert code == 0
    assert "blue-zone" in text
    assert "correct-horse" not in text
