"""Which names of a zone decide together who owns the record sets at them."""

from collections.abc import Callable, Collection, Iterable, Iterator

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.registries.txt_names import TxtNameReader, list_names_meant
from providers.wire.canonical_name import InvalidName, canonical_name

_TXT = "TXT"
_WILDCARD = "*"
# A canonical name has the asterisk instead, but only as its first label.
_ESCAPED_WILDCARD = "\\052"


class NameLinks:
    """What a TXT endpoint may claim, by its name alone, under any of several profiles."""

    def __init__(self, profiles: Iterable[TxtProfile]) -> None:
        # As in pairing: the default format is tried whether or not it is registered.
        self._readers = [
            (TxtNameReader(profile), profile.wildcard_replacement.lower())
            for profile in {*profiles, DEFAULT_PROFILE}
        ]

    def list_claimed(self, text: str) -> Iterator[str]:
        """The canonical names that a TXT endpoint may claim. `text` is its name: canonical where it is
        spelled in ASCII, else as spelled, in lower case and without the last dot."""
        for reader, wildcard_replacement in self._readers:
            reading = reader.read(text)
            name = None if reading is None else _canonical(reading.record_name)
            if name is not None:
                yield from list_names_meant(name, wildcard_replacement)

    def list_claiming(self, name: str) -> Iterator[str]:
        """Every canonical name whose TXT endpoint, spelled in ASCII, may claim a canonical name; and others.
        For profiles with a prefix or a suffix, not with both."""
        first, dot, rest = name.partition(".")
        for reader, wildcard_replacement in self._readers:
            yield from reader.list_txt_names(name)
            if first == _WILDCARD:
                for spelling in (_ESCAPED_WILDCARD, wildcard_replacement):
                    yield from reader.list_txt_names(f"{spelling}{dot}{rest}")

    def reach(
        self, names: Collection[str], may_exist: Callable[[str], bool], *, limit: float
    ) -> set[str] | None:
        """The names, and all that is linked with them over any number of steps; None for more than `limit`.
        `may_exist`: whether there may be an endpoint at a name."""
        reached, waiting = set(names), list(names)
        while waiting:
            if len(reached) > limit:
                return None
            name = waiting.pop()
            claiming = (each for each in self.list_claiming(name) if each not in reached and may_exist(each))
            for other in {*self.list_claimed(name), *claiming} - reached:
                reached.add(other)
                waiting.append(other)
        return reached


def _canonical(spelling: str) -> str | None:
    try:
        return canonical_name(spelling)
    except InvalidName:
        return None
