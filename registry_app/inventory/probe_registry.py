"""Test the connection to a registry store: read its claims once, and change nothing."""

from collections import Counter
from dataclasses import dataclass

from providers.http.errors import ProviderError
from providers.registries.labels import OWNER, parse_labels
from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotAllowed, SecretUnavailable
from registry_app.inventory.rows import fetch_row
from registry_app.mirror.client import build_client
from registry_app.mirror.open_stores import open_store
from registry_app.models import Provider, RegistryProfile
from registry_app.queries.access import may_operate

MOST_OWNERS = 50


@dataclass(frozen=True)
class RegistryReport:
    """What a registry store answered. `error` is empty when all went well.

    `owners` are the owner ids its claims name, up to 50, with how many name each; `problem_count` is the
    number of rows that cannot be believed.
    """

    error_code: str = ""
    error: str = ""
    hint: str = ""
    claim_count: int = 0
    problem_count: int = 0
    owners: tuple[tuple[str, int], ...] = ()

    @property
    def is_ok(self) -> bool:
        return not self.error


def probe_registry(actor: Actor, profile_id: int) -> RegistryReport:
    """Read all claims of a registry profile's store once. Neither rows nor the store change.

    Raises NotAllowed, NotFound, or InvalidRequest where the profile has no store beside DNS; whatever the
    store does wrong is told in the report.
    """
    profile = fetch_row(RegistryProfile, profile_id)
    provider = _find_provider(profile)
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not read {profile}.",
            todo=f"Ask somebody who operates {provider.name}.",
        )
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
        owners=tuple(named.most_common(MOST_OWNERS)),
    )


def _find_provider(profile: RegistryProfile) -> Provider:
    provider = profile.providers.first()
    if profile.kind in {RegistryProfile.Kind.TXT, RegistryProfile.Kind.NOOP} or provider is None:
        raise InvalidRequest(
            f"{profile} keeps no claims beside DNS, so there is nothing to connect to.",
            todo="Test the connection to a provider instead.",
        )
    return provider
