"""The settings in the environment. Every setting of a deployment is read here and nowhere else."""

import base64
import binascii
import hashlib
import ipaddress
import logging
import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (BASE_DIR / "manage.py").is_file()
# A wheel has them in this package.
TEMPLATES_DIR = (BASE_DIR if IS_CHECKOUT else BASE_DIR / "dnsadmin") / "templates"


class BadSetting(Exception):
    """A setting is there and cannot be used. The text names it, never its value, which may be a secret."""

    def __init__(self, name: str, problem: str, todo: str) -> None:
        super().__init__(f"{name} cannot be used: {problem}. Nothing was started. {todo}")


class Environment(environ.Env):  # type: ignore[misc]  # untyped there
    """As the library's, with errors in our own words."""

    def get_value(self, var: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().get_value(var, *args, **kwargs)
        except (ValueError, KeyError, ImproperlyConfigured):
            # The cause is left out: it quotes the value.
            raise BadSetting(str(var), "it has the wrong type", f"Correct or unset {var}.") from None


env = Environment()
env.read_env(os.environ.get("DNSADMIN_ENV_FILE", BASE_DIR / ".env"))

# Everything that must survive a restart and never be committed: database, keys, logs, sockets.
# A checkout has it beside the code; what pip installed must not write there.
_STATE_DIR = BASE_DIR / ".state" if IS_CHECKOUT else Path.home() / ".local" / "state" / "dnsadmin"
STATE_DIR = Path(env.str("DNSADMIN_STATE_DIR", default=str(_STATE_DIR)))


# Whatever the umask or the mode of the folder: what any process of ours makes is its user's alone.
os.umask(os.umask(0o077) | 0o077)


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
        value = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        value = ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(name, f"its file {path} cannot be read", "Put the secret there as text.") from error
    if not value:
        raise MissingSecret(
            f"{name} is not set, or its file is empty. Nothing was started. Set {name}, or {name}_FILE to "
            "the path of a file that holds it, or run `python -m dnsadmin.prepare`, which creates one under "
            f"{STATE_DIR / 'secrets'}."
        )
    return value


def fetch_optional_secret(name: str) -> str:
    """The secret `name` from `NAME`, or from the file that `NAME_FILE` names; empty where neither is set."""
    value: str = env.str(name, default="")
    path: str = env.str(f"{name}_FILE", default="")
    if value or not path:
        return value
    try:
        value = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        value = ""
    if not value:
        raise BadSetting(f"{name}_FILE", "there is no text to be read there", "Write it to that file.")
    return value


def fetch_encryption_keys(name: str) -> tuple[bytes, ...]:
    """AES-256 keys, newest first, written in base64 with commas or spaces between."""
    keys: list[bytes] = []
    for number, text in enumerate(fetch_secret(name).replace(",", " ").split(), start=1):
        try:
            key = base64.b64decode(text, validate=True)
        except binascii.Error:
            key = b""
        if len(key) != 32:
            todo = "Each key is 32 random bytes in base64, such as `openssl rand -base64 32` prints."
            raise BadSetting(name, f"key {number} is not 32 bytes in base64", todo)
        keys.append(key)
    return tuple(keys)


def fetch_database(name: str) -> dict[str, Any]:
    """The database; by default SQLite in the state folder."""
    url: str = env.str(name, default=f"sqlite:///{STATE_DIR / 'dnsadmin.sqlite3'}")
    todo = (
        "Write it as postgres://user:password@host:5432/name, with %23 for # and the like in the password, "
        "or unset it for SQLite."
    )
    try:
        return _read_database(name, url, todo)
    except ValueError:
        # The cause is left out: it quotes the value.
        raise BadSetting(name, "it is no address of a database", todo) from None


def _read_database(name: str, url: str, todo: str) -> dict[str, Any]:
    # Asked first: the library warns of a scheme it does not know with the whole address, password and all.
    if urlsplit(url).scheme not in {"postgres", "postgresql", "sqlite"}:
        raise BadSetting(name, "it is not the address of a PostgreSQL or SQLite database", todo)
    database: dict[str, Any] = env.db_url_config(url)
    if not database.get("NAME") or (database.get("PORT") and not str(database["PORT"]).isdigit()):
        raise BadSetting(name, "it names no database", todo)
    return database


def fetch_redis_url(name: str) -> str:
    """The broker and cache; by default the embedded one."""
    url: str = env.str(name, default=f"redis+socket://{broker_socket()}")
    todo = "Write it as redis://host:6379/0, or unset it for the embedded broker."
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in {"redis", "rediss", "redis+socket"} and parts.port != 0
    except ValueError:
        is_known = False
    if not is_known:
        raise BadSetting(name, "it is not the address of a Redis", todo)
    return url


# What else the query of the address may state of certificates; never that they are not verified.
_TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


def fetch_redis_tls(name: str, url: str) -> dict[str, Any]:
    """How the certificate at a rediss:// address is verified: always, and for its host. Empty without TLS."""
    parts = urlsplit(url)
    if parts.scheme != "rediss":
        return {}
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(key for key in given if key.startswith("ssl_") and key not in _TLS_FILES)
    if unknown:
        raise BadSetting(
            name,
            f"its {unknown[0]} would change how the certificate is verified",
            "Leave it out: certificates are always verified. ssl_ca_certs=/path trusts another authority.",
        )
    files = {key: given[key] for key in _TLS_FILES if key in given}
    return {"ssl_cert_reqs": "required", "ssl_check_hostname": True, **files}


def fetch_networks(name: str) -> list[str]:
    """Networks such as 10.20.0.0/16."""
    networks: list[str] = env.list(name, default=[])
    for text in networks:
        try:
            ipaddress.ip_network(text)
        except ValueError:
            raise BadSetting(name, f"{text!r} is not a network", "Write networks as 10.20.0.0/16.") from None
    return networks


def fetch_log_level(name: str) -> str:
    """A level of the standard library; by default INFO."""
    level: str = env.str(name, default="INFO").upper()
    if level not in logging.getLevelNamesMapping():
        raise BadSetting(name, "there is no such level", "Choose DEBUG, INFO, WARNING or ERROR.")
    return level


def fetch_log_format(name: str) -> str:
    """How log lines are written: for programs, or for people."""
    chosen: str = env.str(name, default="json")
    if chosen not in ("json", "console"):
        raise BadSetting(name, "there is no such format", "Choose json, or console for people.")
    return chosen


def fetch_operations_port(name: str) -> int:
    """The port of a worker or the scheduler for `/healthz`, `/readyz` and `/metrics`; 0: none."""
    return fetch_port(name) if env.str(name, default="") not in ("", "0") else 0


def fetch_port(name: str) -> int:
    """The port the web role listens on; by default 8000."""
    port: int = env.int(name, default=8000)
    if not 0 < port < 65536:
        raise BadSetting(name, "a port is a number from 1 to 65535", f"Choose another, such as {name}=8000.")
    return port
