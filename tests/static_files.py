"""Static files are looked for once in a process, not by every test client that is made.

WhiteNoise looks for them when a server starts. Each test client starts as a server does, and most of the time
of a short test would go into looking at the same hundred files.
"""

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Redirect, StaticFile

_find = WhiteNoiseMiddleware.add_files_from_finders
_found: dict[str, StaticFile | Redirect] = {}


def find_static_files_once() -> None:
    """From here on the first test client of this process finds the files for all that follow."""
    WhiteNoiseMiddleware.add_files_from_finders = _add_files


def _add_files(middleware: WhiteNoiseMiddleware) -> None:
    if not _found:
        _find(middleware)
        _found.update(middleware.files)
    middleware.files.update(_found)
