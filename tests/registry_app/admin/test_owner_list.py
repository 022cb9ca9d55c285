"""Owners: who holds what, and where it is listed."""

import pytest

from tests.factories import make_administrator, make_owner
from tests.registry_app.admin.world import address, make_claimed, make_fresh_provider, read_text, sign_in

pytestmark = pytest.mark.django_db


def test_an_owner_in_its_list_leads_to_what_it_holds() -> None:
    provider = make_fresh_provider()
    owner = make_owner()
    make_claimed(provider, owner)
    client = sign_in(make_administrator())

    page = read_text(client.get(address("owner_changelist")))

    query = f"?owner={owner.pk}&amp;provider={provider.pk}"
    assert f'href="{address("recordset_changelist")}{query}">1 at blue-zone</a>' in page
