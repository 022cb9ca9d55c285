"""A filter of a list is kept under a name, shared, pinned, and leads back to the same rows; and the columns
that a person chose stay as they are."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import resolve, reverse

from registry_app.admin.filters import RowFilter
from registry_app.admin.list_page import ListPage
from registry_app.api.schema import known_parameters
from registry_app.models import AuditEntry, ChosenColumns, SavedFilter
from registry_app.queries.saved_filter import LISTS
from tests.factories import make_administrator, make_finding, make_owner, make_record_set, make_user
from tests.registry_app.admin.world import (
    NOUNS,
    address,
    make_fresh_provider,
    make_one_of_each,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return _make_member("alice")


def _make_member(name: str) -> User:
    user = make_user(name)
    user.groups.add(Group.objects.get_or_create(name="team-blue")[0])
    return user


def _save(client: Client, noun: str, filters: dict[str, str], **values: str) -> SavedFilter:
    """Save what the list shows with these filters, as a person does."""
    page = read_text(client.get(address(f"{noun}_changelist"), filters))
    (link,) = (unescape(each) for each in re.findall(r'href="([^"]+)">Save this filter', page))
    form = client.get(link).context["form"]
    given = {name: form[name].value() for name in ("list_name", "filters")}
    response = client.post(link.partition("?")[0], {**given, "name": "mine", **values})
    assert response.status_code == 302, read_text(response)
    return SavedFilter.objects.latest("pk")


def test_a_saved_filter_leads_to_the_same_rows_on_the_page_and_in_the_api(alice: User) -> None:
    zone, owner = make_fresh_provider(), make_owner("12")
    for name in ("a.example.org", "b.example.org"):
        make_record_set(zone, name, owner=owner)
        make_record_set(zone, name, record_type="TXT")
    gone = make_record_set(zone, "gone.example.org")
    type(gone).objects.filter(pk=gone.pk).update(missing_since=gone.changed_at)
    make_finding(provider=zone, state="resolved")
    make_finding(provider=zone)
    client = sign_in(alice)
    for number, (noun, filters) in enumerate(
        (
            ("recordset", {"owner": str(owner.pk), "name_prefix": "b"}),
            ("recordset", {"owner_name": "12", "q": "a.ex"}),
            ("recordset", {"type": "TXT,A", "state": "owned,unmanaged", "missing": "no"}),
            ("recordset", {"missing": "yes", "provider": str(zone.pk)}),
            ("finding", {"provider_name": zone.name}),
        )
    ):
        shown = [
            row.pk for row in client.get(address(f"{noun}_changelist"), filters).context["cl"].result_list
        ]
        row = _save(client, noun, filters, name=f"filter {number}")
        page = read_text(client.get(address(f"{noun}_changelist")))
        (url,) = (unescape(each) for each in re.findall(rf'href="([^"]+)">filter {number}<', page))
        again = [each.pk for each in client.get(url).context["cl"].result_list]
        listed = client.get(reverse(f"{noun}-list"), row.filters).json()["items"]

        assert again == shown, filters
        assert sorted(each["id"] for each in listed) == sorted(shown), filters
        assert shown, filters


def test_a_group_sees_what_is_shared_with_it_and_only_its_owner_changes_it(alice: User) -> None:
    bob, charlie, root = _make_member("bob"), make_user("charlie"), make_administrator()
    zone = make_fresh_provider()
    make_record_set(zone)
    mine = sign_in(alice)
    group = Group.objects.get()
    row = _save(mine, "recordset", {"name_suffix": "example.org"}, group=str(group.pk), is_pinned="on")
    own = _save(mine, "recordset", {"type": "A"}, name="own")
    detail, edit = address("savedfilter_change", row.pk), address("savedfilter_edit", row.pk)
    wanted = {
        "name": "renamed",
        "filters": "name_suffix=example.org",
        "is_pinned": "on",
        "group": str(group.pk),
    }

    seen = {
        user.username: [
            sign_in(user).get(address(f"savedfilter_{page}", each.pk)).status_code
            for each in (row, own)
            for page in ("change", "edit", "remove")
        ]
        for user in (bob, charlie, root)
    }
    theirs = [sign_in(user).post(edit, wanted).status_code for user in (bob, charlie, root)]
    pinned = [
        "Pinned filters" in read_text(sign_in(user).get(reverse("admin:index")))
        for user in (alice, bob, charlie, root)
    ]

    assert seen == {
        "bob": [200, 403, 403, 404, 404, 404],
        "charlie": [404] * 6,
        "root": [200, 403, 200] * 2,
    }
    assert theirs == [403, 404, 403]
    assert pinned == [True, True, False, False]
    assert mine.post(edit, wanted).status_code == 302
    assert "renamed" in read_text(mine.get(detail))
    assert mine.post(address("savedfilter_remove", row.pk)).status_code == 302
    actions = AuditEntry.objects.filter(action__startswith="savedfilter.").order_by("pk")
    assert list(actions.values_list("action", "actor_name")) == [
        ("savedfilter.saved", "alice"),
        ("savedfilter.saved", "alice"),
        ("savedfilter.changed", "alice"),
        ("savedfilter.deleted", "alice"),
    ]


def test_a_pinned_filter_has_its_count(alice: User) -> None:
    zone = make_fresh_provider()
    for number in range(3):
        make_record_set(zone, f"www-{number}.example.org")
    client = sign_in(alice)
    _save(client, "recordset", {"q": "www-"}, name="counted", is_pinned="on")
    _save(client, "recordset", {"type": "A"}, name="too dear", is_pinned="on")

    pinned = client.get(reverse("admin:index")).context["pinned"]

    assert [(name, amount) for name, _url, amount in pinned] == [("counted", "3"), ("too dear", "")]


def test_what_cannot_be_saved_is_refused_beside_its_field(alice: User) -> None:
    Group.objects.create(name="team-green")
    client = sign_in(alice)
    register = address("savedfilter_register")
    fit = {"name": "mine", "list_name": "record-sets", "filters": "type=A"}
    assert client.post(register, fit).status_code == 302
    for change, field in (
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "other", "filters": "resource=x"}, "filters"),
        ({"name": "other", "filters": "type="}, "filters"),
        ({"name": "other", "filters": f"q={'x' * 256}"}, "filters"),
        ({"name": "other", "list_name": "users"}, "list_name"),
        ({"name": "other", "group": "team-green"}, "group"),
    ):
        response = client.post(register, {**fit, **change})

        assert response.status_code == 422, change
        assert list(response.context["form"].errors) == [field], change


def test_every_filter_of_a_page_can_be_saved_by_its_name_in_the_api() -> None:
    pages: dict[str, Any] = {
        str(page.opts.model_name): page
        for page in map(admin.site.get_model_admin, list(admin.site._registry))
        if isinstance(page, ListPage)
        and page.list_filter
        and page.opts.model_name not in ("grant", "savedfilter")
    }
    assert pages.keys() == {each.page for each in LISTS.values()}
    for name, each in LISTS.items():
        view: Any = resolve(reverse(f"{each.page}-list"))
        specs = [(spec.parameter_name, issubclass(spec, RowFilter)) for spec in pages[each.page].list_filter]
        of_page = {f"{parameter}_name" if is_row else parameter for parameter, is_row in specs}

        assert f"/{name}/" in f"/{view.route}", name
        assert set(each.filters) <= known_parameters(view.func.cls, "list", "GET"), name
        assert of_page <= {*each.plain, *each.rows.values()}, name


def test_chosen_columns_stay_until_the_default_is_wanted_again(alice: User) -> None:
    make_record_set(make_fresh_provider(), resource="ingress/shop/web")
    client = sign_in(alice)
    url = reverse("columns", args=["recordset"])

    def labels() -> list[str]:
        shown: list[str] = client.get(address("recordset_changelist")).context["cl"].table.labels
        return shown

    usual = labels()
    chosen = ["resource_shown", "state_shown", "nonsense", "password"]
    response = client.post(url, {"columns": chosen, "back": "type=A&q=www"})
    narrow = labels()
    other = sign_in(make_user("bob")).get(address("recordset_changelist")).context["cl"].table.labels
    client.post(url, {"columns": chosen, "reset": "1"})

    assert urlsplit(response.headers["Location"]).path == address("recordset_changelist")
    assert dict(parse_qsl(urlsplit(response.headers["Location"]).query)) == {"type": "A", "q": "www"}
    assert narrow == ["Name", "State", "Resource"]
    assert labels() == usual == other
    assert not ChosenColumns.objects.exists()
    assert client.get(url).status_code == 405
    assert client.post(reverse("columns", args=["user"])).status_code == 404
    assert Client().post(url, {"columns": chosen}).status_code == 302
    assert not ChosenColumns.objects.exists()


def test_every_list_shows_every_column_that_can_be_chosen() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    client = sign_in(root)
    for noun in NOUNS:
        choices = client.get(address(f"{noun}_changelist")).context["cl"].column_choices
        names = [name for name, _label, _shown in choices]
        client.post(reverse("columns", args=[noun]), {"columns": names})
        shown = client.get(address(f"{noun}_changelist"))

        assert shown.status_code == 200, noun
        assert len(shown.context["cl"].table.labels) == len(names) + 1, noun
