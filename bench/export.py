"""What an export of all record sets costs: the lines of the product over those of a driver's cursor.

The floor is one statement, joined with providers and owners, whose rows are fetched in slices and encoded by
msgspec as the same lines, with JSON as it is stored. Nothing is sent: a network costs both the same.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import msgspec

from bench.bodies import static_server, write_body
from bench.figures import Figure, Report
from bench.processes import peak_bytes, prepare, product_folder, run_apart
from bench.sync import measure_sync

NAMES = ("export-ndjson", "export-csv", "export-memory")
_SMALL = 100
_SLICE = 1_000
_MOST_MEMORY = 64 * 1024 * 1024
COLUMNS = (
    "r.id, p.id, p.name, r.name, r.record_type, r.set_identifier, r.targets, r.ttl, r.provider_specific, "
    "r.state, o.owner_id, r.resource, CAST(r.first_seen_at AS text), CAST(r.changed_at AS text), "
    "CAST(r.missing_since AS text)"
)
TABLES = (
    "registry_app_recordset r JOIN registry_app_provider p ON p.id = r.provider_id "
    "LEFT JOIN registry_app_owner o ON o.id = r.owner_id"
)
_STATEMENT = f"SELECT {COLUMNS} FROM {TABLES} ORDER BY r.name, r.id"


class ExportFigures(NamedTuple):
    """One export: seconds, lines, and memory beyond that of the process after a small export."""

    seconds: float
    lines: int
    memory: int


def measure_export(count: int, report: Report, rounds: int) -> None:
    """Add the figures of NAMES, `rounds` times. `count` is record sets, nearly all with a claim."""
    with product_folder() as folder:
        body, small = folder / "records.json", folder / "small.json"
        write_body(body, count)
        write_body(small, _SMALL)
        with static_server(body) as url, static_server(small) as small_url:
            provider_id, small_id = run_apart(prepare, folder, [url, small_url])
            run_apart(measure_sync, provider_id, small_id)
        for _ in range(rounds):
            ndjson, floor = run_apart(export, "ndjson"), run_apart(read_with_driver)
            tabled = run_apart(export, "csv")
            if ndjson.lines != floor.lines + 1 or tabled.lines != floor.lines + 2:
                raise RuntimeError(f"lines: {ndjson.lines} and {tabled.lines}, of {floor.lines}")
            report.add(Figure("export-ndjson", ndjson.seconds, floor.seconds, 1.5))
            report.add(Figure("export-csv", tabled.seconds, floor.seconds))
            report.add(Figure("export-memory", ndjson.memory, _MOST_MEMORY, 1.0, "B"))


def export(export_format: str, result: Connection) -> None:
    """Sends the figures of an export of all record sets, after one of a few."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.http import QueryDict

    from registry_app.actor import Actor
    from registry_app.api.list_export import export_list

    user, _ = get_user_model().objects.get_or_create(username="alice")
    alice = Actor(kind="command", name="alice", user_id=user.pk)
    wanted = f"format={export_format}"
    _count(export_list(alice, "record-sets", QueryDict(f"{wanted}&name_prefix=app-000000")))
    idle = peak_bytes()
    started = time.perf_counter()
    lines = _count(export_list(alice, "record-sets", QueryDict(wanted)))
    result.send(ExportFigures(time.perf_counter() - started, lines, peak_bytes() - idle))


def read_with_driver(result: Connection) -> None:
    """Sends the figures of the least that does the same."""
    import django

    django.setup()
    from django.db import connection

    connection.ensure_connection()
    started = time.perf_counter()
    lines = _count(_encode(connection))
    result.send(ExportFigures(time.perf_counter() - started, lines, 0))


def _encode(connection: Any) -> Iterator[bytes]:
    raw, encoder = connection.connection, msgspec.json.Encoder()
    is_postgresql = connection.vendor == "postgresql"
    if is_postgresql:
        raw.execute("BEGIN")  # as a server's cursor needs
    with closing(raw.cursor(name="floor") if is_postgresql else raw.cursor()) as cursor:
        cursor.execute(_STATEMENT)
        while rows := cursor.fetchmany(_SLICE):
            yield encoder.encode_lines([build_row(row) for row in rows])


def build_row(row: Any) -> dict[str, Any]:
    """A row of COLUMNS as the API shows it."""
    return {
        "id": row[0],
        "provider": {"id": row[1], "name": row[2]},
        "name": row[3],
        "record_type": row[4],
        "set_identifier": row[5],
        "targets": msgspec.Raw(row[6].encode()),
        "ttl": row[7],
        "provider_specific": msgspec.Raw(row[8].encode()),
        "state": row[9],
        "owner": row[10],
        "owner_looks_like": None,
        "resource": row[11],
        "first_seen_at": row[12].replace(" ", "T") + "Z",
        "changed_at": row[13].replace(" ", "T") + "Z",
        "missing_since": row[14] and row[14].replace(" ", "T") + "Z",
    }


def _count(pieces: Iterator[bytes]) -> int:
    return sum(piece.count(b"\n") for piece in pieces)
