"""Whether what dnsadmin consists of runs: worker, scheduler, broker, database. For the first page."""

import time
from typing import NamedTuple

from django.db import connection
from redis.exceptions import RedisError

from registry_app.queries.broker import fetch_queue_length
from registry_app.queries.heartbeat import LATE_AFTER_SECONDS, fetch_heartbeat_ages

_ROLES = (
    ("worker", "Worker", "Nothing is synced or sent. Start one: python -m dnsadmin.roles worker"),
    ("beat", "Scheduler", "Nothing becomes due. Start it: python -m dnsadmin.roles beat"),
)


class RunningPart(NamedTuple):
    """One part; `text` is one line for people."""

    name: str
    is_well: bool
    text: str


def fetch_running_parts() -> list[RunningPart]:
    """Each part, in the time of four small questions; a broker that is away may take a second or two more."""
    try:
        length, ages = fetch_queue_length(), fetch_heartbeat_ages()
    except RedisError:
        return [*_describe_unknown(), _describe_database()]
    waiting = f"{length} task{'' if length == 1 else 's'} waiting" if length else "no task waits"
    return [
        *_describe_roles(ages),
        RunningPart("Broker", is_well=True, text=f"responds, {waiting}"),
        _describe_database(),
    ]


def _describe_roles(ages: dict[str, float]) -> list[RunningPart]:
    parts = []
    for role, name, todo in _ROLES:
        age = ages.get(role)
        if age is not None and age <= LATE_AFTER_SECONDS:
            parts.append(RunningPart(name, is_well=True, text=f"runs, seen {age:.0f} s ago"))
        else:
            seen = "not seen yet" if age is None else f"not seen for {age / 60:.0f} min"
            parts.append(RunningPart(name, is_well=False, text=f"{seen}. {todo}"))
    return parts


def _describe_unknown() -> list[RunningPart]:
    unknown = "not known while the broker does not respond"
    roles = [RunningPart(name, is_well=False, text=unknown) for _, name, _ in _ROLES]
    text = "does not respond. What is due begins when it is back; nothing is lost"
    return [*roles, RunningPart("Broker", is_well=False, text=text)]


def _describe_database() -> RunningPart:
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    milliseconds = (time.perf_counter() - began) * 1000
    return RunningPart(
        "Database", is_well=True, text=f"{connection.display_name} responds in {milliseconds:.1f} ms"
    )
