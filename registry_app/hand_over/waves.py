"""Which names of a hand-over go first. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from providers.wire.domain_filter import DomainFilter
from registry_app.errors import InvalidRequest

Division = Literal["", "number", "share", "suffix", "namespace"]
DIVISIONS: tuple[Division, ...] = ("", "number", "share", "suffix", "namespace")


@dataclass(frozen=True)
class Waves:
    """How names are divided: empty: all at once; `number` or `share` (percent) of names each, by `size`;
    by `suffix` or `namespace`, in the order of `values`, and what is left in a last wave."""

    by: Division = ""
    size: int = 0
    values: tuple[str, ...] = ()


def assign_waves(names: Sequence[str], namespaces: Mapping[str, str], waves: Waves) -> dict[str, int]:
    """The wave of each name, from 1. `namespaces` are those of the resources at the names. Raises
    InvalidRequest."""
    _raise_if_invalid(waves)
    ordered = sorted(names)
    if waves.by in ("number", "share"):
        size = waves.size if waves.by == "number" else -(-len(ordered) * waves.size // 100)
        return {name: number // max(size, 1) + 1 for number, name in enumerate(ordered)}
    if not waves.by:
        return dict.fromkeys(ordered, 1)
    found = {name: _find_place(name, namespaces.get(name, ""), waves) for name in ordered}
    # A wave without a name is no wave.
    used = {place: number for number, place in enumerate(sorted(set(found.values())), start=1)}
    return {name: used[place] for name, place in found.items()}


def _find_place(name: str, namespace: str, waves: Waves) -> int:
    for place, value in enumerate(waves.values):
        if waves.by == "namespace" and namespace == value:
            return place
        if waves.by == "suffix" and DomainFilter(include=(value,)).matches(name):
            return place
    return len(waves.values)


def _raise_if_invalid(waves: Waves) -> None:
    if waves.by not in DIVISIONS:
        raise InvalidRequest(
            "There is no such division into waves.",
            fields={"waves": [f"One of {', '.join(filter(None, DIVISIONS))}, or empty."]},
        )
    if waves.by in ("number", "share") and not 1 <= waves.size <= (100 if waves.by == "share" else 10**6):
        raise InvalidRequest(
            "The size of a wave is missing or too large.",
            fields={"wave_size": ["Give a number of names, or a share of 1 to 100 percent."]},
        )
    if waves.by in ("suffix", "namespace") and not waves.values:
        raise InvalidRequest(
            "The waves are not named.",
            fields={"wave_values": [f"Give the {waves.by} of each wave, in their order."]},
        )
