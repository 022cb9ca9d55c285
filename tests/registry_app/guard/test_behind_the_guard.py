"""ExternalDNS's loop behind the guard: it lives on whatever happens, and changes nothing."""

from pathlib import Path

import pytest

from dnsadmin.free_port import find_free_port
from providers.planning.planned_changes import Policy
from registry_app.models import DesiredEndpoint, GuardEndpoint, Provider
from registry_app.queries.guard_credential import compute_password_hash
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.reference_server import make_record, make_zone
from tests.registry_app.guard.serving import guarded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
NEW = make_record("new.example.org")
MODE = GuardEndpoint.Mode


def test_in_a_dry_run_it_asks_again_at_each_loop_and_nothing_changes(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone("blue-cluster", 5), mode=MODE.DRY_RUN) as guard:
        before = guard.reference.zone_bytes()
        with Instance(Settings(guard.url, "blue-cluster"), [NEW]) as instance:
            results = [instance.run_once() for _ in range(2)]

        assert [result.outcome for result in results] == [Outcome.CHANGED, Outcome.CHANGED]
        assert results[0].sent == results[1].sent
        assert len(results[0].sent.delete) == 10
        assert guard.reference.zone_bytes() == before
    assert list(DesiredEndpoint.objects.values_list("name", flat=True)) == ["new.example.org"]


def test_what_it_reads_through_the_guard_is_what_it_reads_straight(tmp_path: Path) -> None:
    desired = [each for each in make_zone("blue-cluster", 5) if each.record_type != "TXT"]
    with guarded(tmp_path, make_zone("blue-cluster", 5)) as guard:
        for url in (guard.url, guard.reference.url):
            settings = Settings(url, "blue-cluster", Policy.UPSERT_ONLY)
            with Instance(settings, desired) as instance:
                assert instance.run_once().outcome is Outcome.QUIET


def test_it_starts_while_it_is_paused_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, make_zone("blue-cluster", 5), mode=MODE.PAUSED) as guard,
        Instance(Settings(guard.url, "blue-cluster"), [NEW]) as instance,
    ):
        paused = instance.run_once()
        GuardEndpoint.objects.update(mode=MODE.DRY_RUN)
        after = instance.run_once()

    assert (paused.outcome, after.outcome) == (Outcome.SOFT_ERROR, Outcome.CHANGED)


def test_it_lives_through_a_provider_that_is_away(tmp_path: Path) -> None:
    with guarded(tmp_path, make_zone("blue-cluster", 5), mode=MODE.DRY_RUN) as guard:
        guard.reference.stop()
        with Instance(Settings(guard.url, "blue-cluster"), [NEW]) as instance:
            away = instance.run_once()
            guard.reference.start()
            back = instance.run_once()

    assert (away.outcome, back.outcome) == (Outcome.SOFT_ERROR, Outcome.CHANGED)


def test_it_lives_through_a_provider_that_moved_and_a_guard_endpoint_that_is_gone(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, make_zone("blue-cluster", 5)) as guard,
        Instance(Settings(guard.url, "blue-cluster"), [NEW]) as instance,
    ):
        Provider.objects.update(url=f"http://127.0.0.1:{find_free_port()}")
        moved = instance.run_once()
        GuardEndpoint.objects.all().delete()
        gone = instance.run_once()

    assert (moved.outcome, gone.outcome) == (Outcome.SOFT_ERROR, Outcome.SOFT_ERROR)


def test_its_credential_is_that_of_its_url(tmp_path: Path) -> None:
    password_hash = compute_password_hash("right")
    with guarded(tmp_path, username="blue", password_hash=password_hash) as guard:
        outcomes = []
        for password in ("right", "wrong"):
            url = guard.url.replace("http://", f"http://blue:{password}@")
            with Instance(Settings(url, "blue-cluster")) as instance:
                outcomes.append(instance.last_result and instance.last_result.outcome)

    assert outcomes == [Outcome.STARTED, Outcome.DEAD]
