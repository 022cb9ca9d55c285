"""Fields of a manifest, each asked for by name and type; what is wrong is said with what would be right."""

from collections.abc import Iterator
from dataclasses import dataclass

from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_tree import Node, Unclear
from providers.wire.poison import safe_text

_MAX_SHOWN = 60


@dataclass(frozen=True)
class ManifestObject:
    """A mapping with its place. A field that is absent and one that holds nothing are the same."""

    fields: dict[str, Node]
    place: Place

    def raise_if_unknown(self, known: tuple[str, ...]) -> None:
        """Refuse a field of another name: a misspelt one would else be passed over in silence."""
        for name in self.fields:
            if name not in known:
                hint = next((each for each in known if each.lower() == name.lower()), "")
                reason = f"write {hint!r}." if hint else f"known here are {', '.join(known)}."
                raise InvalidManifest(f"there is no such field; {reason}", self.place.field(name))

    def text(self, name: str) -> str:
        """The text of a field that must have one."""
        text = self.optional_text(name)
        if not text:
            raise InvalidManifest("it is missing; a text belongs here.", self.place.field(name))
        return text

    def optional_text(self, name: str) -> str:
        """The text of a field, empty where there is none."""
        node = self.fields.get(name)
        return "" if node is None else read_text(node, self.place.field(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        found = []
        for node, place in self._items(name, "a list of texts"):
            text = "" if node is None else read_text(node, place)
            if not text:
                raise InvalidManifest("it is empty; remove it, or write its text.", place)
            found.append(text)
        return tuple(found)

    def text_map(self, name: str) -> dict[str, str]:
        """Keys and texts, such as labels."""
        node = self.fields.get(name)
        found = {} if node is None else read_object(node, self.place.field(name)).fields
        place = self.place.field(name)
        return {
            key: "" if value is None else read_text(value, place.field(key)) for key, value in found.items()
        }

    def whole_number(self, name: str) -> int | None:
        """A decimal whole number, None where there is none."""
        node, place = self.fields.get(name), self.place.field(name)
        if node is None:
            return None
        if isinstance(node, str):
            raise InvalidManifest("it is a text; write a whole number, without quotes.", place)
        if isinstance(node, bool) or not isinstance(node, int):
            what = describe(node)
            raise InvalidManifest(f"it is {what}; write a decimal whole number, such as 300.", place)
        return node

    def child(self, name: str) -> "ManifestObject":
        """The mapping in a field; an empty one where there is none."""
        node = self.fields.get(name)
        return read_object({} if node is None else node, self.place.field(name))

    def children(self, name: str) -> Iterator["ManifestObject"]:
        """The mappings of the list in a field."""
        for node, place in self._items(name, "a list"):
            yield read_object(node, place)

    def _items(self, name: str, wanted: str) -> Iterator[tuple[Node, Place]]:
        node, place = self.fields.get(name), self.place.field(name)
        if node is None:
            return
        if not isinstance(node, list):
            raise InvalidManifest(f"it is {describe(node)}; write {wanted}, even for one.", place)
        for index, item in enumerate(node):
            yield item, place.item(index)


def read_object(node: Node, place: Place) -> ManifestObject:
    """A mapping. Raises InvalidManifest for anything else."""
    if not isinstance(node, dict):
        raise InvalidManifest(f"it is {describe(node)}; a mapping is expected here.", place)
    return ManifestObject(node, place)


def read_text(node: Node, place: Place) -> str:
    """A text. Raises InvalidManifest for what is none, or is none to every program."""
    if isinstance(node, str):
        return node
    if isinstance(node, Unclear):
        word = safe_text(node.word[:_MAX_SHOWN])
        reason = f'{word} without quotes is {node.reading} to some programs; write "{word}" if it is a text.'
        raise InvalidManifest(reason, place)
    reason = f"it is {describe(node)}; a text is expected here"
    if isinstance(node, int):
        shown = str(node).lower()
        raise InvalidManifest(f'{reason}, with quotes if it is "{shown}".', place)
    raise InvalidManifest(f"{reason}.", place)


def describe(node: Node) -> str:
    """What is there, by its type."""
    if node is None:
        return "empty"
    if isinstance(node, Unclear):
        return node.reading
    names = {bool: "true or false", int: "a number", str: "a text", list: "a list", dict: "a mapping"}
    return names[type(node)]
