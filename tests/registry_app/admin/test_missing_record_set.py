"""The page of a missing record set says who owned it, and offers nothing."""

import pytest
from django.utils import timezone

from tests.factories import make_administrator, make_owner, make_record_set
from tests.registry_app.admin.world import address, make_fresh_provider, read_text, sign_in

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def test_it_says_whose_it_was_when_it_was_last_read() -> None:
    row = make_record_set(make_fresh_provider(), owner=make_owner(), missing_since=timezone.now())

    response = sign_in(make_administrator()).get(address("recordset_change", row.pk))

    page = read_text(response)
    assert "is gone; when it was last read, blue-cluster owned it." in page
    assert "is unmanaged" not in page
    assert response.context["acts"] == []


def test_one_that_nobody_owned_says_so() -> None:
    row = make_record_set(make_fresh_provider(), missing_since=timezone.now())

    page = read_text(sign_in(make_administrator()).get(address("recordset_change", row.pk)))

    assert "when it was last read, it was unmanaged." in page
    assert "Adopt it" not in page
