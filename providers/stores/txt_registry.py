"""The TXT registry, ExternalDNS's default: claims are TXT records of the zone, read with its record sets."""

from providers.registries.claim import TXT_REGISTRY as TXT
from providers.stores.registry import ClaimPlace, RegistryKind

TXT_REGISTRY = RegistryKind(
    name=TXT,
    label="TXT",
    place=ClaimPlace.ZONE,
    where="TXT records",
    settings=("prefix", "suffix", "wildcard_replacement", "encryption_key"),
    flags={
        "prefix": ("txt-prefix", ""),
        "suffix": ("txt-suffix", ""),
        "wildcard_replacement": ("txt-wildcard-replacement", ""),
    },
)
