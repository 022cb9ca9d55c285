"""How much owners own, and owner ids that look like a registered one."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from registry_app.actor import Actor
from registry_app.models import KeptCount, Owner, Provider
from registry_app.queries.kept_count import count_by

# Latin letters and digits that are hard to tell apart in many fonts.
_AMONG_LATIN = str.maketrans({"0": "o", "1": "l", "|": "l"})
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cf", "Cc", "Mn", "Me"})


@dataclass(frozen=True)
class OwnerCount:
    """Record sets of one owner at one provider (its id)."""

    provider: int
    record_sets: int


def count_by_provider(actor: Actor, owner_pks: Sequence[int]) -> dict[int, list[OwnerCount]]:
    """What these owners have that the actor may read, by the owner's primary key. An owner with nothing is
    not in it."""
    counts: dict[int, list[OwnerCount]] = {}
    noun = KeptCount.Noun.RECORD_SET
    for owner, provider, amount in count_by(actor, noun, "owner_id", "provider_id", owner__in=owner_pks):
        counts.setdefault(owner, []).append(OwnerCount(provider, amount))
    return counts


def describe_owned(actor: Actor, owner: Owner) -> str:
    """How much an owner owns, such as `3 record sets (2 at blue-zone, 1 at green-zone)`; empty for none."""
    counts = count_by_provider(actor, [owner.pk]).get(owner.pk, [])
    total = sum(count.record_sets for count in counts)
    if not total:
        return ""
    names = Provider.with_deleted.in_bulk([count.provider for count in counts])
    parts = ", ".join(f"{count.record_sets} at {names[count.provider]}" for count in counts)
    return f"{total} record set{'s' if total > 1 else ''} ({parts})"


def find_look_alikes(owner_ids: Iterable[str]) -> dict[str, str]:
    """For each of these that is not registered and looks like a registered owner id: that one.

    One query, whatever the number of ids; registered owners are few.
    """
    wanted = set(owner_ids)
    if not wanted:
        return {}
    registered = list(
        Owner.objects.filter(status=Owner.Status.REGISTERED)
        .order_by("owner_id")
        .values_list("owner_id", flat=True)
    )
    originals = {build_skeleton(owner_id): owner_id for owner_id in reversed(registered)}
    found = {each: originals.get(build_skeleton(each)) for each in wanted.difference(registered)}
    return {owner_id: original for owner_id, original in found.items() if original is not None}


@lru_cache(maxsize=10_000)
def build_skeleton(owner_id: str) -> str:
    """What a reader sees of an owner id: equal for two that look alike. Pure."""
    text = unicodedata.normalize("NFKD", owner_id).casefold()
    visible = (each for each in text if unicodedata.category(each) not in _INVISIBLE)
    seen = (each if each.isascii() else _find_latin(each) for each in visible)
    return "".join(seen).translate(_AMONG_LATIN)


@lru_cache(maxsize=10_000)
def _find_latin(character: str) -> str:
    """The ASCII character that this one is taken for; itself where there is none."""
    # Read here: most owner ids are ASCII, and the table is large.
    from confusable_homoglyphs.confusables import confusables_data

    for each in confusables_data.get(character, ()):
        twin = str(each["c"]).casefold()
        if len(twin) == 1 and twin.isascii():
            return twin
    return character
