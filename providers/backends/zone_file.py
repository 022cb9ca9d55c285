"""A DNS service whose zones are files in BIND's master-file syntax. They survive restarts and crashes.

The files are rewritten as a whole at each change: comments and layout are lost, records are not, also those
of types that are never shown. What can be made of a change set is made, file by file: a power cut between two
files leaves the later ones as they were.
"""

import argparse
import fcntl
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from providers.backends.backend import Backend, BackendOptions
from providers.backends.errors import BackendError, ChangeRefused, Outcome, Reason
from providers.backends.single_change import find_closest_zone
from providers.backends.zone import Zone, make_zone_text, parse_zone
from providers.backends.zone_changes import PlacedGroup, ZoneBackend, ZoneChanges
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


class ZoneFileBackend(ZoneBackend[Path]):
    """One zone file, or every `<zone name>.zone` of a folder.

    A zone's name is its `$ORIGIN`, or else the file's name. Files are read again when they change on disk.
    Raises BackendError at once if the path holds no readable zone.
    """

    def __init__(
        self,
        path: Path,
        *,
        domain_filter: DomainFilter | None = None,
        encryption_keys: Sequence[bytes] = (),
    ) -> None:
        super().__init__(domain_filter, encryption_keys)
        self._path = path.resolve()
        self._lock = threading.Lock()
        self._loaded: dict[Path, _LoadedZone] = {}
        with self._lock:
            self._refresh()

    def records(self) -> Sequence[Endpoint]:
        with self._lock:
            self._refresh()
            return [endpoint for each in self._loaded.values() for endpoint in each.zone.endpoints.values()]

    def apply(self, change_set: ChangeSet) -> None:
        outcome = Outcome()
        with self._lock, self._folder_lock():
            self._refresh()
            paths = {each.zone.domain: path for path, each in self._loaded.items()}
            changes = ZoneChanges[Path](
                lambda key: find_closest_zone(key, paths, self._given_filter),
                lambda path: self._loaded[path].zone,
                self._old_values,
            )
            for path, groups in changes.place(change_set, outcome).items():
                outcome.send([groups], partial(self._write, path))
        outcome.raise_if_refused()

    def _fetch_zones(self) -> Mapping[str, Path]:
        with self._lock:
            self._refresh()
            return {each.zone.domain: path for path, each in self._loaded.items()}

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
            raise BackendError(f"Two files in {self._path.name} have the same zone. Remove one of them.")
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

    def _write(self, path: Path, groups: Sequence[PlacedGroup]) -> None:
        """Make the changes of one file. Raises ChangeRefused: another file may still do."""
        needed = [change for group in groups for change in group.changes]
        if not needed:
            return
        # What is in memory may be ahead of the disk until it is written: then everything is read anew.
        zone = self._loaded.pop(path).zone
        zone.make(needed)
        try:
            self._loaded[path] = _LoadedZone(write_durably(path, zone.text()), zone)
        except OSError as error:
            raise ChangeRefused(
                f"The zone file {path.name} could not be written ({error.strerror}). The file on disk "
                "decides: read the records again.",
                reason=Reason.SERVICE,
            ) from error

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the zones are."""
    parser.add_argument("path", type=Path, help="a zone file, or a folder of example.org.zone and so on")


def build(options: BackendOptions) -> Backend:
    """The backend. Raises BackendError where the zones cannot be read."""
    return ZoneFileBackend(
        options.own.path, domain_filter=options.domain_filter, encryption_keys=options.encryption_keys
    )
