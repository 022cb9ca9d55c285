"""A registry store whose rows are in our own database: each changes only if it is as it was read."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from pytest_django import DjangoAssertNumQueries

from providers.http.errors import NothingSent
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.registry import DigestingStore, ExportableStore, NamedClaimsStore
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint
from registry_app.database_claims import DatabaseStore
from registry_app.models import DatabaseClaim, RegistryProfile
from tests.factories import make_provider
from tests.reference_server import make_record
from tests.registry_app.guard.keeping import make_database_profile

WWW, API = make_record("www.example.org"), make_record("api.example.org", "CNAME", ("lb.example.net",))
BLUE, GREEN, RED = (f"heritage=external-dns,external-dns/owner={owner}" for owner in ("blue", "green", "red"))


def _open(name: str = "kept") -> DatabaseStore:
    provider = make_provider(name)
    return DatabaseStore(make_database_profile(provider, name).pk)


def _claims(store: DatabaseStore) -> dict[str, str]:
    return {claim.key.name: claim.text for claim in store.fetch_claims()}


def _change(record: Endpoint, old: str | None, new: str | None) -> StoredClaimChange:
    return StoredClaimChange(record, old, new)


@pytest.mark.django_db
def test_it_is_all_that_a_store_can_be() -> None:
    store = _open()

    assert isinstance(store, DigestingStore)
    assert isinstance(store, NamedClaimsStore)
    assert isinstance(store, ExportableStore)


@pytest.mark.django_db
def test_rows_come_change_and_go() -> None:
    store = _open()
    labels = f"{BLUE},external-dns/resource=ingress/shop/www"

    store.write([_change(WWW, None, labels), _change(API, None, GREEN)])
    made = _claims(store)
    store.write([_change(WWW, labels, GREEN), _change(API, GREEN, None)])

    assert made == {"www.example.org": labels, "api.example.org": GREEN}
    assert _claims(store) == {"www.example.org": GREEN}
    assert DatabaseClaim.objects.get().owner_id == "green"


@pytest.mark.django_db
@pytest.mark.parametrize("change", [(None, RED), (GREEN, RED), (GREEN, None)])
def test_a_row_that_is_not_as_it_was_read_leaves_all_as_they_are(
    change: tuple[str | None, str | None],
) -> None:
    store = _open()
    store.write([_change(WWW, None, BLUE)])

    with pytest.raises(NothingSent, match=r"www\.example\.org A is not what was read"):
        store.write([_change(API, None, BLUE), _change(WWW, *change)])

    assert _claims(store) == {"www.example.org": BLUE}


@pytest.mark.django_db
@pytest.mark.parametrize("owner", ["", f",external-dns/owner={'x' * 256}"])
def test_a_row_without_an_owner_that_can_be_stored_is_refused(owner: str) -> None:
    store = _open()

    with pytest.raises(NothingSent):
        store.write([_change(WWW, None, f"heritage=external-dns{owner}")])

    assert _claims(store) == {}


@pytest.mark.django_db
def test_an_intent_is_one_until_it_is_said_to_have_come_true() -> None:
    store = _open()

    store.write([StoredClaimChange(WWW, None, BLUE, is_intent=True)])
    meant = store.fetch_claims()
    store.write([_change(WWW, BLUE, BLUE)])

    assert list(meant) == [StoredClaim(endpoint_key(WWW), BLUE, meant_targets=WWW.targets)]
    assert list(store.fetch_claims()) == [StoredClaim(endpoint_key(WWW), BLUE)]


@pytest.mark.django_db
def test_the_digest_changes_with_each_write_and_a_row_is_read_when_it_is_asked_for(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    store, other = _open(), _open("other")
    store.write([_change(WWW, None, BLUE)])
    before, beside = store.fetch_reading().digest, other.fetch_reading().digest

    with django_assert_num_queries(1):
        again = store.fetch_reading()
    store.write([_change(WWW, BLUE, GREEN)])
    store.write([_change(WWW, GREEN, BLUE)])

    assert again.digest == before
    assert store.fetch_reading().digest != before
    assert other.fetch_reading().digest == beside
    assert [claim.text for claim in again.claims] == [BLUE]


@pytest.mark.django_db
def test_rows_are_of_one_profile_and_found_by_their_names() -> None:
    store, other = _open(), _open("other")
    store.write([_change(WWW, None, BLUE), _change(API, None, BLUE)])
    other.write([_change(WWW, None, GREEN)])

    found = store.fetch_claims_at({"www.example.org", "nothing.example.org"})

    assert [(claim.key.name, claim.text) for claim in found] == [("www.example.org", BLUE)]
    assert _claims(other) == {"www.example.org": GREEN}


@pytest.mark.django_db
def test_many_rows_take_a_few_statements(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    store = _open()
    records = [make_record(f"app-{number}.example.org") for number in range(900)]

    with django_assert_max_num_queries(30):
        store.write([_change(each, None, BLUE) for each in records])
    with django_assert_max_num_queries(30):
        store.write([_change(each, BLUE, GREEN) for each in records])
    with django_assert_max_num_queries(30):
        store.write([_change(each, GREEN, None) for each in records])

    assert _claims(store) == {}


@pytest.mark.django_db(transaction=True)
def test_of_two_writers_of_one_row_one_wins() -> None:
    store = _open()
    store.write([_change(WWW, None, BLUE)])
    ready = Barrier(2)

    def write(text: str) -> bool:
        try:
            ready.wait()
            store.write([_change(WWW, BLUE, text)])
        except NothingSent:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(2) as pool:
        won = list(pool.map(write, [GREEN, RED]))

    assert sorted(won) == [False, True]
    assert _claims(store) == {"www.example.org": GREEN if won[0] else RED}


@pytest.mark.django_db
def test_a_deleted_profile_takes_no_rows() -> None:
    store = _open()
    RegistryProfile.objects.update(deleted_at="2026-01-01T00:00:00Z")

    with pytest.raises(NothingSent, match="was deleted"):
        store.write([_change(WWW, None, BLUE)])
