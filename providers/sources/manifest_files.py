"""The manifest files of a directory, found and read within bounds. All else in this package is pure."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from providers.sources.errors import InvalidManifest, Place

_SUFFIXES = (".json", ".yaml", ".yml")
# More is no directory of manifests, but some other part of a disk.
MAX_ENTRIES = 100_000


def read_files(directory: Path, max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Each manifest file at and below `directory` as (name relative to it, content), sorted by name.

    Hidden files and folders are passed over, as are other suffixes. A link may lead to a file inside (so a
    mounted ConfigMap is laid out), never out of the directory, and never to a folder. `max_bytes` bounds all
    files together. Raises InvalidManifest.
    """
    place = Place(str(directory))
    root = _resolve(directory, place)
    try:
        names = sorted(_find_names(root))
    except OSError as error:
        raise _unreadable(Place(str(error.filename or directory)), error) from None
    left = max_bytes
    for name in names:
        content = _read_file(root, name, left)
        if len(content) > left:
            reason = f"the files together exceed {max_bytes} bytes, the limit here."
            raise InvalidManifest(reason, Place(name))
        left -= len(content)
        yield name, content


def _find_names(root: Path) -> Iterator[str]:
    waiting, entries = [root], 0
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as found:
            for entry in found:
                entries += 1
                if entries > MAX_ENTRIES:
                    reason = f"it holds more than {MAX_ENTRIES} files; name the folder of the manifests."
                    raise InvalidManifest(reason, Place(str(root)))
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_symlink() and entry.is_dir():
                    reason = "it is a link to a folder, which is not followed; put the folder itself here."
                    raise InvalidManifest(reason, Place(_relative(root, entry.path)))
                elif entry.name.endswith(_SUFFIXES):
                    yield _relative(root, entry.path)


def _relative(root: Path, path: str) -> str:
    return os.path.relpath(path, root)


def _read_file(root: Path, name: str, max_bytes: int) -> bytes:
    """One byte more than allowed at most. A pipe or a device would block or never end: it is not read."""
    place = Place(name)
    path = _resolve(root / name, place)
    if not path.is_relative_to(root):
        raise InvalidManifest("it is a link that leads out of the directory; put the file here.", place)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidManifest("it is not a file; only files are read.", place)
            return file.read(max_bytes + 1)
    except OSError as error:
        raise _unreadable(place, error) from None


def _resolve(path: Path, place: Place) -> Path:
    try:
        return path.resolve(strict=True)
    except OSError as error:
        raise _unreadable(place, error) from None
    except (ValueError, RuntimeError):  # a NUL in the path; links in a circle, before Python 3.13
        raise InvalidManifest("it cannot be read: no file can be reached by this path.", place) from None


def _unreadable(place: Place, error: OSError) -> InvalidManifest:
    return InvalidManifest(f"it cannot be read: {error.strerror}.", place)
