"""The registry profiles that claims at one provider are read under."""

import pytest

from providers.registries.claim import TxtProfile
from registry_app.errors import SecretUnavailable
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.models import RegistryProfile
from tests.factories import make_provider

pytestmark = pytest.mark.django_db
KEY = "01234567890123456789012345678901"


def test_the_default_profile_is_always_one_of_them() -> None:
    assert fetch_txt_profiles(make_provider()) == [TxtProfile()]


def test_a_registered_default_is_not_doubled() -> None:
    row = RegistryProfile.objects.create(name="default")

    assert fetch_txt_profiles(make_provider()) == [TxtProfile(reference=str(row.pk))]


def test_profiles_of_other_providers_are_left_out_and_those_of_none_are_tried_everywhere() -> None:
    provider, other = make_provider(), make_provider("green-zone")
    RegistryProfile.objects.create(name="everywhere", prefix="any.")
    RegistryProfile.objects.create(name="here", prefix="here.").providers.add(provider)
    RegistryProfile.objects.create(name="there", prefix="there.").providers.add(other)
    RegistryProfile.objects.create(name="both", prefix="both.").providers.add(provider, other)

    profiles = fetch_txt_profiles(provider)

    assert [profile.prefix for profile in profiles] == ["any.", "here.", "both.", ""]


def test_an_encryption_key_is_decoded() -> None:
    RegistryProfile.objects.create(name="encrypted", encryption_key=KEY)

    profiles = fetch_txt_profiles(make_provider())

    assert [profile.encryption_key for profile in profiles] == [KEY.encode(), None]


def test_a_key_that_cannot_be_used_is_an_error_that_does_not_tell_it() -> None:
    RegistryProfile.objects.create(name="encrypted", encryption_key="too short to be a key")

    with pytest.raises(SecretUnavailable) as refused:
        fetch_txt_profiles(make_provider())

    assert "too short to be" not in str(refused.value)
