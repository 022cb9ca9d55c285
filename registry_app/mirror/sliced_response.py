"""A response in slices that can be read one after the other, where all of it at once takes too much memory.

A slice has some names whole: all elements at them, and at all names that are linked with them by what TXT
records may claim. So its record sets and claims are those that a reading of the whole response finds there.
Names go by their keys: names that share one are in one slice, which decides nothing. Pure.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text, looks_encrypted
from providers.registries.linked_names import NameLinks
from providers.wire.elements import cut_elements, join_elements
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import DecodedRecords, SetAside, decode_records
from registry_app.mirror.changed_part import may_be_linked_by_name
from registry_app.mirror.element_index import (
    CHUNK_SIZE,
    Element,
    ElementKind,
    compute_name_key,
    describe_elements,
    join_names,
    split_names,
)

SLICE_SIZE = 10_000
# Every slice is read with all elements that were set aside.
_MOST_SET_ASIDE = 1_000
_DECODED_AT_ONCE = 50 * CHUNK_SIZE
_NO_SLICE = 0xFFFFFFFF
# The owners that claims may name, and others: nothing is read of what is around.
_list_owners = re.compile("external-dns/owner=([^,\n]*)").findall


@dataclass(frozen=True)
class SlicedResponse:
    """`slices` are positions among the `elements`, in their order. `described` has what an index keeps of
    each. `owner_ids` are all that its claims name, and maybe some that no claim does in the end."""

    elements: Sequence[msgspec.Raw]
    described: "PackedElements"
    slices: Sequence[Sequence[int]]
    set_aside: Sequence[SetAside]
    owner_ids: frozenset[str]

    def decode(self, positions: Sequence[int]) -> DecodedRecords:
        """The endpoints of a slice, with all elements that were set aside."""
        body = join_elements([self.elements[position] for position in positions])
        return decode_records(body, max_items=len(positions))


class PackedElements:
    """What an index keeps of many elements, in little memory: names are texts of CHUNK_SIZE lines."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._kinds = bytearray()

    def extend(self, elements: Sequence[Element]) -> None:
        """More elements; only the last time they may be other than a multiple of CHUNK_SIZE."""
        for start in range(0, len(elements), CHUNK_SIZE):
            self._names.append(join_names(elements[start : start + CHUNK_SIZE]))
        self._kinds += bytes(element.kind for element in elements)

    def iterate_chunks(self) -> Iterator[list[Element]]:
        """The elements, CHUNK_SIZE at a time."""
        for number, names in enumerate(self._names):
            kinds = self._kinds[number * CHUNK_SIZE : (number + 1) * CHUNK_SIZE]
            yield list(map(Element, split_names(names), kinds))

    @property
    def kinds(self) -> bytearray:
        """A byte for each."""
        return self._kinds


def slice_response(
    body: bytes, profiles: Sequence[TxtProfile], *, max_items: int, size: int = SLICE_SIZE
) -> SlicedResponse | None:
    """A response in slices of about `size` elements; larger where more are linked. None where it has to be
    read as a whole. For `profiles` whose names may be followed."""
    elements = cut_elements(body, max_items=max_items)
    if not elements:
        return None
    links, described = _Links(profiles), PackedElements()
    set_aside: list[SetAside] = []
    for start in range(0, len(elements), _DECODED_AT_ONCE):
        part = elements[start : start + _DECODED_AT_ONCE]
        try:
            decoded = decode_records(join_elements(part), max_items=len(part))
        except WireError:
            return None  # the whole is no better, and its reading says what is wrong
        set_aside += decoded.set_aside
        found = describe_elements(decoded)
        if len(found) != len(part) or not may_be_linked_by_name(decoded.endpoints):
            return None
        if len(set_aside) > _MOST_SET_ASIDE:
            return None
        described.extend(found)
        links.add(found, decoded.endpoints)
    slices = _cut(links, described.kinds, size)
    return SlicedResponse(elements, described, slices, set_aside, frozenset(links.owner_ids))


class _Links:
    """The key of each element's name, and which keys are linked: numbers in arrays, there are millions."""

    def __init__(self, profiles: Sequence[TxtProfile]) -> None:
        self.keys = array("I")
        self.owner_ids: set[str] = set()
        self._pairs = array("I")
        self._name_links = NameLinks(profiles)
        self._encryption_keys = sorted({each.encryption_key for each in profiles if each.encryption_key})

    def add(self, elements: Sequence[Element], endpoints: Sequence[Endpoint]) -> None:
        """More elements, in their order; `endpoints` are those that were not set aside."""
        keys = [compute_name_key(element.name) for element in elements]
        self.keys.extend(keys)
        rest, texts = iter(endpoints), list[str]()
        for key, (name, kind) in zip(keys, elements, strict=True):
            if kind == ElementKind.SET_ASIDE:
                continue
            endpoint = next(rest)
            if kind != ElementKind.RECORD_SET:
                texts += endpoint.targets
                for claimed in self._name_links.list_claimed(name):
                    if claimed != name:
                        self._pairs.extend((key, compute_name_key(claimed)))
        texts += self._decrypt(texts)
        self.owner_ids.update(text.strip('"') for text in _list_owners("\n".join(texts)))

    def _decrypt(self, texts: Sequence[str]) -> list[str]:
        if not self._encryption_keys:
            return []
        sealed = [text for text in texts if looks_encrypted(text)]
        found = (decrypt_labels_text(text, key) for text in sealed for key in self._encryption_keys)
        return [each.plain for each in found if each is not None]

    def group(self) -> "tuple[array[int], array[int]]":
        """All keys in order, and for each the place of that which stands for all that are linked with it."""
        found = array("I", (key for key, _ in groupby(sorted([*self.keys, *self._pairs]))))
        parents = array("I", range(len(found)))

        def find(place: int) -> int:
            while parents[place] != place:
                parents[place] = place = parents[parents[place]]
            return place

        for index in range(0, len(self._pairs), 2):
            first = find(bisect_left(found, self._pairs[index]))
            parents[find(bisect_left(found, self._pairs[index + 1]))] = first
        for place in range(len(parents)):
            parents[place] = find(place)
        return found, parents


def _cut(links: _Links, kinds: Sequence[int], size: int) -> list[Sequence[int]]:
    """The positions of each slice: what is linked goes where its first element goes."""
    if len(kinds) <= size:
        return [range(len(kinds))]
    found, groups = links.group()
    slice_of = array("I", [_NO_SLICE]) * len(found)
    slices: list[array[int]] = [array("I")]
    apart = [place for place, kind in enumerate(kinds) if kind == ElementKind.SET_ASIDE]
    for position, key in enumerate(links.keys):
        if kinds[position] == ElementKind.SET_ASIDE:
            continue
        group = groups[bisect_left(found, key)]
        number = slice_of[group]
        if number == _NO_SLICE:
            if len(slices[-1]) >= size:
                slices.append(array("I"))
            slice_of[group] = number = len(slices) - 1
        slices[number].append(position)
    return [sorted([*positions, *apart]) if apart else positions for positions in slices]
