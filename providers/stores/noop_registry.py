"""No registry: an instance without claims manages every record set that its filters let through."""

from providers.stores.registry import ClaimPlace, RegistryKind

NOOP_REGISTRY = RegistryKind(name="noop", label="None (noop)", place=ClaimPlace.NOWHERE, where="no registry")
