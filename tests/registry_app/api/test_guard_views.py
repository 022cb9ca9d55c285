"""The view of a guard endpoint, by program and in the web admin."""

import pytest

from registry_app.models import Owner
from tests.factories import make_administrator, make_guard_endpoint, make_instance, make_owner
from tests.registry_app.admin.world import address, read_text, sign_in
from tests.registry_app.api.client import API, make_client, read

pytestmark = pytest.mark.django_db


def test_a_view_is_switched_on_shown_and_refused() -> None:
    client = make_client(make_administrator())
    row = make_guard_endpoint(make_instance(make_owner(name_patterns=["blue.example.org"])))
    path = f"{API}/guard-endpoints/{row.pk}/"

    switched_on = client.patch(path, {"has_own_view": True}, headers={"If-Match": "*"})
    page = read_text(sign_in(make_administrator("alice")).get(address("guardendpoint_change", row.pk)))
    Owner.objects.update(name_patterns=[])
    refused = client.patch(path, {"has_own_view": True}, headers={"If-Match": "*"})

    assert (switched_on.status_code, read(switched_on)["has_own_view"]) == (200, True)
    assert "the names of its owner" in page
    assert refused.status_code == 422
    assert "has_own_view" in str(read(refused))
