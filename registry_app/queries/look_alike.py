"""Owner ids that nobody registered and that look like a registered one.

ExternalDNS compares owner ids byte for byte; people do not. Whoever may write a TXT record can sign with
`blue-cluster` in Cyrillic letters, in other case or with a blank at its end, and wait to be taken for it.
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from registry_app.models import Owner

# Latin letters and digits that are hard to tell apart in many fonts.
_AMONG_LATIN = str.maketrans({"0": "o", "1": "l", "|": "l"})
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cf", "Cc", "Mn", "Me"})


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
