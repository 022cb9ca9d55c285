"""Whether a registry profile's store may stand at the providers it names."""

from collections.abc import Mapping
from typing import Any

from registry_app.errors import InvalidRequest
from registry_app.mirror.registries import STORE_KINDS
from registry_app.models import RegistryProfile

_PLACE = ("kind", "cluster", "namespace", "table", "region", "endpoint_url")


def raise_if_misplaced(values: Mapping[str, Any], row: RegistryProfile | None = None) -> None:
    """`values` are what is to be stored, on top of `row`. Raises InvalidRequest.

    A store's rows name record sets and no provider, so it speaks for one. Two profiles of one store would
    hear each claim twice, and each would see the other's writes as somebody else's.
    """
    kind = values.get("kind", row.kind if row else RegistryProfile.Kind.TXT)
    if kind not in STORE_KINDS:
        return
    providers = list(values["providers"]) if "providers" in values else _providers_of(row)
    if len(providers) != 1:
        raise _refuse("A registry of this kind speaks for the record sets of exactly one provider: name it.")
    place = {name: values.get(name, getattr(row, name, None)) or _empty(name) for name in _PLACE}
    others = RegistryProfile.objects.filter(**place, providers=providers[0])
    other = (others.exclude(pk=row.pk) if row else others).first()
    if other is not None:
        raise _refuse(f"The registry profile {other.name} is this very store at {providers[0]} already.")


def _providers_of(row: RegistryProfile | None) -> list[Any]:
    return [] if row is None else list(row.providers.all())


def _empty(name: str) -> str | None:
    return None if name == "cluster" else ""


def _refuse(message: str) -> InvalidRequest:
    return InvalidRequest(message, fields={"providers": [message]})
