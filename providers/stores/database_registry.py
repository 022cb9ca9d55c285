"""The database registry: claims in dnsadmin's own database, for instances behind the guard.

An instance uses ExternalDNS's TXT registry, and the guard keeps its claims here instead of in the zone. The
settings are those of that TXT registry.
"""

from providers.stores.registry import ClaimPlace, RegistryKind, RegistryStore, StoreAccess, StoreSettings


def _open(_settings: StoreSettings, access: StoreAccess) -> RegistryStore:
    return access.open_database()


DATABASE_REGISTRY = RegistryKind(
    name="database",
    label="Database (behind the guard)",
    place=ClaimPlace.STORE,
    where="dnsadmin's database",
    settings=("prefix", "suffix", "wildcard_replacement", "encryption_key", "keeps_txt"),
    open=_open,
    has_intents=True,
    can_export=True,
    is_behind_guard=True,
)
