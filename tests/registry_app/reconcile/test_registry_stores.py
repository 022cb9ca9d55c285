"""Claims that are kept beside DNS: a sync reads them with the records, and believes all of it or nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.test import Client

from providers.wire.domain_filter import DomainFilter
from registry_app.actor import SYSTEM
from registry_app.inventory.registry_profile import change_registry_profile
from registry_app.models import Claim, Finding, HeldSnapshot, Owner, Provider, RegistryProfile, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.transfer.plan.transfer_request import Selection
from tests.factories import make_administrator, make_owner, make_provider, make_record_set
from tests.reference_server import ReferenceProvider, make_record
from tests.registry_app.reconcile.syncing import mirrored, sync
from tests.registry_app.transfer.stored_registries import start_moto
from tests.registry_app.transfer.world import ask, make_alice, plan
from tests.strict_dynamodb import KEY_ID, REGION, SECRET, TOKEN, StrictDynamoDb, refusal, strict_dynamodb

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

BLUE, GREEN = "blue-cluster", "green-cluster"
RECORDS = [make_record(f"app-{number:02}.example.org") for number in range(12)]


@dataclass
class Table:
    """A provider without any TXT record, and the table beside it that says whose its record sets are."""

    reference: ReferenceProvider
    service: StrictDynamoDb
    provider: Provider
    profile: RegistryProfile

    def put(self, name: str, owner_id: str = BLUE) -> None:
        labels = {"resource": {"S": f"ingress/shop/{name}"}}
        self.service.put({"k": {"S": f"{name}#A#"}, "o": {"S": owner_id}, "l": {"M": labels}})

    def delete(self, name: str) -> None:
        self.service.delete(f"{name}#A#")

    def owners(self) -> dict[str, str | None]:
        return {row[0]: row[5] for row in mirrored(self.provider)}


@pytest.fixture
def table() -> Iterator[Table]:
    with ReferenceProvider(RECORDS) as reference, strict_dynamodb(start_moto()) as service:
        service.create_table()
        provider = make_provider(url=reference.url)
        profile = RegistryProfile.objects.create(
            name="table",
            kind="dynamodb",
            table="external-dns",
            region=REGION,
            endpoint_url=service.url,
            access_key_id=KEY_ID,
            secret_access_key=SECRET,
        )
        profile.providers.set([provider])
        table = Table(reference, service, provider, profile)
        for each in RECORDS:
            table.put(each.dns_name)
        yield table


def test_a_sync_hears_the_claims_of_a_store_beside_the_records(table: Table) -> None:
    run = sync(table.provider)

    assert (run.status, run.created, run.claims) == (SyncRun.Status.STORED, 12, 12)
    assert set(table.owners().values()) == {BLUE}
    claim = Claim.objects.get(record_name="app-00.example.org")
    assert (claim.registry_profile, claim.txt_name, claim.verdict) == (table.profile, "", "effective")
    assert claim.resource == "ingress/shop/app-00.example.org"
    assert Owner.objects.get(owner_id=BLUE).status == Owner.Status.DISCOVERED


def test_a_store_that_says_the_same_again_is_not_looked_at_again(table: Table) -> None:
    sync(table.provider)

    assert sync(table.provider).status == SyncRun.Status.UNCHANGED


def test_a_row_that_changes_hands_is_seen_though_the_zone_is_as_it_was(table: Table) -> None:
    sync(table.provider)
    table.put("app-03.example.org", GREEN)

    run = sync(table.provider)

    assert (run.status, run.changed) == (SyncRun.Status.STORED, 1)
    assert table.owners()["app-03.example.org"] == GREEN


def test_a_store_that_cannot_be_read_fails_the_sync_and_leaves_the_mirror(table: Table) -> None:
    sync(table.provider)
    table.service.faults.plan("POST /Scan", refusal("AccessDeniedException", "not authorized"))
    before = table.owners()

    run = sync(table.provider)

    assert (run.status, run.error_code) == (SyncRun.Status.FAILED, "registry_unreadable")
    assert "the registry profile table" in run.error
    assert SECRET not in run.error
    assert table.owners() == before
    assert table.provider.status == Provider.Status.FAILING


def test_temporary_credentials_are_shown_with_their_session_token(table: Table) -> None:
    table.service.session_token = TOKEN

    without = sync(table.provider)
    change_registry_profile(SYSTEM, table.profile.pk, {"session_token": TOKEN})
    with_it = sync(table.provider)

    assert (without.status, with_it.status) == (SyncRun.Status.FAILED, SyncRun.Status.STORED)
    assert TOKEN not in without.error
    assert set(table.owners().values()) == {BLUE}


def test_a_store_that_lost_its_rows_is_held_until_a_person_believes_it(table: Table) -> None:
    sync(table.provider)
    for each in RECORDS[:10]:
        table.delete(each.dns_name)

    held = sync(table.provider)
    snapshot = HeldSnapshot.objects.get()
    owners_then = set(table.owners().values())
    accept_held_snapshot(SYSTEM, snapshot.pk, reason="We moved to another table.")
    stored = sync(table.provider)

    assert (held.status, owners_then) == (SyncRun.Status.HELD, {BLUE})
    assert (stored.status, list(table.owners().values()).count(BLUE)) == (SyncRun.Status.STORED, 2)
    assert HeldSnapshot.objects.get().status == HeldSnapshot.Status.STORED


def test_a_row_for_nothing_is_told_in_words_that_fit(table: Table) -> None:
    make_owner(BLUE, registry_profile=table.profile)
    table.put("gone.example.org")

    sync(table.provider)

    finding = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM)
    assert finding.explanation.startswith(
        "The row in the dynamodb registry names blue-cluster as the owner of"
    )
    assert "TXT" not in finding.explanation
    assert finding.suggestion["kind"] == "clean_up"


def test_a_row_is_not_cleaned_up_while_another_provider_shows_its_record_set(table: Table) -> None:
    alice = make_alice()
    make_owner(BLUE, registry_profile=table.profile)
    table.put("gone.example.org")
    table.put("elsewhere.example.org")
    sync(table.provider)
    make_record_set(make_provider("green-zone"), "elsewhere.example.org")

    found = plan(alice, ask("clean_up", Selection(owner_id=BLUE, name_suffix="example.org")))

    problems = {item.name: item.problem_code for item in found.items}
    assert problems == {"gone.example.org": "", "elsewhere.example.org": "record_set_elsewhere"}


def test_a_row_outside_the_domain_filter_is_left_to_whom_it_may_serve(table: Table) -> None:
    alice = make_alice()
    make_owner(BLUE, registry_profile=table.profile)
    table.put("gone.example.org")
    table.put("www.example.net")
    with ReferenceProvider(RECORDS, domain_filter=DomainFilter(include=("example.org",))) as narrow:
        Provider.objects.filter(pk=table.provider.pk).update(url=narrow.url)
        sync(table.provider)

    found = plan(alice, ask("clean_up", Selection(owner_id=BLUE, states=("orphan",))))

    problems = {item.name: item.problem_code for item in found.items}
    assert problems == {"gone.example.org": "", "www.example.net": "outside_domain_filter"}
    finding = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM, name="www.example.net")
    assert "outside what blue-zone manages" in finding.explanation
    assert finding.suggestion == {}


def test_the_page_of_a_record_set_says_where_its_claim_stands(table: Table, client: Client) -> None:
    sync(table.provider)
    record_set = table.provider.record_sets.get(name="app-00.example.org")
    client.force_login(make_administrator())

    page = client.get(f"/admin/registry_app/recordset/{record_set.pk}/change/").content.decode()

    assert "in the DynamoDB table external-dns in eu-central-1" in page
    assert "its row in the dynamodb registry names it" in page
