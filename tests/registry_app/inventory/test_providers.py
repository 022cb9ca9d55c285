"""Providers are registered and changed with every check, one audit line, and no secret anywhere else."""

import json
from datetime import timedelta

import pytest
from pytest_django import Settings

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.inventory.provider import change_provider, register_provider
from registry_app.models import AuditEntry, Provider

ALICE = Actor(kind="user", name="alice", user_id=1)
SECRET = "s3cr3t-of-the-provider"
URL = "http://127.0.0.1:8888"


def _register(**values: object) -> Provider:
    return register_provider(SYSTEM, {"name": "public-dns", "url": URL, **values})


@pytest.mark.django_db
def test_it_stores_a_provider_with_one_audit_line() -> None:
    provider = _register(secret=SECRET, authentication="bearer")

    entry = AuditEntry.objects.get()
    assert Provider.objects.get() == provider
    assert (entry.action, entry.object_id, entry.actor_name) == (
        "provider.registered",
        str(provider.pk),
        "dnsadmin",
    )
    assert SECRET not in json.dumps([entry.before, entry.after])


@pytest.mark.django_db
@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://dns.example.org",
        "http://",
        "http://dns.example.org:99999",
        "http://dns.example.org/\nHost: other",
        "http://dns.example.org/#fragment",
        "javascript:alert(1)",
        "//dns.example.org",
        "http://" + "a" * 3000,
        "http://dns.exa mple.org",
        "http://user:pa:ss@@dns.example.org",
    ],
)
def test_it_refuses_a_url_it_cannot_sync_and_says_which_field(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _register(url=url)

    assert "url" in caught.value.fields
    assert not Provider.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_it_moves_user_info_out_of_the_url_into_the_credentials() -> None:
    provider = _register(url=f"http://reader:{SECRET}@127.0.0.1:8888/base")

    assert provider.url == "http://127.0.0.1:8888/base"
    assert (provider.authentication, provider.username, provider.secret) == ("basic", "reader", SECRET)
    assert SECRET not in json.dumps(list(AuditEntry.objects.values_list("after", flat=True)))


@pytest.mark.django_db
def test_the_query_of_a_url_is_kept_as_a_secret() -> None:
    provider = _register(url=f"http://127.0.0.1:8888/base?tenant=blue&token={SECRET}")

    assert (provider.url, provider.url_query) == ("http://127.0.0.1:8888/base", f"tenant=blue&token={SECRET}")
    assert SECRET not in json.dumps(list(AuditEntry.objects.values_list("after", flat=True)))


@pytest.mark.django_db
def test_the_query_of_a_url_stays_until_it_is_replaced_or_forgotten() -> None:
    provider = _register(url=f"{URL}?token={SECRET}")

    kept = change_provider(SYSTEM, provider.pk, {"url": f"{URL}/webhook"}).url_query
    replaced = change_provider(SYSTEM, provider.pk, {"url_query": "token=another"}).url_query
    forgotten = change_provider(SYSTEM, provider.pk, {"url_query": ""}).url_query

    assert (kept, replaced, forgotten) == (f"token={SECRET}", "token=another", "")
    assert Provider.objects.get().url == f"{URL}/webhook"


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["a b", "a#b", "a\nb", "x" * 4000])
def test_what_no_url_can_carry_is_no_query(query: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _register(url_query=query)

    assert set(caught.value.fields) == {"url_query"}
    assert not Provider.objects.exists()


@pytest.mark.django_db
def test_it_refuses_a_name_that_is_taken() -> None:
    _register()

    with pytest.raises(InvalidRequest) as caught:
        _register()

    assert "name" in caught.value.fields
    assert Provider.objects.count() == 1


@pytest.mark.django_db
def test_only_an_administrator_registers() -> None:
    with pytest.raises(NotAllowed):
        register_provider(ALICE, {"name": "public-dns", "url": URL})

    assert not Provider.objects.exists()


@pytest.mark.django_db
def test_a_changed_origin_clears_the_credentials() -> None:
    entered = {"secret": SECRET, "client_key": "key", "url_query": "token=t", "username": "alice"}
    provider = _register(authentication="basic", **entered)

    changed = change_provider(SYSTEM, provider.pk, {"url": "http://elsewhere.example.org:8888"})

    assert [getattr(changed, name) for name in entered] == ["", "", "", ""]


@pytest.mark.django_db
def test_another_path_at_the_same_origin_keeps_the_credentials() -> None:
    provider = _register(secret=SECRET, authentication="bearer")

    changed = change_provider(SYSTEM, provider.pk, {"url": URL + "/webhook"})

    assert changed.secret == SECRET


@pytest.mark.django_db
def test_new_credentials_may_come_along_with_a_new_origin() -> None:
    provider = _register(secret=SECRET, authentication="bearer")

    changed = change_provider(SYSTEM, provider.pk, {"url": "http://192.0.2.7:8888", "secret": "another"})

    assert changed.secret == "another"


@pytest.mark.django_db
def test_a_stale_form_changes_nothing() -> None:
    provider = _register()
    opened_at = provider.updated_at
    change_provider(SYSTEM, provider.pk, {"interval_seconds": 120})

    with pytest.raises(StateMoved):
        change_provider(SYSTEM, provider.pk, {"interval_seconds": 300}, expected_updated_at=opened_at)

    assert Provider.objects.get().interval_seconds == 120


@pytest.mark.django_db
def test_a_form_opened_in_the_future_is_stale_too() -> None:
    provider = _register()
    expected = provider.updated_at + timedelta(seconds=1)

    with pytest.raises(StateMoved):
        change_provider(SYSTEM, provider.pk, {"interval_seconds": 300}, expected_updated_at=expected)


@pytest.mark.django_db
def test_a_change_that_changes_nothing_is_no_audit_line() -> None:
    provider = _register()

    change_provider(SYSTEM, provider.pk, {"interval_seconds": provider.interval_seconds})

    assert [entry.action for entry in AuditEntry.objects.all()] == ["provider.registered"]


@pytest.mark.django_db
def test_a_new_secret_is_audited_without_its_value() -> None:
    provider = _register(secret=SECRET, authentication="bearer")

    change_provider(SYSTEM, provider.pk, {"secret": "another secret"})

    entry = AuditEntry.objects.get(action="provider.changed")
    assert entry.after == {"secret": "set"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value"),
    [("interval_seconds", 0), ("batch_size", 0), ("deadline_seconds", 10_000), ("max_transfer_percent", 101)],
)
def test_it_refuses_limits_out_of_range_by_field(field: str, value: int) -> None:
    provider = _register()

    with pytest.raises(InvalidRequest) as caught:
        change_provider(SYSTEM, provider.pk, {field: value})

    assert field in caught.value.fields


@pytest.mark.django_db
def test_a_provider_that_does_not_exist_is_reported() -> None:
    with pytest.raises(NotFound, match="no provider 7"):
        change_provider(SYSTEM, 7, {"interval_seconds": 60})


@pytest.mark.django_db
def test_a_secret_no_key_opens_can_be_entered_again(settings: Settings) -> None:
    provider = _register(secret=SECRET, authentication="bearer")
    settings.DNSADMIN_ENCRYPTION_KEYS = (b"n" * 32,)

    change_provider(SYSTEM, provider.pk, {"interval_seconds": 90})
    change_provider(SYSTEM, provider.pk, {"secret": "entered again"})

    assert Provider.objects.get(pk=provider.pk).secret == "entered again"
