"""A database of before: the query of a provider's URL moves to where secrets are kept, and back."""

import pytest
from django.core.management import call_command
from django.db import connection

from registry_app.models import Provider
from tests.factories import make_provider

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]

BEFORE = "0002_names_in_byte_order"


def test_it_is_moved_and_no_data_are_lost_on_either_way() -> None:
    plain = make_provider("plain", url="http://192.0.2.1:8888/base")
    make_provider("told", url="http://192.0.2.2:8888/base", url_query="token=correct-horse")

    try:
        call_command("migrate", "registry_app", BEFORE, verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, url FROM registry_app_provider ORDER BY name")
            before = cursor.fetchall()
    finally:
        call_command("migrate", "registry_app", verbosity=0)

    told = Provider.objects.get(name="told")
    assert before == [("plain", plain.url), ("told", "http://192.0.2.2:8888/base?token=correct-horse")]
    assert (told.url, told.url_query) == ("http://192.0.2.2:8888/base", "token=correct-horse")
    assert Provider.objects.get(name="plain").url_query == ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT url_query FROM registry_app_provider WHERE name = 'told'")
        assert "correct-horse" not in cursor.fetchone()[0]
