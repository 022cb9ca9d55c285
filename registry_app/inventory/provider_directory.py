"""The provider directory: publicly known webhook providers, their quirks, and the settings those ask for.

A data file that anybody may add to. It only presets a form, which a person checks before it is saved.
"""

from functools import cache
from pathlib import Path

import msgspec

_PATH = Path(__file__).with_suffix(".json")


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of a Provider that its quirks require; None: the default."""

    protocol: str | None = None
    write_mode: str | None = None
    batch_size: int | None = None
    read_back_seconds: int | None = None
    capitalized_changes: bool | None = None


class KnownProvider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One webhook provider. `quirks` are sentences about what it or its DNS service does differently."""

    slug: str
    name: str
    service: str
    repository: str
    quirks: tuple[str, ...]
    preset: Preset

    def initial(self) -> dict[str, object]:
        """What the form that registers it begins with; the quirks stay with it, as its description."""
        lines = [f"{self.name} ({self.service}). {self.repository}".strip(), *self.quirks]
        return {**msgspec.to_builtins(self.preset), "description": "\n".join(lines)}


class _Directory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    providers: tuple[KnownProvider, ...]


def list_known_providers() -> tuple[KnownProvider, ...]:
    """All of them, by name."""
    return _fetch_directory().providers


def describe_source() -> str:
    """The source of the directory, and its date."""
    return _fetch_directory().source


def find_known_provider(slug: str) -> KnownProvider | None:
    """The one with this slug, if there is one."""
    return next((known for known in list_known_providers() if known.slug == slug), None)


@cache
def _fetch_directory() -> _Directory:
    directory = msgspec.json.decode(_PATH.read_bytes(), type=_Directory)
    ordered = sorted(directory.providers, key=lambda known: known.name.lower())
    return msgspec.structs.replace(directory, providers=tuple(ordered))
