"""A registry profile of kind database is only where a guard keeps the claims."""

from typing import Any

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.actor import SYSTEM
from registry_app.database_claims import RowChange, change_rows
from registry_app.errors import InvalidRequest, RefusedBySafety
from registry_app.inventory.guard_endpoint import (
    change_guard_mode,
    delete_guard_endpoint,
    register_guard_endpoint,
)
from registry_app.inventory.instance import change_instance, register_instance
from registry_app.inventory.registry_profile import (
    change_registry_profile,
    delete_registry_profile,
    register_registry_profile,
)
from registry_app.models import GuardEndpoint, Instance, Loop, Provider, RegistryProfile
from tests.factories import make_guard_endpoint, make_instance, make_owner, make_provider

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
TEXT = "heritage=external-dns,external-dns/owner=blue-cluster"


def _register(provider: Provider, name: str = "kept", **values: Any) -> RegistryProfile:
    return register_registry_profile(
        SYSTEM, {"name": name, "kind": "database", "providers": [provider], **values}
    )


def _keep(mode: str = GuardEndpoint.Mode.ENFORCE) -> tuple[GuardEndpoint, RegistryProfile]:
    """A guard endpoint whose instance keeps its claims in the database."""
    endpoint = make_guard_endpoint(mode=mode)
    profile = _register(endpoint.provider)
    change_instance(SYSTEM, endpoint.instance.pk, {"registry_profile": profile})
    return endpoint, profile


def test_several_profiles_of_one_provider_have_rows_of_their_own() -> None:
    provider = make_provider()

    profiles = [_register(provider, "plain"), _register(provider, "with a prefix", prefix="x.")]

    assert [each.store_place for each in profiles] == ["", ""]


@pytest.mark.parametrize("count", [0, 2])
def test_it_names_one_provider(count: int) -> None:
    providers = [make_provider(f"zone-{number}") for number in range(count)]

    with pytest.raises(InvalidRequest, match="exactly one provider"):
        register_registry_profile(SYSTEM, {"name": "kept", "kind": "database", "providers": providers})


def test_an_instance_needs_a_guard_endpoint_that_enforces() -> None:
    provider, instance = make_provider(), make_instance(make_owner())
    profile = _register(provider)

    with pytest.raises(InvalidRequest, match="behind the guard"):
        register_instance(SYSTEM, {"owner": instance.owner, "registry_profile": profile})
    with pytest.raises(InvalidRequest, match="behind the guard"):
        change_instance(SYSTEM, instance.pk, {"registry_profile": profile})
    values = {"slug": "blue", "provider": provider, "instance": instance}
    endpoint = register_guard_endpoint(SYSTEM, values)
    with pytest.raises(InvalidRequest, match="behind the guard"):
        change_instance(SYSTEM, instance.pk, {"registry_profile": profile})
    change_guard_mode(SYSTEM, endpoint.pk, mode="enforce")
    change_instance(SYSTEM, instance.pk, {"registry_profile": profile})

    assert Instance.objects.get().registry_profile == profile


def test_a_guard_endpoint_at_another_provider_is_not_enough() -> None:
    endpoint = make_guard_endpoint(mode="enforce")
    profile = _register(make_provider("other-zone"))

    with pytest.raises(InvalidRequest, match="behind the guard"):
        change_instance(SYSTEM, endpoint.instance.pk, {"registry_profile": profile})


def test_a_loop_needs_no_guard() -> None:
    provider, owner = make_provider(), make_owner()
    Loop.objects.create(owner=owner, provider=provider)
    profile = _register(provider)

    instance = register_instance(SYSTEM, {"owner": owner, "registry_profile": profile})

    assert instance.registry_profile == profile


def test_its_guard_endpoint_stays_and_does_not_observe() -> None:
    endpoint, _ = _keep()

    with pytest.raises(InvalidRequest, match="mode observe"):
        change_guard_mode(SYSTEM, endpoint.pk, mode="observe")
    with pytest.raises(RefusedBySafety, match="still used"):
        delete_guard_endpoint(SYSTEM, endpoint.pk)
    change_guard_mode(SYSTEM, endpoint.pk, mode="paused")

    endpoint.refresh_from_db()
    assert endpoint.mode == "paused"


def test_a_second_guard_endpoint_at_another_provider_is_refused() -> None:
    _keep()
    values = {"slug": "other", "provider": make_provider("other-zone"), "instance": Instance.objects.get()}

    with pytest.raises(InvalidRequest):
        register_guard_endpoint(SYSTEM, values)
    with pytest.raises(InvalidRequest):
        register_guard_endpoint(SYSTEM, {**values, "mode": "enforce"})


@pytest.mark.parametrize("change", ["kind", "providers"])
def test_a_profile_in_use_keeps_its_kind_and_provider(change: str) -> None:
    _, profile = _keep()
    values = {"kind": "txt"} if change == "kind" else {"providers": [make_provider("other-zone")]}

    with pytest.raises(InvalidRequest, match="its kind and provider stay"):
        change_registry_profile(SYSTEM, profile.pk, values)


def test_a_txt_profile_in_use_does_not_become_one() -> None:
    endpoint = make_guard_endpoint(mode="observe")
    profile = register_registry_profile(SYSTEM, {"name": "plain", "providers": [endpoint.provider]})
    change_instance(SYSTEM, endpoint.instance.pk, {"registry_profile": profile})

    with pytest.raises(InvalidRequest, match="its kind and provider stay"):
        change_registry_profile(SYSTEM, profile.pk, {"kind": "database"})


def test_a_profile_with_claims_is_not_deleted() -> None:
    profile = _register(make_provider())
    change_rows(profile.pk, [RowChange(EndpointKey("www.example.org", "A", ""), None, TEXT)])

    with pytest.raises(RefusedBySafety, match="still used"):
        delete_registry_profile(SYSTEM, profile.pk)
    change_registry_profile(SYSTEM, profile.pk, {"name": "renamed"})
