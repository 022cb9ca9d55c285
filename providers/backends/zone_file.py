"""A DNS service whose zones are files in BIND's master-file syntax. They survive restarts and crashes.

The files are rewritten as a whole at each change: comments and layout are lost, records are not, also those
of types that are never shown. A change set over several zones is written zone by zone: all or nothing holds
for each file, and a power cut between two files leaves the later ones as they were.
"""

import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from providers.backends.backend import Capabilities
from providers.backends.closest_zone import find_closest_zone
from providers.backends.errors import BackendError
from providers.backends.single_change import SingleChange, single_changes
from providers.backends.zone import PlacedChange, Zone, make_zone_text, parse_zone
from providers.backends.zone_value import adjust_where_possible
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint

_SUFFIX = ".zone"


class FileSignature(NamedTuple):
    """What tells one state of a file from the next without reading it."""

    modified_ns: int
    size: int
    inode: int


class _LoadedZone(msgspec.Struct, frozen=True):
    signature: FileSignature
    zone: Zone


class ZoneFileBackend:
    """One zone file, or every `<zone name>.zone` of a folder.

    A zone's name is its `$ORIGIN`, or else the file's name. Files are read again when they change on disk.
    Raises BackendError at once if the path holds no readable zone.
    """

    def __init__(self, path: Path, *, domain_filter: DomainFilter | None = None) -> None:
        self._path = path.resolve()
        self._lock = threading.Lock()
        self._loaded: dict[Path, _LoadedZone] = {}
        self._given_filter = domain_filter
        with self._lock:
            self._refresh()

    def records(self) -> Sequence[Endpoint]:
        with self._lock:
            self._refresh()
            return [endpoint for each in self._loaded.values() for endpoint in each.zone.endpoints.values()]

    def apply(self, change_set: ChangeSet) -> None:
        changes = single_changes(change_set)
        with self._lock, self._folder_lock():
            self._refresh()
            placed = {
                path: self._loaded[path].zone.placed(each)
                for path, each in self._changes_by_file(changes).items()
            }
            self._write(placed)

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """Targets in zone-file form. What no zone file can hold stays as it is; `apply` explains it then."""
        return [adjust_where_possible(endpoint) for endpoint in endpoints]

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return previous == current

    def domain_filter(self) -> DomainFilter:
        if self._given_filter is not None:
            return self._given_filter
        with self._lock:
            self._refresh()
            return DomainFilter(include=tuple(each.zone.domain for each in self._loaded.values()))

    def capabilities(self) -> Capabilities:
        return Capabilities(
            atomic=True,
            value_exact=True,
            ordered=True,
            immediate=True,
            set_identifiers=False,
            provider_specific=False,
        )

    def _refresh(self) -> None:
        paths = self._zone_paths()
        loaded: dict[Path, _LoadedZone] = {}
        for path in paths:
            try:
                signature = _signature(path.stat())
                known = self._loaded.get(path)
                loaded[path] = known if known and known.signature == signature else _load(path, signature)
            except (OSError, UnicodeDecodeError) as error:
                raise BackendError(f"The zone file {path.name} cannot be read: {error}") from error
        domains = [each.zone.domain for each in loaded.values()]
        if len(set(domains)) < len(domains):
            raise BackendError(f"Two files in {self._path.name} hold the same zone; remove one of them.")
        self._loaded = loaded

    def _zone_paths(self) -> list[Path]:
        if not self._path.is_dir():
            return [self._path]
        paths = sorted(each for each in self._path.glob(f"*{_SUFFIX}") if not each.name.startswith("."))
        if not paths:
            raise BackendError(
                f"The folder {self._path.name} holds no zone; put a file such as example.org{_SUFFIX} in it."
            )
        return paths

    def _changes_by_file(self, changes: Sequence[SingleChange]) -> dict[Path, list[SingleChange]]:
        domains = {each.zone.domain: path for path, each in self._loaded.items()}
        by_file: dict[Path, list[SingleChange]] = {}
        for change in changes:
            path = find_closest_zone(change.key, domains, self._given_filter)
            by_file.setdefault(path, []).append(change)
        return by_file

    def _write(self, placed: dict[Path, tuple[PlacedChange, ...]]) -> None:
        written = False
        try:
            for path, changes in placed.items():
                zone = self._loaded[path].zone
                zone.make(changes)
                self._loaded[path] = _LoadedZone(write_durably(path, zone.text()), zone)
            written = True
        except OSError as error:
            raise BackendError(
                f"A zone file could not be written ({error.strerror}). What is on disk is what counts: "
                "read the records again."
            ) from error
        finally:
            if not written:
                # What is in memory may be ahead of the disk: read everything anew.
                self._loaded = {}

    @contextmanager
    def _folder_lock(self) -> Iterator[None]:
        """Keeps other processes that serve the same files from writing between our read and our write."""
        folder = self._path if self._path.is_dir() else self._path.parent
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise BackendError(f"The folder of the zone cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def write_durably(path: Path, content: bytes) -> FileSignature:
    """Replace a file so that a crash at any moment leaves the old content or the new, never a mixture.

    The signature returned is that of what was written, also if somebody replaces the file right after. The
    temporary file has one fixed name: what a crash leaves behind is overwritten by the next write.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        if path.exists():
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        signature = _signature(os.fstat(file.fileno()))
    temporary.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return signature


def write_new_zone(path: Path, domain: str, *, name_server: str = "") -> None:
    """Write an empty zone for `domain`: SOA and one name server (`ns1.<domain>` if none is given)."""
    write_durably(path, make_zone_text(domain, name_server or f"ns1.{domain}").encode("utf-8"))


def _load(path: Path, signature: FileSignature) -> _LoadedZone:
    text = path.read_text(encoding="utf-8")
    try:
        return _LoadedZone(signature, parse_zone(text, path.name.removesuffix(_SUFFIX)))
    except BackendError as error:
        raise BackendError(f"{path.name}: {error}") from error


def _signature(status: os.stat_result) -> FileSignature:
    return FileSignature(status.st_mtime_ns, status.st_size, status.st_ino)
