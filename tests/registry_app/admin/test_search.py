"""One box finds record sets, owners, transfers and findings; the lists take the same text as a filter."""

import pytest
from django.test import Client
from django.urls import reverse

from registry_app.models import Transfer
from tests.factories import make_administrator, make_finding, make_owner, make_record_set, make_user
from tests.registry_app.admin.world import address, make_fresh_provider, make_one_of_each, read_text, sign_in

pytestmark = pytest.mark.django_db
_LISTS = ("recordset", "owner", "transfer", "finding")


def test_what_holds_a_text_is_shown_by_noun_with_the_way_to_its_list() -> None:
    zone, owner = make_fresh_provider(), make_owner("shop-cluster")
    for number in range(7):
        make_record_set(zone, f"shop-{number}.example.org", owner=owner)
    make_finding(provider=zone, name="shop.example.org", explanation="Nobody owns it.")
    make_finding(provider=zone, name="shop.example.net", state="resolved")
    client = sign_in(make_user("dora"))

    response = client.get(reverse("find"), {"q": "SHOP"})

    page = read_text(response)
    found = {each.title: (len(each.rows), each.has_more, each.list_url) for each in response.context["found"]}
    assert found == {
        "Record sets": (5, True, f"{address('recordset_changelist')}?q=SHOP"),
        "Owners": (1, False, f"{address('owner_changelist')}?q=SHOP"),
        "Findings": (1, False, f"{address('finding_changelist')}?q=SHOP"),
    }
    for _count, _more, url in found.values():
        assert client.get(url).context["cl"].result_list, url
    assert "shop-0.example.org A" in page
    assert "shop-6.example.org" not in page
    assert 'value="SHOP"' in page


def test_a_transfer_is_found_by_number_reason_owner_and_a_name_in_it() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    transfer = Transfer.objects.get()
    item = transfer.items.first()
    client = sign_in(root)
    searched = [
        str(transfer.public_id),
        transfer.reason[1:8].upper(),
        item.name if item else "",
        "#" + "0" * 9,
    ]

    found = [
        list(client.get(address("transfer_changelist"), {"q": text}).context["cl"].result_list)
        for text in searched
    ]

    assert found[:2] == [[transfer], [transfer]]
    assert item is None or found[2] == [transfer]
    assert found[3] == []


def test_a_text_that_is_too_short_or_hostile_finds_nothing_and_breaks_nothing() -> None:
    make_one_of_each(1, make_administrator())
    client = sign_in(make_administrator("ruth"))
    hostile = ('"""', "'; DROP TABLE x; --", "%%%", "___", "\0\0\0", "NEAR(a b)", "\\\\\\")
    for text in ("ab", "", "a" * 256, *hostile):
        page = client.get(reverse("find"), {"q": text})
        assert page.status_code == 200, text
        assert not page.context["found"], text
        for noun in _LISTS:
            shown = client.get(address(f"{noun}_changelist"), {"q": text})
            assert shown.status_code == 200, (noun, text)
            assert bool(shown.context["cl"].result_list) is not bool(text), (noun, text)
    assert "Give at least 3 characters." in read_text(client.get(address("owner_changelist"), {"q": "ab"}))
    assert "Give at least 3 characters." in read_text(client.get(reverse("find")))


def test_a_search_is_combined_with_other_filters_and_exported() -> None:
    zone = make_fresh_provider()
    make_record_set(zone, "shop.example.org", owner=make_owner())
    make_record_set(zone, "shop.example.net")
    client = sign_in(make_administrator())

    response = client.get(address("recordset_changelist"), {"q": "hop.ex", "state": "unmanaged"})

    assert [row.name for row in response.context["cl"].result_list] == ["shop.example.net"]
    assert all("q=hop.ex" in url for _label, url in response.context["cl"].exports)


def test_nobody_searches_without_being_signed_in() -> None:
    response = Client().get(reverse("find"), {"q": "shop"})

    assert response.status_code == 302
    assert response.headers["Location"].startswith(reverse("admin:login"))
