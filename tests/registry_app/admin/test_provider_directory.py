"""The publicly known webhook providers, and the forms that begin with their settings."""

import pytest

from registry_app.inventory.provider_directory import list_known_providers
from registry_app.models import Provider
from tests.depth import deep_after
from tests.factories import make_administrator, make_user
from tests.registry_app.admin.test_config_forms import PROVIDER_FORM
from tests.registry_app.admin.world import address, read_text, sign_in

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def test_every_known_provider_is_listed_once_with_its_quirks() -> None:
    client = sign_in(make_administrator())

    page = read_text(client.get(address("provider_directory")))

    known = list_known_providers()
    assert len({each.slug for each in known}) == len(known) > 30
    assert all(f"?known={each.slug}" in page for each in known)
    assert "Wildcards cannot be held." in page


@pytest.mark.parametrize("slug", deep_after(4, [each.slug for each in list_known_providers()]))
def test_its_form_begins_with_settings_that_are_accepted(slug: str) -> None:
    client = sign_in(make_administrator())

    response = client.get(address("provider_register"), {"known": slug})
    form = response.context["form"]
    typed = {name: str(value) for name, value in form.initial.items() if value is not None}
    saved = client.post(address("provider_register"), {**PROVIDER_FORM, **typed})

    assert saved.status_code == 302, read_text(saved)
    provider = Provider.objects.get()
    assert provider.description.replace("\r\n", "\n") == form.initial["description"]
    assert str(provider.write_mode) == typed.get("write_mode", Provider.WriteMode.UNKNOWN)


def test_a_provider_that_is_not_known_gets_the_usual_form() -> None:
    client = sign_in(make_administrator())

    response = client.get(address("provider_register"), {"known": "<script>"})

    assert response.status_code == 200
    assert "<script>" not in read_text(response)
    assert address("provider_directory") in read_text(response)


def test_who_may_not_register_is_offered_no_form() -> None:
    client = sign_in(make_user("charlie"))

    page = client.get(address("provider_directory"))

    assert page.status_code == 200
    assert "?known=" not in read_text(page)
