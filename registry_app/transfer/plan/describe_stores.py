"""Where the registry stores of a plan are: a part of what is reviewed."""

from collections.abc import Collection
from typing import Any

from registry_app.mirror.open_stores import build_store_settings
from registry_app.models import Provider, RegistryProfile


def describe_stores(provider: Provider, references: Collection[str]) -> dict[str, dict[str, Any]]:
    """Address and settings of each store that this provider has, by its profile's primary key as text.

    Without secrets. Every key is a word for what it holds: people read them.
    """
    profiles = RegistryProfile.objects.filter(pk__in=[int(each) for each in references], providers=provider)
    return {
        str(profile.pk): {
            "name": profile.name,
            "kind": profile.kind,
            **profile.registry.describe(build_store_settings(profile)),
        }
        for profile in profiles.order_by("pk")
    }
