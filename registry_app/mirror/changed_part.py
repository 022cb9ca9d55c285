"""The part of a response that must be read because some of its elements changed. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from providers.client.provider_client import RecordsAnswer
from providers.registries.linked_names import NameLinks
from providers.wire.canonical_name import canonical_name
from providers.wire.elements import join_elements
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from registry_app.mirror.element_diff import ElementDiff
from registry_app.mirror.element_index import LARGEST_CHUNK, SET_ASIDE_KEY, ChunkDraft, compute_name_key
from registry_app.mirror.reading import Reading
from registry_app.mirror.snapshot import Snapshot, decode_snapshot
from registry_app.mirror.view import AtNames

# Beyond this a whole reading costs no more.
_LARGEST_SHARE = 0.3


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
) -> ChangedPart | None:
    """What changed, with all that is linked with it; None where only a whole reading can tell.

    `diff` are the elements of `answer` compared with the stored ones, of which `set_aside` were set aside.
    `names_beside` are canonical names to read as well.
    """
    new_names = _read_new_names(diff, max_items)
    if new_names is None or "" in diff.gone:
        return None
    known, most = diff.collect_name_keys(new_names), int(len(diff.elements) * _LARGEST_SHARE)
    names = NameLinks(reading.profiles).reach(
        {*new_names.values(), *diff.gone, *names_beside},
        lambda name: compute_name_key(name) in known,
        limit=most,
    )
    if names is None:
        return None
    # What was set aside is read each time: a record set that is gone may be it.
    wanted = frozenset(map(compute_name_key, names)).union([SET_ASIDE_KEY] if set_aside else ())
    selected = [diff.elements[each] for each in diff.select(wanted, new_names)]
    chunks = diff.draft_changed(new_names)
    if len(selected) > most or any(len(chunk.hashes) > LARGEST_CHUNK for chunk in chunks):
        return None
    snapshot = decode_snapshot(
        join_elements(selected),
        reading.profiles,
        reading.registries,
        max_items=max_items,
        body_digest=response_digest,
        content_type=answer.content_type,
        fetch_seconds=answer.seconds,
        view=AtNames(names),
    )
    if len(snapshot.set_aside) != set_aside:
        return None
    whole = replace(snapshot, body=answer.body, item_count=len(diff.elements))
    return ChangedPart(whole, frozenset(names), chunks, len(selected))


def may_be_read_in_parts(reading: Reading) -> bool:
    """Whether a response read so can be read in parts: what a claim is for follows from names alone."""
    has_both = any(profile.prefix and profile.suffix for profile in reading.profiles)
    return not reading.registries.are_any and not has_both


def may_be_linked_by_name(endpoints: Iterable[Endpoint]) -> bool:
    """Whether what each TXT endpoint may claim follows from its canonical name. Of one that is spelled
    beyond ASCII it does not."""
    return all(endpoint.dns_name.isascii() for endpoint in endpoints if endpoint.record_type.upper() == "TXT")


def _read_new_names(diff: ElementDiff, max_items: int) -> Mapping[int, str] | None:
    """The names of the new elements; None where one of them is set aside, or may claim more than its
    canonical name says."""
    try:
        decoded = decode_records(
            join_elements([diff.elements[each] for each in diff.new]), max_items=max_items
        )
    except WireError:
        return None  # the whole body is no better, and its reading says what is wrong
    if decoded.set_aside or not may_be_linked_by_name(decoded.endpoints):
        return None
    # Every endpoint that was not set aside has a name.
    names = [canonical_name(endpoint.dns_name) for endpoint in decoded.endpoints]
    return dict(zip(diff.new, names, strict=True))
