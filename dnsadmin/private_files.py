"""What is in the state folder is its user's alone: the database, its log, keys, logs and the password."""

import stat
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
# Files everybody gets to see anyway, and thousands of them.
_PUBLIC = ("static",)


def make_private(state_dir: Path) -> None:
    """Take from everybody else what a start under another umask, or a copy, left open. Files of others are
    left as they are. Raises OSError where the folder cannot be read."""
    for path in sorted(state_dir.iterdir()):
        if path.name in _PUBLIC or path.is_symlink():
            continue
        if path.is_dir():
            _set_mode(path, _FOLDER)
            make_private(path)
        else:
            _set_mode(path, _FILE)


def _set_mode(path: Path, mode: int) -> None:
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(mode)
    except (PermissionError, FileNotFoundError):
        return  # not ours, or gone meanwhile
