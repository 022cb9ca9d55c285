"""The claims in the database are written to files, and bring the owners back where it was lost."""

import stat
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings as ProjectSettings

from providers.registries.claims_document import parse_claims_document
from providers.registries.export import UnusableExport
from providers.wire.endpoint import EndpointKey
from registry_app.clock import fetch_now
from registry_app.database_claims import DatabaseStore, RowChange, change_rows
from registry_app.inventory.scheduled_export import export_due_registries
from registry_app.models import Finding, GuardEndpoint, Provider, RegistryProfile
from registry_app.queries.registry_export import describe_export
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import make_administrator, make_instance, make_provider
from tests.providers.planning.planned import wanted
from tests.registry_app.guard.keeping import LIMITS, keep_in_database, kept, make_database_profile
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.reconcile.syncing import sync

BLUE, GREEN = "blue-cluster", "green-cluster"


def _change(owner_id: str, name: str, old: str | None = None) -> RowChange:
    text = f"heritage=external-dns,external-dns/owner={owner_id}"
    return RowChange(EndpointKey(name, "A", ""), old, text)


def _make_profile(provider: Provider | None = None) -> RegistryProfile:
    profile = make_database_profile(provider or make_provider(), "In the database!")
    change_rows(profile.pk, [_change(BLUE, "www.example.org"), _change(GREEN, "api.example.org")])
    return profile


@pytest.mark.django_db
def test_each_interval_writes_one_file_and_the_last_seven_stay(
    tmp_path: Path, settings: ProjectSettings
) -> None:
    settings.DNSADMIN_REGISTRY_EXPORT_DIR = str(tmp_path)
    profile = _make_profile()
    old = [tmp_path / f"{profile.pk}-earlier-name.2025010{day}T000000Z.json" for day in range(1, 10)]
    others = tmp_path / f"{profile.pk}0-another.20240101T000000Z.json"
    for path in (*old, others):
        path.touch()

    counts = [export_due_registries() for _ in range(2)]
    RegistryProfile.objects.update(exported_at=fetch_now() - timedelta(hours=25))
    counts.append(export_due_registries())

    files = sorted(tmp_path.iterdir())
    new = [path for path in files if path.name.startswith(f"{profile.pk}-in-the-database.")]
    assert counts == [1, 0, 1]
    assert len([path for path in files if path != others]) == 7
    assert others in files
    assert old[0] not in files
    assert old[-1] in files
    assert stat.S_IMODE(new[-1].stat().st_mode) == 0o600
    export = parse_claims_document(new[-1].read_bytes(), max_items=10)
    assert {(row.key.name, row.owner_id) for row in export.rows} == {
        ("www.example.org", BLUE),
        ("api.example.org", GREEN),
    }


@pytest.mark.django_db
def test_a_folder_that_cannot_be_written_is_named_on_the_page(
    tmp_path: Path, settings: ProjectSettings
) -> None:
    profile = _make_profile()
    unset = describe_export(profile)
    settings.DNSADMIN_REGISTRY_EXPORT_DIR = str(tmp_path / "away")

    assert export_due_registries() == 0
    profile.refresh_from_db()
    failed = describe_export(profile)
    finding = Finding.objects.get()
    assert export_due_registries() == 0
    (tmp_path / "away").mkdir()
    assert export_due_registries() == 1
    profile.refresh_from_db()

    assert "is not set" in unset
    assert failed.startswith("Not exported yet. The claims cannot be written to ")
    assert "Last exported at" in describe_export(profile)
    assert profile.export_error == ""
    assert (finding.kind, finding.state, finding.provider) == (
        "export_failed",
        "open",
        profile.providers.get(),
    )
    assert "They were never exported." in finding.explanation
    assert "DNSADMIN_REGISTRY_EXPORT_DIR" in finding.explanation
    assert Finding.objects.get().state == "resolved"


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["no folder", "no profile"])
def test_a_failed_export_that_is_not_to_be_made_any_more_is_no_finding(
    tmp_path: Path, settings: ProjectSettings, end: str
) -> None:
    profile = _make_profile()
    settings.DNSADMIN_REGISTRY_EXPORT_DIR = str(tmp_path / "away")
    export_due_registries()
    opened = Finding.objects.get().state

    if end == "no folder":
        settings.DNSADMIN_REGISTRY_EXPORT_DIR = ""
    else:
        RegistryProfile.objects.filter(pk=profile.pk).update(deleted_at=fetch_now())
    export_due_registries()

    assert (opened, Finding.objects.get().state) == ("open", "resolved")


@pytest.mark.django_db
def test_an_old_export_is_called_too_old(tmp_path: Path, settings: ProjectSettings) -> None:
    settings.DNSADMIN_REGISTRY_EXPORT_DIR = str(tmp_path)
    profile = _make_profile()
    profile.exported_at = fetch_now() - timedelta(hours=49)

    assert "too long ago" in describe_export(profile)


@pytest.mark.django_db
def test_an_emptied_database_writes_nothing(tmp_path: Path, settings: ProjectSettings) -> None:
    settings.DNSADMIN_REGISTRY_EXPORT_DIR = str(tmp_path)
    _make_profile().database_claims.all().delete()

    assert export_due_registries() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
def test_a_document_that_was_changed_is_refused() -> None:
    document = DatabaseStore(_make_profile().pk).export("", when=fetch_now())

    with pytest.raises(UnusableExport, match="digest"):
        parse_claims_document(document.replace(BLUE.encode(), b"red--cluster"), max_items=10)
    with pytest.raises(UnusableExport, match="more than 1"):
        parse_claims_document(document, max_items=1)
    with pytest.raises(UnusableExport, match="no export"):
        parse_claims_document(b"{}", max_items=10)


@pytest.mark.django_db
def test_a_restore_leaves_out_what_moved_and_refuses_what_contradicts(tmp_path: Path) -> None:
    make_administrator("alice")
    profile = _make_profile()
    file = tmp_path / "all.json"
    run_json("dnsadmin_registry", "export", "--profile", profile.name, "--file", str(file), "--as", "alice")
    old = "heritage=external-dns,external-dns/owner=blue-cluster"
    change_rows(profile.pk, [_change(GREEN, "www.example.org", old)])

    code, said = run_command(
        "dnsadmin_registry", "restore", "--profile", profile.name, "--file", str(file), "--as", "alice"
    )

    assert code == 1
    assert "www.example.org A has another claim here" in said
    assert profile.database_claims.filter(owner_id=GREEN).count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_lost_database_gets_its_owners_back_from_the_last_file(
    tmp_path: Path, settings: ProjectSettings
) -> None:
    settings.DNSADMIN_REGISTRY_EXPORT_DIR = str(tmp_path / "exports")
    (tmp_path / "exports").mkdir()
    make_administrator("alice")
    desired = [wanted("www.example.org"), wanted("api.example.org", "CNAME", ["lb.example.net"])]
    with kept(tmp_path, []) as guard:
        with Instance(Settings(guard.url, BLUE), desired) as blue:
            blue.run_once()
        export_due_registries()
        (file,) = (tmp_path / "exports").iterdir()
        # As in a new database: the same provider and instance, registered anew.
        provider = make_provider("anew", url=guard.reference.url)
        instance = make_instance(guard.endpoint.instance.owner, name="anew")
        endpoint = GuardEndpoint.objects.create(
            slug="anew", provider=provider, instance=instance, first_changes_at=fetch_now(), **LIMITS
        )
        keep_in_database(endpoint)
        sync(provider)
        lost = list(provider.record_sets.values_list("state", flat=True))

        report = run_json(
            "dnsadmin_registry", "restore", "--profile", "of anew", "--file", str(file), "--as", "alice"
        )
        sync(provider)
        with Instance(Settings(f"{guard.guard_url}/anew", BLUE), desired) as blue:
            outcome = blue.run_once().outcome

        owners = list(provider.record_sets.values_list("owner__owner_id", flat=True))
        assert lost == ["unmanaged"] * 2
        assert report[1]["rows"] == 2
        assert owners == [BLUE] * 2
        assert outcome is Outcome.QUIET
