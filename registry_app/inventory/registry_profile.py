"""Register, change, delete and probe a registry profile."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from providers.http.errors import ProviderError
from providers.registries.labels import OWNER, parse_labels
from providers.stores.registry import RegistryKind
from providers.stores.registry_catalogue import DEFAULT_REGISTRY, KINDS_WITH_STORE, REGISTRIES
from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, SecretUnavailable, StateMoved
from registry_app.inventory.address import is_same_origin, read_store_address
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
)
from registry_app.mirror.client import build_client
from registry_app.mirror.open_stores import open_store
from registry_app.models import Provider, RegistryProfile
from registry_app.models.encrypted_field import find_secret_names
from registry_app.queries.access import may_operate
from registry_app.queries.dependents import find_profile_dependents

# In the digests that are stored of each store: their order stays, and new ones come last.
_TEXTS_OF_PLACE = ("namespace", "table", "region", "endpoint_url")
_DIGEST_BYTES = 16
MOST_OWNERS = 50


def register_registry_profile(actor: Actor, values: Mapping[str, Any]) -> RegistryProfile:
    """Store a registry profile. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "registry profiles")
    address = read_store_address("endpoint_url", str(values.get("endpoint_url", "")))
    wanted = {**values, "endpoint_url": address}
    wanted["store_place"] = _find_place(wanted)
    try:
        return create_row(actor, RegistryProfile, wanted, action="registry_profile.registered")
    except (InvalidRequest, StateMoved):
        _find_place(wanted)  # somebody may have been first at this very store: then this raises
        raise


def change_registry_profile(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> RegistryProfile:
    """Change a registry profile. Raises as `change_row` does, or NotAllowed.

    The secrets of its access key are cleared when its table is looked for elsewhere and no new ones come
    along: a secret is never used at a place it was not entered for. A session token goes with its key.
    """
    raise_if_not_administrator(actor, "registry profiles")
    row = fetch_row(RegistryProfile, row_id)
    values = dict(changes)
    if "endpoint_url" in values:
        values["endpoint_url"] = read_store_address("endpoint_url", str(values["endpoint_url"]))
        if not is_same_origin(row.endpoint_url, values["endpoint_url"]):
            values.setdefault("secret_access_key", "")
            values.setdefault("session_token", "")
    if values.get("access_key_id", row.access_key_id) != row.access_key_id:
        values.setdefault("session_token", "")
    values["store_place"] = _find_place(values, row)
    _raise_if_claims_would_be_left(row, values)
    try:
        return change_row(
            actor,
            RegistryProfile,
            row_id,
            values,
            action="registry_profile.changed",
            expected_updated_at=expected_updated_at,
        )
    except (InvalidRequest, StateMoved):
        _find_place(values, row)  # somebody may have been first at this very store: then this raises
        raise


def delete_registry_profile(
    actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None
) -> None:
    """Delete a registry profile that nobody uses, and its secrets. Raises as `delete_provider`."""
    raise_if_not_administrator(actor, "registry profiles")
    delete_row(
        actor,
        RegistryProfile,
        row_id,
        action="registry_profile.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_profile_dependents,
        end=_end_profile,
    )


class ClaimCount(NamedTuple):
    """How many claims of a store name an owner id."""

    owner_id: str
    claims: int


@dataclass(frozen=True)
class RegistryReport:
    """What a registry store answered. `error` is empty when all went well.

    `owners` are the owner ids its claims name, up to 50, with how many name each; `problem_count` is the
    number of rows that are not valid.
    """

    error_code: str = ""
    error: str = ""
    hint: str = ""
    claim_count: int = 0
    problem_count: int = 0
    owners: tuple[ClaimCount, ...] = ()

    @property
    def is_ok(self) -> bool:
        return not self.error


def probe_registry(actor: Actor, profile_id: int) -> RegistryReport:
    """Read all claims of a registry profile's store once. Neither rows nor the store change.

    Raises NotAllowed, NotFound, or InvalidRequest where the profile has no store beside DNS; whatever the
    store does wrong is in the report.
    """
    profile = fetch_row(RegistryProfile, profile_id)
    provider = _find_provider(profile)
    raise_if_may_not_read(actor, profile, provider)
    try:
        with build_client(provider) as client:
            claims = open_store(profile, provider, client).store.fetch_claims()
    except ProviderError as error:
        return RegistryReport(error_code=error.code, error=str(error), hint=error.hint)
    except SecretUnavailable as error:
        return RegistryReport(error_code=error.code, error=error.happened, hint=error.todo)
    named = Counter((parse_labels(claim.text) or {}).get(OWNER, "") for claim in claims if not claim.problem)
    return RegistryReport(
        claim_count=len(claims),
        problem_count=sum(1 for claim in claims if claim.problem),
        owners=tuple(ClaimCount(*each) for each in named.most_common(MOST_OWNERS)),
    )


def raise_if_may_not_read(actor: Actor, profile: RegistryProfile, provider: Provider) -> None:
    """Raises NotAllowed for whoever does not operate the provider."""
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not read {profile}.",
            todo=f"Ask somebody who operates {provider.name}.",
        )


def _find_place(values: Mapping[str, Any], row: RegistryProfile | None = None) -> str:
    """The digest of the store and its provider, which no two profiles share; empty where there is no store.

    `values` are what is to be stored, on top of `row`. A store's rows name record sets and no provider, so
    it belongs to one. Two profiles of one store would read each claim twice, and each would see the other's
    writes as somebody else's. Raises InvalidRequest; what is stored in between, the database refuses.
    """
    kind = values.get("kind", row.kind if row else DEFAULT_REGISTRY)
    if kind not in KINDS_WITH_STORE:
        return ""
    providers = list(values.get("providers", row.providers.all() if row else ()))
    if len(providers) != 1:
        raise _refuse("A registry of this kind has the claims of exactly one provider: name it.")
    if REGISTRIES[kind].is_behind_guard:
        return ""  # each profile has rows of its own
    place = _compute_place(REGISTRIES[kind], values, row, providers[0].pk)
    others = RegistryProfile.objects.filter(store_place=place)
    other = (others.exclude(pk=row.pk) if row else others).first()
    if other is not None:
        raise _refuse(f"The registry profile {other.name} already uses this store at {providers[0]}.")
    return place


def _raise_if_claims_would_be_left(row: RegistryProfile, values: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for another kind or provider of a profile whose claims the guard keeps, or would
    keep, as long as it has rows or is used."""
    kind = REGISTRIES.get(values.get("kind", row.kind))
    is_same_kind = kind is row.registry
    is_moved = "providers" in values and set(values["providers"]) != set(row.providers.all())
    is_concerned = row.registry.is_behind_guard or (kind is not None and kind.is_behind_guard)
    if not is_concerned or (is_same_kind and not is_moved):
        return
    if row.database_claims.exists() or row.instances.exists():
        raise InvalidRequest(
            f"{row} has claims in the database, or instances use it: its kind and provider stay.",
            todo="Register another registry profile, choose it at the instances, and re-format what they "
            "own.",
            fields={
                "kind" if not is_same_kind else "providers": ["It stays as long as the profile is used."]
            },
        )


def _compute_place(
    kind: RegistryKind, values: Mapping[str, Any], row: RegistryProfile | None, provider_id: int
) -> str:
    given = {name: values.get(name, getattr(row, name, None)) for name in kind.identity}
    cluster = given.get("cluster")
    settings = [kind.name, *(str(given.get(name) or "") for name in _TEXTS_OF_PLACE)]
    place = msgspec.msgpack.encode((provider_id, cluster.pk if cluster else None, settings))
    return hashlib.blake2b(place, digest_size=_DIGEST_BYTES).hexdigest()


def _refuse(message: str) -> InvalidRequest:
    return InvalidRequest(message, fields={"providers": [message]})


def _find_provider(profile: RegistryProfile) -> Provider:
    provider = profile.providers.first()
    if not profile.registry.has_store or provider is None:
        raise InvalidRequest(
            f"{profile} stores no claims outside DNS, so there is no connection to test.",
            todo="Test the connection to a provider instead.",
        )
    return provider


def _end_profile(row: RegistryProfile) -> None:
    secrets = dict.fromkeys(find_secret_names(RegistryProfile), "")
    # Without a place, another profile may have the same store.
    RegistryProfile.objects.filter(pk=row.pk).update(
        deleted_at=fetch_now(), store_place="", is_rebuilt=False, cluster=None, **secrets
    )
