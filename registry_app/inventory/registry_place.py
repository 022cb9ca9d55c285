"""The store of a registry profile, and whether it may stand at the providers it names."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from registry_app.errors import InvalidRequest
from registry_app.mirror.registries import STORE_KINDS
from registry_app.models import RegistryProfile

_PLACE = ("kind", "namespace", "table", "region", "endpoint_url")
_DIGEST_BYTES = 16


def find_place(values: Mapping[str, Any], row: RegistryProfile | None = None) -> str:
    """The digest of the store and its provider, which no two profiles share; empty where there is no store.

    `values` are what is to be stored, on top of `row`. A store's rows name record sets and no provider, so
    it speaks for one. Two profiles of one store would hear each claim twice, and each would see the other's
    writes as somebody else's. Raises InvalidRequest; what is stored in between, the database refuses.
    """
    kind = values.get("kind", row.kind if row else RegistryProfile.Kind.TXT)
    if kind not in STORE_KINDS:
        return ""
    providers = list(values["providers"]) if "providers" in values else _providers_of(row)
    if len(providers) != 1:
        raise _refuse("A registry of this kind speaks for the record sets of exactly one provider: name it.")
    place = _compute_place({"kind": kind, **values}, row, providers[0].pk)
    others = RegistryProfile.objects.filter(store_place=place)
    other = (others.exclude(pk=row.pk) if row else others).first()
    if other is not None:
        raise _refuse(f"The registry profile {other.name} is this very store at {providers[0]} already.")
    return place


def _compute_place(values: Mapping[str, Any], row: RegistryProfile | None, provider_id: int) -> str:
    cluster = values.get("cluster", row.cluster if row else None)
    said = [str(values.get(name, getattr(row, name, "")) or "") for name in _PLACE]
    told = msgspec.msgpack.encode((provider_id, cluster.pk if cluster else None, said))
    return hashlib.blake2b(told, digest_size=_DIGEST_BYTES).hexdigest()


def _providers_of(row: RegistryProfile | None) -> list[Any]:
    return [] if row is None else list(row.providers.all())


def _refuse(message: str) -> InvalidRequest:
    return InvalidRequest(message, fields={"providers": [message]})
