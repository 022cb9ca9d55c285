"""The part of a zone that one instance reads: the names of its owner, with their claims. Pure.

What a claim is for follows from names alone, under every TXT profile of the provider: what may speak for a
name in the view is in it.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from providers.registries.labels import parse_labels
from providers.registries.linked_names import NameLinks
from providers.wire.canonical_name import canonical_name, reversed_name
from providers.wire.domain_filter import DomainFilter
from providers.wire.domain_filter_cut import cut_filter
from providers.wire.elements import cut_elements, join_elements
from providers.wire.endpoint import Endpoint
from providers.wire.errors import UndecodableBody
from providers.wire.json_codec import decode_records
from registry_app.mirror.plausibility import looks_like_claim

# In ASCII the letter behind the dot: all that begins with `org.example.` is before `org.example/`.
_BEHIND_DOT = "/"


@dataclass(frozen=True)
class View:
    """The names that one of `suffixes` holds, as an entry of a domain filter does, and that the provider
    manages, by its own filter."""

    suffixes: tuple[str, ...]
    managed: DomainFilter

    @cached_property
    def _owned(self) -> DomainFilter:
        return DomainFilter(include=self.suffixes)

    def matches(self, name: str) -> bool:
        """Whether a name is in it, in any spelling."""
        return self._owned.matches(name) and self.managed.matches(name)

    def build_filter(self) -> DomainFilter:
        """What the negotiation answers: as the provider's filter, cut to the view. Raises
        InvalidDomainFilter."""
        return cut_filter(self.managed, self.suffixes)


class ZoneNames:
    """The elements of a response by the names they are for. Made once for a response, for any number of
    views: what a view costs follows what is in it."""

    def __init__(
        self, body: bytes, links: NameLinks, *, max_items: int, before: "ZoneNames | None" = None
    ) -> None:
        """`before` is that of another response, read with the same links: what is in both is not read again.

        Raises WireError for a body whose elements cannot be cut.
        """
        self._elements = cut_all(body, max_items)
        names = before.list_elements() if before is not None else {}
        new = [each for each in self._elements if each not in names]
        names.update(zip(new, _read_names(new, links, max_items), strict=True))
        self._unread = frozenset(place for place, each in enumerate(self._elements) if names[each] is None)
        found = [(name, place) for place, each in enumerate(self._elements) for name in names[each] or ()]
        found.sort()
        self._names = [name for name, _ in found]
        self._places = array("Q", (place for _, place in found))

    def list_elements(self) -> dict[bytes, tuple[str, ...] | None]:
        """The names of each element, reversed; None for what cannot be read."""
        found: list[tuple[str, ...]] = [()] * len(self._elements)
        for name, place in zip(self._names, self._places, strict=True):
            found[place] += (name,)
        return {
            each: None if place in self._unread else found[place] for place, each in enumerate(self._elements)
        }

    def cut(self, view: View) -> bytes:
        """A body with the elements of a view, byte for byte and in their order. One that cannot be read stays
        in: where it belongs is not known, and what is not shown would be created."""
        places = set(self._unread)
        for suffix in view.suffixes:
            for start, end in self._find_ranges(suffix):
                shown = (index for index in range(start, end) if self._is_managed(index, view))
                places.update(self._places[index] for index in shown)
        return join_elements([msgspec.Raw(self._elements[place]) for place in sorted(places)])

    def _find_ranges(self, suffix: str) -> Iterator[tuple[int, int]]:
        """Where the names are that a suffix holds."""
        name = reversed_name(suffix.removeprefix("."))
        yield self._find(f"{name}."), self._find(f"{name}{_BEHIND_DOT}")
        if not suffix.startswith("."):
            yield self._find(name), self._find(f"{name}\0")

    def _is_managed(self, index: int, view: View) -> bool:
        return view.managed.matches_everything or view.managed.matches(reversed_name(self._names[index]))

    def _find(self, name: str) -> int:
        return bisect_left(self._names, name)


def cut_all(body: bytes, max_items: int) -> list[bytes]:
    """The elements of a body. Raises WireError where they cannot be told from each other."""
    elements = cut_elements(body, max_items=max_items)
    if elements is None:
        decoded = decode_records(body, max_items=max_items)
        if decoded.endpoints or decoded.set_aside:
            raise UndecodableBody("the elements of the response cannot be told from each other")
    return [bytes(each) for each in elements or ()]


def _read_names(elements: Sequence[bytes], links: NameLinks, max_items: int) -> list[tuple[str, ...] | None]:
    """The names of each element, reversed; None for what cannot be read."""
    body = join_elements([msgspec.Raw(each) for each in elements])
    decoded = decode_records(body, max_items=max_items)
    names: list[tuple[str, ...] | None] = [
        tuple(map(reversed_name, list_names(each, links))) for each in decoded.endpoints
    ]
    for each in decoded.set_aside:
        names.insert(each.index, None)
    return names


def list_names(endpoint: Endpoint, links: NameLinks) -> Sequence[str]:
    """The canonical names an endpoint is for: its own, and those that a claim in it may speak for. One that
    every instance reads as a claim is for these alone."""
    name = canonical_name(endpoint.dns_name)
    if endpoint.record_type.upper() != "TXT" or not any(map(looks_like_claim, endpoint.targets)):
        return (name,)
    spelling = endpoint.dns_name
    claimed = links.list_claimed(name if spelling.isascii() else spelling.lower().removesuffix("."))
    names = list(dict.fromkeys(claimed))
    if names and all(parse_labels(target) is not None for target in endpoint.targets):
        return names
    return list(dict.fromkeys([name, *names]))


def is_claim(endpoint: Endpoint) -> bool:
    """Whether it is nothing but claims, as far as its texts tell."""
    is_text = endpoint.record_type.upper() == "TXT"
    return is_text and bool(endpoint.targets) and all(map(looks_like_claim, endpoint.targets))
