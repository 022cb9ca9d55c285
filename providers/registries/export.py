"""A registry as a document that outlives the store it was kept in: what documents of all kinds share."""

import hashlib
from datetime import datetime
from typing import TypeVar

import msgspec

from providers.registries.configmap.rows import Row
from providers.registries.errors import RegistryError

MAX_EXPORT_BYTES = 256 * 1024 * 1024
VERSION = 1


class UnusableExport(RegistryError):
    """A document that is no export of a registry, or not a whole one; nothing of it was used."""


class Export(msgspec.Struct, frozen=True):
    """The registry of one owner, or of all (`owner_id` is empty), at one moment: all its rows, its intents,
    and how many rows had to stay behind."""

    owner_id: str
    exported_at: datetime
    rows: tuple[Row, ...]
    intents: tuple[Row, ...]
    left_out: int = 0


class Document(msgspec.Struct, frozen=True, rename={"exported_at": "exportedAt", "left_out": "leftOut"}):
    """What every document begins with; each kind of registry has its rows behind."""

    kind: str
    version: int
    owner: str
    exported_at: datetime
    left_out: int
    digest: str


_Read = TypeVar("_Read", bound=Document)


def decode_document(document: bytes, type_: type[_Read], kind: str) -> _Read:
    """A document of one kind; its rows and its digest are not checked yet. Raises UnusableExport."""
    if len(document) > MAX_EXPORT_BYTES:
        raise UnusableExport(f"The export is larger than {MAX_EXPORT_BYTES} bytes.")
    try:
        found = msgspec.json.decode(document, type=type_)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise UnusableExport(f"This is no export of a {kind}.") from None
    if found.kind != kind:
        raise UnusableExport(f"This is no export of a {kind}.")
    if found.version != VERSION:
        raise UnusableExport(f"The export has version {found.version}, which this release does not know.")
    return found


def format_digest(*parts: bytes) -> str:
    """The digest that a document states."""
    return "sha256:" + hashlib.sha256(b"\n".join(parts)).hexdigest()


def raise_if_changed(document: Document, digest: str) -> None:
    """Raises UnusableExport where the digest that a document states is not that of its rows."""
    if document.digest != digest:
        raise UnusableExport("The export is not as it was written: its digest is another.")
