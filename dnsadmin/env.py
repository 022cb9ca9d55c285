"""What the environment says. Every setting of a deployment is read here and nowhere else."""

import hashlib
import os
import tempfile
from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(os.environ.get("DNSADMIN_ENV_FILE", BASE_DIR / ".env"))

# Everything that must survive a restart and never be committed: database, keys, logs, sockets.
STATE_DIR = Path(env.str("DNSADMIN_STATE_DIR", default=str(BASE_DIR / ".state")))


# What the kernel allows for the path of a unix socket, with a little room.
_SOCKET_PATH_MAX = 100


def broker_socket() -> Path:
    """Where the embedded broker listens: in the state folder, or a short path if that one is too long."""
    path = STATE_DIR.resolve() / "broker.sock"
    if len(str(path)) <= _SOCKET_PATH_MAX:
        return path
    digest = hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()
    return Path(tempfile.gettempdir()) / f"dnsadmin-{os.getuid()}-{digest}" / "broker.sock"


class MissingSecret(Exception):
    """A secret without which nothing may start is neither in the environment nor in the state folder."""


def fetch_secret(name: str) -> str:
    """The secret `name` from `NAME`, from the file that `NAME_FILE` names, or from the state folder.

    There is no default: `python -m dnsadmin.prepare` (which `make run` calls) creates missing ones in
    the state folder; a deployment sets the variable or the file.
    """
    value: str = env.str(name, default="")
    if value:
        return value
    path = Path(env.str(f"{name}_FILE", default=str(STATE_DIR / "secrets" / name.lower())))
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise MissingSecret(
            f"{name} is not set. Nothing was started. Set {name}, or {name}_FILE to the path of a file "
            f"that holds it, or run `make run`, which creates one under {STATE_DIR / 'secrets'}."
        ) from None
