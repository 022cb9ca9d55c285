"""Whether, and how, the claims of an instance are kept in the database."""

from dataclasses import dataclass

from providers.registries.claim import TxtProfile
from registry_app.guard.deadline import Unavailable
from registry_app.mirror.registries import build_txt_profile
from registry_app.models import GuardEndpoint


@dataclass(frozen=True)
class KeptClaims:
    """The registry profile in whose rows the claims of an instance are kept, and the format in which the
    instance reads and writes them."""

    profile_id: int
    format: TxtProfile


def find_kept_claims(endpoint: GuardEndpoint) -> KeptClaims | None:
    """How the claims of its instance are kept; None: where the provider keeps all it is sent.

    Raises Unavailable where the guard cannot keep them: then nothing of them may pass. Raises
    SecretUnavailable.
    """
    row = endpoint.instance.registry_profile
    if row is None or not row.registry.is_behind_guard:
        return None
    if endpoint.mode == GuardEndpoint.Mode.OBSERVE:
        raise Unavailable(
            f"The guard endpoint {endpoint} observes, and its instance keeps its claims in the database.",
            now="Nothing was read or sent: its claims would go into the zone.",
            todo="Set its mode to enforce.",
        )
    if not row.providers.filter(pk=endpoint.provider_id).exists():
        raise Unavailable(
            f"The registry profile {row} keeps the claims of another provider than {endpoint.provider}.",
            now="Nothing was read or sent.",
            todo="Choose another registry profile for the instance.",
        )
    return KeptClaims(row.pk, build_txt_profile(row))
