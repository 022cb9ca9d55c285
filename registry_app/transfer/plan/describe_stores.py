"""Where the registry stores of a plan are: a part of what is reviewed."""

from collections.abc import Collection
from typing import Any

from registry_app.models import Provider, RegistryProfile

_KIND = RegistryProfile.Kind


def describe_stores(provider: Provider, references: Collection[str]) -> dict[str, dict[str, Any]]:
    """Address and settings of each store that this provider has, by its profile's primary key as text.

    Without secrets. Every key is a word for what it holds: people read them.
    """
    profiles = RegistryProfile.objects.filter(pk__in=[int(each) for each in references], providers=provider)
    return {str(profile.pk): _describe(profile) for profile in profiles.order_by("pk")}


def _describe(profile: RegistryProfile) -> dict[str, Any]:
    described = {"name": profile.name, "kind": profile.kind}
    if profile.kind == _KIND.DYNAMODB:
        return {
            **described,
            "table": profile.table,
            "region": profile.region,
            "endpoint": profile.endpoint_url,
            # Of whose account the table is, nothing else tells.
            "access key": profile.access_key_id,
        }
    if profile.cluster is not None:
        return {**described, "Kubernetes API": profile.cluster.api_url, "namespace": profile.namespace}
    return described
