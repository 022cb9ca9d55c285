"""All the claims of one registry store at one moment."""

import msgspec

from providers.registries.stored_claim import StoredClaim


class StoreContents(msgspec.Struct, frozen=True):
    """`reference` is the caller's own id of the registry profile, as in TxtProfile; `kind` its registry."""

    reference: str
    kind: str
    claims: tuple[StoredClaim, ...]
