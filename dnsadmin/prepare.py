"""Create what a machine needs before its first start: the state folder and its secrets, its user's alone.

Existing files are never changed, but for who may read them. `python -m dnsadmin.prepare`.
"""

import base64
import secrets
import stat
import sys
from pathlib import Path

from dnsadmin.env import STATE_DIR

_FOLDER, _FILE = 0o700, 0o600
# Files everybody gets to see anyway, and thousands of them.
_PUBLIC = ("static",)


def _random_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


# Django asks for a longer key than AES takes.
_SECRETS = {
    "dnsadmin_secret_key": lambda: secrets.token_urlsafe(64),
    "dnsadmin_encryption_keys": _random_key,
    "dnsadmin_audit_key": _random_key,
}


def prepare_state(state_dir: Path) -> None:
    """Create `state_dir` (0700), its folders, and any missing secret in it (0600); nothing in it stays open
    to others."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    (state_dir / "static").mkdir(exist_ok=True)
    secrets_dir = state_dir / "secrets"
    secrets_dir.mkdir(mode=0o700, exist_ok=True)
    for name, make_secret in _SECRETS.items():
        write_private_once(secrets_dir / name, make_secret())
    make_private(state_dir)


def write_private_once(path: Path, text: str) -> bool:
    """Write a file only its owner can read; False if it was there already. An empty one is what a start
    that was cut off left: nothing was ever kept under it."""
    try:
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        if path.read_bytes().strip():
            return False
    path.write_text(text + "\n", encoding="utf-8")
    return True


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


if __name__ == "__main__":
    try:
        prepare_state(STATE_DIR)
    except OSError as error:
        sys.exit(
            f"The state folder {STATE_DIR} cannot be used: {error.strerror}. Its content was not "
            "changed. Make it a folder of your own, or name another: DNSADMIN_STATE_DIR=..."
        )
