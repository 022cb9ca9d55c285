"""What voids an accepted answer: whatever it would now be read differently with."""

import pytest

from registry_app.mirror.reading import fetch_reading
from registry_app.models import Owner, RegistryProfile
from tests.factories import make_owner, make_provider

pytestmark = pytest.mark.django_db
BODY = "00" * 16


def test_nothing_changed_is_the_same_reading() -> None:
    provider = make_provider()

    first, second = fetch_reading(provider), fetch_reading(provider)

    assert first.digest == second.digest


def test_a_discovered_owner_changes_no_reading() -> None:
    provider = make_provider()
    before = fetch_reading(provider).digest

    make_owner("green-cluster", status=Owner.Status.DISCOVERED)

    assert fetch_reading(provider).digest == before


def test_registering_an_owner_changes_it() -> None:
    provider = make_provider()
    before = fetch_reading(provider).digest

    make_owner("green-cluster")

    assert fetch_reading(provider).digest != before


def test_an_owners_patterns_change_it() -> None:
    provider, owner = make_provider(), make_owner()
    before = fetch_reading(provider).digest

    owner.name_patterns = ["blue.example.org"]
    owner.save()

    assert fetch_reading(provider).digest != before


def test_a_profile_of_this_provider_changes_it_and_one_of_another_does_not() -> None:
    provider, other = make_provider(), make_provider("green-zone")
    before = fetch_reading(provider).digest

    RegistryProfile.objects.create(name="there", prefix="there.").providers.add(other)
    after_other = fetch_reading(provider).digest
    RegistryProfile.objects.create(name="here", prefix="here.").providers.add(provider)

    assert after_other == before
    assert fetch_reading(provider).digest != before


def test_another_encryption_key_changes_it() -> None:
    provider = make_provider()
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key="a" * 32)
    before = fetch_reading(provider).digest

    profile.encryption_key = "b" * 32
    profile.save()

    assert fetch_reading(provider).digest != before
