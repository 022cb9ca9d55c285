"""What is known of the database outside of it: in the state folder, and in Redis.

A copy that is ahead of the database means that the database was restored from an earlier state. A copy that
is missing means nothing: the machine may be new, or Redis emptied.
"""

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db.models import F

from registry_app.errors import LeaseLost
from registry_app.models import AuditEntry, Generation
from registry_app.models.audit_entry import AuditCheckpoint, AuditTail

_REDIS_SECONDS = 2.0
EMPTY_HASH = "0" * 64


@dataclass(frozen=True)
class Knowledge:
    """How far a database had come: its generation, its requests sent, and the end of its audit trail."""

    identity: str
    generation: int
    sends: int
    sequence: int
    hash: str

    @property
    def order(self) -> tuple[int, int, int]:
        """Only ever grows, as long as nobody restores."""
        return self.generation, self.sends, self.sequence


class DatabaseRestored(LeaseLost):
    """The copy outside the database is ahead of it: nothing may be sent before that was noted."""

    code = "database_restored"


def fetch_generation() -> Generation:
    """The one row; made where the database is new."""
    row, _ = Generation.objects.get_or_create(id=1)
    return row


def fetch_knowledge() -> Knowledge:
    """What the database knows of itself now."""
    row = fetch_generation()
    tail = AuditTail.objects.filter(id=1).first()
    sequence, last = (tail.sequence, tail.hash) if tail else (0, EMPTY_HASH)
    return Knowledge(str(row.identity), row.number, row.sends, sequence, last)


def find_copy_ahead() -> Knowledge | None:
    """The copy that shows that the database was restored; None where no copy does. Writes nothing."""
    row = Generation.objects.filter(id=1).first()
    if row is None:  # a new database: it has no copies yet
        return None
    # The copies first: the database may move on meanwhile, the copies never overtake it.
    copies = list(fetch_copies(str(row.identity)))
    known = fetch_knowledge()
    ahead = [copy for copy in copies if _is_ahead(copy, known)]
    return max(ahead, key=lambda copy: copy.order, default=None)


def fetch_copies(identity: str) -> Iterator[Knowledge]:
    """The copies of this database that can be read and whose seal holds."""
    for text in (_read_file(identity), _read_redis(identity)):
        copy = parse_copy(text) if text else None
        if copy is not None and copy.identity == identity:
            yield copy


def count_send() -> None:
    """Count one request that is about to be sent. Inside the transaction that marks it as being sent."""
    fetch_generation()
    Generation.objects.filter(id=1).update(sends=F("sends") + 1)


def announce_send() -> None:
    """Write down outside the database that something is about to be sent. After the commit of `count_send`.

    An earlier state of the database that is restored later is known by this. Raises DatabaseRestored where
    that has happened already, or where the copy can be written nowhere.
    """
    if find_copy_ahead() is not None:
        raise DatabaseRestored(
            "The database was restored from an earlier state.",
            now="This request was not sent.",
            todo="Nothing to do: a worker records the restore within seconds and says what to do.",
        )
    if not store_copy(fetch_knowledge()):
        raise DatabaseRestored(
            f"Neither the folder {_folder()} nor Redis could store the note about this request.",
            now="This request was not sent.",
            todo="Make the folder writable, or check that Redis responds.",
            code="no_copy_outside",
        )


def store_copy(known: Knowledge) -> bool:
    """Write the copy to the state folder and to Redis, each only forward. Whether one of them took it.

    Never while a transaction is open: what is rolled back would count as lost.
    """
    took_file = _store_file(known)
    return _store_redis(known) or took_file


def format_copy(known: Knowledge) -> str:
    """The copy as text, with its seal."""
    values = asdict(known)
    return json.dumps({**values, "seal": _seal(values)}, sort_keys=True)


def parse_copy(text: str) -> Knowledge | None:
    """The copy, or None where it cannot be read, or somebody else wrote it."""
    try:
        values: dict[str, Any] = json.loads(text)
        seal = str(values.pop("seal"))
        known = Knowledge(**values)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return known if hmac.compare_digest(seal, _seal(values)) else None


def _is_ahead(copy: Knowledge, known: Knowledge) -> bool:
    if copy.generation != known.generation:
        return copy.generation > known.generation
    if copy.sends > known.sends or copy.sequence > known.sequence:
        return True
    if copy.sequence and (checkpoint := AuditCheckpoint.objects.filter(sequence__gte=copy.sequence).last()):
        # That entry was exported and perhaps deleted.
        return checkpoint.sequence == copy.sequence and checkpoint.hash != copy.hash
    # The database went on since it was restored: then another entry stands at that place.
    entries = AuditEntry.objects.filter(sequence=copy.sequence)
    stored = entries.values_list("hash", flat=True).first() if copy.sequence else copy.hash
    return stored != copy.hash


def _seal(values: dict[str, Any]) -> str:
    text = "outside copy\n" + json.dumps(values, sort_keys=True)
    return hmac.new(settings.DNSADMIN_AUDIT_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def _folder() -> Path:
    return Path(settings.DNSADMIN_STATE_DIR) / "outside-copies"


def _read_file(identity: str) -> str:
    try:
        return (_folder() / f"{identity}.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _store_file(known: Knowledge) -> bool:
    path = _folder() / f"{known.identity}.json"
    try:
        with _locked(path.with_suffix(".lock")):
            earlier = parse_copy(_read_file(known.identity))
            if earlier is None or earlier.order < known.order:
                _replace(path, format_copy(known))
    except OSError:
        return False
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def _redis_key(identity: str) -> str:
    return f"{settings.CACHES['default']['KEY_PREFIX']}:outside-copy:{identity}"


@lru_cache(maxsize=4)
def _open_redis(location: str) -> "redis.Redis":
    return redis.Redis.from_url(
        location,
        decode_responses=True,
        socket_timeout=_REDIS_SECONDS,
        socket_connect_timeout=_REDIS_SECONDS,
    )


def _read_redis(identity: str) -> str:
    try:
        return str(_open_redis(settings.CACHES["default"]["LOCATION"]).get(_redis_key(identity)) or "")
    except (redis.RedisError, UnicodeDecodeError):
        return ""


def _store_redis(known: Knowledge) -> bool:
    key = _redis_key(known.identity)

    def write(pipe: Any) -> None:
        earlier = parse_copy(pipe.get(key) or "")
        pipe.multi()
        if earlier is None or earlier.order < known.order:
            pipe.set(key, format_copy(known))

    try:
        _open_redis(settings.CACHES["default"]["LOCATION"]).transaction(write, key)
    except redis.RedisError:
        return False
    return True
