"""The registry stores that a transfer touches, opened for one run."""

from dataclasses import dataclass

from providers.stores.store import RegistryStore


@dataclass(frozen=True)
class OpenStore:
    """One store, and what it is called."""

    name: str
    store: RegistryStore
