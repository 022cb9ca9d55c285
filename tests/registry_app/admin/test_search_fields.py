"""A row is chosen by its name: a field that searches, however many rows there are."""

import pytest
from django import forms
from django.contrib.auth.models import Group

from registry_app.admin.fields import MOST_SUGGESTED
from registry_app.models import Freeze, Grant, Loop, Owner, Provider, RegistryProfile
from tests.factories import (
    make_administrator,
    make_cluster,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
)
from tests.registry_app.admin.world import address, read_text, sign_in

pytestmark = pytest.mark.django_db
_MANY = 3_000


def test_no_form_and_no_filter_lists_every_row() -> None:
    Owner.objects.bulk_create([Owner(owner_id=f"forged-{number}") for number in range(_MANY)])
    Provider.objects.bulk_create([Provider(name=f"zone-{number}", url="http://a") for number in range(200)])
    make_cluster()
    client = sign_in(make_administrator())
    forms_and_lists = ("transfer_request", "grant_give", "loop_register", "freeze_start", "apitoken_issue")
    lists = ("recordset_changelist", "finding_changelist", "transfer_changelist", "syncrun_changelist")

    for name in (*forms_and_lists, *lists):
        page = client.get(address(name))
        assert page.status_code == 200, name
        text = read_text(page)
        assert text.count("forged-") <= 3 * MOST_SUGGESTED, name
        assert text.count("zone-") <= 3 * MOST_SUGGESTED, name


def test_every_choice_of_an_owner_provider_or_cluster_is_a_search() -> None:
    client = sign_in(make_administrator())
    stock = []
    for name in ("transfer_request", "grant_give", "loop_register", "freeze_start", "owner_register"):
        form = client.get(address(name)).context["form"]
        stock += [
            (name, field.name)
            for field in form
            if isinstance(field.field, forms.ModelChoiceField)
            and isinstance(field.field.widget, forms.Select | forms.SelectMultiple)
        ]

    assert stock == []


def test_what_is_typed_is_searched_and_found_in_any_place() -> None:
    for name in ("blue-cluster", "green-cluster", "parked"):
        make_owner(name)
    client = sign_in(make_user("dora"))

    found = client.get(address("owner_search"), {"q": "CLUSTER"}).json()
    none = client.get(address("owner_search"), {"q": "zebra\0"}).json()

    assert found == {"names": ["blue-cluster", "green-cluster"], "notes": {}}
    assert none == {"names": [], "notes": {}}


def test_a_suggestion_that_looks_like_a_registered_owner_says_so() -> None:
    make_owner("blue-cluster")
    make_owner("Blue-Cluster", status="discovered")
    client = sign_in(make_user("dora"))

    found = client.get(address("owner_search"), {"q": "cluster"}).json()

    assert found["names"] == ["Blue-Cluster", "blue-cluster"]
    assert found["notes"] == {"Blue-Cluster": "looks like blue-cluster, is not registered"}


def test_a_name_that_does_not_exist_is_refused_with_those_like_it() -> None:
    make_owner("blue-cluster")
    client = sign_in(make_administrator())
    form = {"kind": "transfer", "names": "www.example.org", "target_owner_id": "blue", "reason": "a move"}

    page = read_text(client.post(address("transfer_request"), form))

    assert "There is no owner &#x27;blue&#x27;. Did you mean: blue-cluster?" in page
    assert 'value="blue"' in page


def test_a_form_begins_with_the_name_of_the_row_that_a_link_names() -> None:
    provider = make_provider("blue-zone")
    client = sign_in(make_administrator())

    page = client.get(address("freeze_start"), {"provider": provider.pk})
    client.post(address("freeze_start"), {"provider": "blue-zone", "reason": "Change stop."})

    assert page.context["form"]["provider"].value() == "blue-zone"
    assert Freeze.objects.get().provider == provider


def test_a_name_that_looks_like_a_primary_key_is_a_name() -> None:
    first = make_provider("first")
    named = make_provider(str(first.pk))
    client = sign_in(make_administrator())

    client.post(address("freeze_start"), {"provider": named.name, "reason": "Change stop."})

    assert Freeze.objects.get().provider == named


def test_nothing_typed_is_nothing_chosen() -> None:
    team = Group.objects.create(name="team-blue")
    client = sign_in(make_administrator())

    client.post(address("grant_give"), {"group": team.name, "action": "operate", "provider": "", "owner": ""})

    assert (Grant.objects.get().provider, Grant.objects.get().owner) == (None, None)


def test_several_rows_are_named_one_a_line() -> None:
    blue, green = make_provider("blue-zone"), make_provider("green-zone")
    make_provider("third")
    client = sign_in(make_administrator())
    form = {"name": "plain", "kind": "txt", "providers": "blue-zone\r\ngreen-zone\r\n"}

    client.post(address("registryprofile_register"), form)
    row = RegistryProfile.objects.get()
    page = client.get(address("registryprofile_edit", row.pk))
    unknown = client.post(address("registryprofile_edit", row.pk), {**form, "providers": "blue-zone\nred"})

    assert set(row.providers.all()) == {blue, green}
    assert page.context["form"]["providers"].value() == "blue-zone\ngreen-zone"
    assert "There is no provider &#x27;red&#x27;." in read_text(unknown)


def test_an_unchanged_form_changes_nothing() -> None:
    owner, provider = make_owner("parked"), make_provider("blue-zone")
    loop = Loop.objects.create(owner=owner, provider=provider)
    client = sign_in(make_administrator())
    page = client.get(address("loop_edit", loop.pk))
    shown = {field.name: field.value() for field in page.context["form"] if field.value() is not None}

    client.post(address("loop_edit", loop.pk), {**shown, "interval_seconds": 90})

    loop.refresh_from_db()
    assert (loop.owner, loop.provider, loop.interval_seconds) == (owner, provider, 90)


def test_a_list_is_filtered_by_a_typed_name_and_by_the_row_of_a_link() -> None:
    provider = make_provider()
    blue = make_owner("blue-cluster")
    number = make_owner(str(blue.pk))
    make_record_set(provider, "blue.example.org", owner=blue)
    make_record_set(provider, "number.example.org", owner=number)
    client = sign_in(make_user("dora"))
    url = address("recordset_changelist")

    by_link = read_text(client.get(url, {"owner": blue.pk}))
    by_name = read_text(client.get(url, {"owner_name": number.owner_id}))
    by_no_name = read_text(client.get(url, {"owner_name": "nobody\0"}))

    assert ("blue.example.org" in by_link, "number.example.org" in by_link) == (True, False)
    assert 'value="blue-cluster"' in by_link
    assert ("blue.example.org" in by_name, "number.example.org" in by_name) == (False, True)
    assert "Nothing matches this filter." in by_no_name
