"""The part of a response that must be read because some of its elements changed. Pure."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from providers.client.provider_client import RecordsAnswer
from providers.registries.claim import TxtProfile
from providers.registries.linked_names import NameLinks
from providers.wire.elements import join_elements
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.mirror.element_diff import ElementDiff
from registry_app.mirror.element_index import (
    LARGEST_CHUNK,
    SET_ASIDE_KEY,
    ChunkDraft,
    Element,
    compute_name_key,
    describe_element,
)
from registry_app.mirror.reading import Reading
from registry_app.mirror.snapshot import Snapshot, decode_snapshot
from registry_app.mirror.view import AtNames
from registry_app.models import SyncRun

_Why = SyncRun.WholeReading
# Beyond this a whole reading costs no more.
_LARGEST_SHARE = 0.3


class WholeReadingNeeded(Exception):
    """Of a response only a reading of the whole can tell what is asked."""

    def __init__(self, why: SyncRun.WholeReading) -> None:
        super().__init__(why.label)
        self.why = why


@dataclass(frozen=True)
class Selection:
    """Some elements of a response, in its order: all at canonical `names`, all that were set aside, and maybe
    others. `new` describes those that are new, `chunks` are those of the index to store anew."""

    elements: Sequence[msgspec.Raw]
    names: frozenset[str]
    new: Mapping[int, Element]
    chunks: Sequence[ChunkDraft]


def select_changed(
    diff: ElementDiff,
    name_links: NameLinks | None,
    names_beside: Iterable[str],
    *,
    max_items: int,
    most: float = math.inf,
) -> Selection:
    """What changed and what is at other canonical names; with `name_links` also what is linked with these.
    Raises WholeReadingNeeded, also for more than `most` elements."""
    if diff.elements and not diff.heads:
        raise WholeReadingNeeded(_Why.MANY_ITEMS)  # there is no chunk that could take them
    described = describe_new([diff.elements[each] for each in diff.new], max_items=max_items)
    if described is None or "" in diff.gone:
        raise WholeReadingNeeded(_Why.ODD_ITEMS)
    new = dict(zip(diff.new, described, strict=True))
    known = diff.collect_name_keys(new)
    near = {*(each.name for each in described), *diff.gone, *names_beside}
    names = reach_names(near, name_links, lambda name: compute_name_key(name) in known, most=most)
    if names is None:
        raise WholeReadingNeeded(_Why.MANY_ITEMS)
    selected = [diff.elements[each] for each in diff.select(list_wanted(names), new)]
    chunks = diff.draft_changed(new)
    if len(selected) > most or any(len(chunk.hashes) > LARGEST_CHUNK for chunk in chunks):
        raise WholeReadingNeeded(_Why.MANY_ITEMS)
    return Selection(selected, names, new, chunks)


@dataclass(frozen=True)
class ChangedPart:
    """A part of a response. `snapshot` has every record set and claim at `names`, read as in the whole
    response, and no others; everything that was set aside; the body and the number of items of the whole.
    `chunks` are those of the index to store anew, `items_read` the elements that were decoded."""

    snapshot: Snapshot
    names: frozenset[str]
    chunks: Sequence[ChunkDraft]
    items_read: int


def read_changed_part(
    answer: RecordsAnswer,
    diff: ElementDiff,
    reading: Reading,
    names_beside: Iterable[str],
    *,
    set_aside: int,
    max_items: int,
    response_digest: str,
) -> ChangedPart:
    """What changed, with all that is linked with it. Raises WholeReadingNeeded.

    `diff` are the elements of `answer` compared with the stored ones, of which `set_aside` were set aside.
    `names_beside` are canonical names to read as well.
    """
    selected = select_changed(
        diff,
        NameLinks(reading.profiles),
        names_beside,
        max_items=max_items,
        most=len(diff.elements) * _LARGEST_SHARE,
    )
    snapshot = decode_snapshot(
        join_elements(selected.elements),
        reading.profiles,
        reading.registries,
        max_items=max_items,
        body_digest=response_digest,
        content_type=answer.content_type,
        fetch_seconds=answer.seconds,
        view=AtNames(selected.names),
    )
    if len(snapshot.set_aside) != set_aside:
        raise WholeReadingNeeded(_Why.ODD_ITEMS)
    whole = replace(snapshot, body=answer.body, item_count=len(diff.elements))
    return ChangedPart(whole, selected.names, selected.chunks, len(selected.elements))


def may_follow_links(profiles: Iterable[TxtProfile]) -> bool:
    """Whether the names of TXT records tell what they are for, and the other way round."""
    return not any(profile.prefix and profile.suffix for profile in profiles)


def may_be_read_in_parts(reading: Reading) -> bool:
    """Whether a response read so can be read in parts: what a claim is for follows from names alone."""
    return not reading.registries.are_any and may_follow_links(reading.profiles)


def may_be_linked_by_name(endpoints: Iterable[Endpoint]) -> bool:
    """Whether what each TXT endpoint may claim follows from its canonical name. Of one that is spelled
    beyond ASCII it does not."""
    return all(endpoint.dns_name.isascii() for endpoint in endpoints if endpoint.record_type.upper() == "TXT")


def reach_names(
    near: Collection[str],
    name_links: NameLinks | None,
    may_exist: Callable[[str], bool],
    *,
    most: float = math.inf,
) -> frozenset[str] | None:
    """Names, with `name_links` and all that is linked with them; None for more than `most`."""
    if name_links is None:
        return frozenset(near)
    found = name_links.reach(near, may_exist, limit=most)
    return None if found is None else frozenset(found)


def list_wanted(names: Iterable[str]) -> frozenset[int]:
    """The name keys of names, and that of what was set aside, which is read each time: a record set that is
    gone may be it."""
    return frozenset(map(compute_name_key, names)).union([SET_ASIDE_KEY])


def describe_new(elements: Sequence[msgspec.Raw], *, max_items: int) -> list[Element] | None:
    """What the index keeps of new elements; None where one of them is set aside, or may claim more than its
    canonical name says."""
    try:
        decoded = decode_records(join_elements(elements), max_items=max_items)
    except WireError:
        return None  # the whole body is no better, and its reading says what is wrong
    if decoded.set_aside or not may_be_linked_by_name(decoded.endpoints):
        return None
    return list(map(describe_element, decoded.endpoints))
