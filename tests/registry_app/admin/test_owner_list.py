"""Owners: how much each owns, and where that is listed."""

import pytest

from tests.factories import make_administrator, make_finding, make_owner
from tests.registry_app.admin.world import (
    address,
    make_claimed,
    make_fresh_provider,
    make_transfer,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


def test_an_owner_in_its_list_leads_to_what_it_holds() -> None:
    provider = make_fresh_provider()
    owner = make_owner()
    make_claimed(provider, owner)
    client = sign_in(make_administrator())

    page = read_text(client.get(address("owner_changelist")))

    query = f"?owner={owner.pk}&amp;provider={provider.pk}"
    assert f'href="{address("recordset_changelist")}{query}">1 at blue-zone</a>' in page


def test_all_findings_of_an_owner_are_one_click_away() -> None:
    blue, green = make_owner(), make_owner("green-cluster")
    for number in range(25):
        make_finding(owner=blue, name=f"{number}.example.org")
    make_finding(owner=green, name="green.example.org")
    client = sign_in(make_administrator())

    url = client.get(address("owner_change", blue.pk)).context["all_findings"]

    assert client.get(url).context["cl"].result_count == 25


def test_an_owner_that_looks_like_a_registered_one_is_marked_wherever_it_is_shown() -> None:
    provider = make_fresh_provider()
    blue = make_owner("blue-cluster")
    forged = make_owner("blu\N{CYRILLIC SMALL LETTER IE}-cluster", status="discovered")
    row = make_claimed(provider, forged)
    make_finding(owner=forged)
    make_transfer(provider, forged, blue)
    client = sign_in(make_administrator())
    pages = (
        address("owner_changelist"),
        address("owner_change", forged.pk),
        address("recordset_changelist"),
        address("recordset_change", row.pk),
        address("finding_changelist"),
        address("transfer_changelist"),
        address("transfer_request"),
    )

    texts = {url: read_text(client.get(url)) for url in pages}

    counts = {url: text.count("looks like blue-cluster, is not registered") for url, text in texts.items()}
    # A list has it in its rows and in the suggestions of its filter, the form in those of its fields.
    assert list(counts.values()) == [1, 1, 2, 2, 2, 2, 2], counts
