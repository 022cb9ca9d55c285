"""Lists are narrowed by a form of their own, and by nothing else."""

import pytest

from registry_app.models import OwnershipState
from tests.factories import make_administrator, make_finding, make_owner, make_record_set
from tests.registry_app.admin.world import address, make_claimed, make_fresh_provider, read_text, sign_in

pytestmark = pytest.mark.django_db


def test_record_sets_are_found_by_what_is_asked_for() -> None:
    provider = make_fresh_provider()
    make_claimed(provider, make_owner(), "blue.example.org")
    make_record_set(provider, "api.blue.example.org")
    make_record_set(provider, "api.green.example.org", record_type="AAAA", state=OwnershipState.UNKNOWN)
    client = sign_in(make_administrator())
    rows: list[tuple[dict[str, str], list[str]]] = [
        ({"name_prefix": "api"}, ["api.blue.example.org", "api.green.example.org"]),
        ({"name_prefix": "API.Blue"}, ["api.blue.example.org"]),
        ({"name_suffix": "blue.example.org"}, ["blue.example.org", "api.blue.example.org"]),
        ({"name_suffix": ".Blue.Example.ORG."}, ["blue.example.org", "api.blue.example.org"]),
        ({"name_suffix": "lue.example.org"}, []),
        ({"type": "AAAA"}, ["api.green.example.org"]),
        ({"state": "owned"}, ["blue.example.org"]),
        ({"missing": "yes"}, []),
        ({"missing": "no", "name_prefix": "blue"}, ["blue.example.org"]),
        ({"provider": "999999"}, []),
        ({"owner": "no number"}, []),
        ({"name_prefix": "%"}, []),
        ({"name_prefix": "\0"}, []),
        ({"name_suffix": "\0"}, []),
        ({"name_prefix": "api.blue.example.org", "type": "MX"}, []),
    ]
    for query, found in rows:
        response = client.get(address("recordset_changelist"), query)

        assert [row.name for row in response.context["cl"].result_list] == found, query


@pytest.mark.parametrize(
    "query", [{"name__regex": "(a+)+$"}, {"provider__secret__startswith": "h"}, {"resource__contains": "x"}]
)
def test_a_list_takes_no_lookup_it_did_not_offer(query: dict[str, str]) -> None:
    client = sign_in(make_administrator())

    response = client.get(address("recordset_changelist"), query)

    assert response.status_code == 400


def test_a_filter_without_a_match_says_so_and_can_be_cleared() -> None:
    make_record_set(make_fresh_provider())
    client = sign_in(make_administrator())

    page = read_text(client.get(address("recordset_changelist"), {"name_prefix": "nowhere"}))

    assert "Nothing matches this filter." in page
    assert 'href="?"' in page


def test_resolved_findings_are_shown_when_asked_for() -> None:
    make_finding(state="resolved")
    make_finding(state="open")
    client = sign_in(make_administrator())

    shown = [
        client.get(address("finding_changelist"), query).context["cl"].result_count
        for query in ({}, {"state": "resolved"}, {"state": "all"})
    ]

    assert shown == [1, 1, 2]


def test_the_page_after_the_last_leads_back_to_the_list() -> None:
    provider = make_fresh_provider()
    for number in range(101):
        make_record_set(provider, f"www-{number}.example.org")
    client = sign_in(make_administrator())

    response = client.get(address("recordset_changelist"), {"p": "7"})

    assert response.status_code == 302


def test_all_that_match_a_filter_can_be_transferred_without_naming_each() -> None:
    owner = make_owner()
    make_claimed(make_fresh_provider(), owner)
    client = sign_in(make_administrator())

    owner_pk = str(owner.pk)
    page = read_text(client.get(address("recordset_changelist"), {"owner": owner_pk, "type": "A"}))
    form = client.get(address("transfer_request"), {"owner": owner_pk, "type": "A"}).context["form"]

    assert f"owner={owner.pk}&amp;type=A" in page
    assert (form["owner"].value(), form["record_types"].value()) == ("blue-cluster", "A")


def test_links_with_the_old_names_of_filters_still_work() -> None:
    owner = make_owner()
    provider = make_fresh_provider()
    make_claimed(provider, owner)
    client = sign_in(make_administrator())

    led_on = client.get(address("recordset_changelist"), {"below": "example.org", "type": "A"})
    form = client.get(address("transfer_request"), {"record_types": "A", "states": "owned"}).context["form"]

    assert led_on["Location"] == f"{address('recordset_changelist')}?name_suffix=example.org&type=A"
    assert (form["record_types"].value(), form["states"].value()) == ("A", ["owned"])


def test_a_link_may_name_an_owner_or_a_provider() -> None:
    owner = make_owner()
    make_claimed(make_fresh_provider(), owner)
    client = sign_in(make_administrator())

    for query in ({"owner": owner.owner_id}, {"provider": "blue-zone"}):
        shown = client.get(address("recordset_changelist"), query).context["cl"].result_list
        assert len(shown) == 1, query
    assert not client.get(address("recordset_changelist"), {"owner": "nobody"}).context["cl"].result_list
