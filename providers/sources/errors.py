"""What can be wrong with a manifest, and where: file, document, and the path inside it."""

from typing import NamedTuple

from providers.wire.poison import safe_text

# A path is shown as far as it helps; keys are other people's text.
_MAX_KEY_IN_PATH = 63


class Place(NamedTuple):
    """One spot in the manifests. `document` counts from 1, 0 is the file as a whole."""

    file: str
    document: int = 0
    path: str = ""

    def field(self, name: str) -> "Place":
        """The field of this name below here."""
        shown = safe_text(name[:_MAX_KEY_IN_PATH])
        return self._replace(path=f"{self.path}.{shown}" if self.path else shown)

    def item(self, index: int) -> "Place":
        """The item at this position of the list here."""
        return self._replace(path=f"{self.path}[{index}]")

    def __str__(self) -> str:
        parts = (safe_text(self.file), f"document {self.document}" if self.document else "", self.path)
        return ", ".join(part for part in parts if part)


class InvalidManifest(ValueError):
    """A manifest that cannot be taken as it is; nothing of the directory counts then.

    `reason` says what is wrong and what would be right, `place` where.
    """

    def __init__(self, reason: str, place: Place) -> None:
        super().__init__(f"{place}: {reason}")
        self.reason = reason
        self.place = place

    @property
    def file(self) -> str:
        """The file, relative to the directory that was read."""
        return self.place.file

    @property
    def document(self) -> int:
        """The number of the document in the file, from 1; 0 where the whole file is meant."""
        return self.place.document

    @property
    def path(self) -> str:
        """The path inside the document, such as `spec.endpoints[3].recordTTL`."""
        return self.place.path

    def __reduce__(self) -> tuple[type["InvalidManifest"], tuple[str, Place]]:
        # The default would hand the formatted sentence back as the reason.
        return type(self), (self.reason, self.place)
