"""Rows that hold a text somewhere, in any place: record sets by an index of their trigrams, the others, of
which there are fewer, by reading them."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from registry_app.models import Finding, Owner, RecordSet, Transfer
from registry_app.models.holds import build_pattern
from registry_app.queries.named_row import read_name
from registry_app.queries.transfer import build_number_query

SHORTEST, LONGEST = 3, 255
# SQLite: the trigrams, and the rows of which they are not right yet.
TRIGRAMS = "registry_app_recordset_trigrams"
WAITING = "registry_app_recordset_waiting"
TRIGGERS = tuple(f"{WAITING}_{event}" for event in ("insert", "update", "delete"))
# PostgreSQL.
INDEX = "record_set_trigrams"
# What its index is over. Targets are JSON, in which quotes and backslashes are escaped.
INDEXED = "(name || E'\\n' || targets::text || E'\\n' || resource)"
# With more, the order of the list is walked until a page is full: it soon is.
_MOST_CANDIDATES = 10_000
# Of so many record sets is learned which trigrams are rare.
_SAMPLE = 100
_MOST_TRIGRAMS = 4
_PART = 8


def explain_unsearchable(text: str) -> str:
    """Why a text cannot be searched for; empty where it can."""
    if len(text) < SHORTEST:
        return f"Give at least {SHORTEST} characters."
    return f"Give at most {LONGEST} characters." if len(text) > LONGEST else ""


def search_record_sets(rows: QuerySet[RecordSet], text: str) -> QuerySet[RecordSet]:
    """Those of `rows` with the text in name, targets, resource or owner id."""
    owners = list(Owner.objects.filter(owner_id__holds=text).values_list("pk", flat=True))
    texts = _list_spellings(text)
    matching = Q(owner__id__among=owners)
    for each in texts:
        matching |= Q(name__holds=each)
    matching |= Q(resource__holds=text) | Q(targets__holds=text)  # the dearest last
    found = _find_candidates(texts, owners)
    return rows.filter(matching) if found is None else rows.filter(matching, pk__among=found)


def search_owners(rows: QuerySet[Owner], text: str) -> QuerySet[Owner]:
    """Those with the text in owner id or description."""
    return rows.filter(Q(owner_id__holds=text) | Q(description__holds=text))


def search_transfers(rows: QuerySet[Transfer], text: str) -> QuerySet[Transfer]:
    """Those with this number or id, with the text in reason, ticket, owner ids or who requested it, or with
    exactly this name among their record sets."""
    columns = (
        "reason",
        "ticket",
        "requested_by_name",
        "source_owner__owner_id",
        "target_owner__owner_id",
    )
    matching = build_number_query(text) | Q(pk__in=_find_transfers_of(read_name(text)))
    for column in columns:
        matching |= Q(**{f"{column}__holds": text})
    return rows.filter(matching)


def search_findings(rows: QuerySet[Finding], text: str) -> QuerySet[Finding]:
    """Those with the text in name, owner id or explanation."""
    matching = Q(owner__owner_id__holds=text) | Q(explanation__holds=text)
    for each in _list_spellings(text):
        matching |= Q(name__holds=each)
    return rows.filter(matching)


def has_index() -> bool:
    """Whether record sets have an index of trigrams. Without one they are all read, which is slower."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [INDEX])
        else:
            cursor.execute("SELECT 1 FROM sqlite_master WHERE name = %s", [TRIGRAMS])
        row = cursor.fetchone()
    return bool(row and row[0])


def list_trigrams(text: str) -> list[str]:
    """Each three characters of a text that follow each other, once."""
    return sorted({text[start : start + 3] for start in range(len(text) - 2)})


def build_match(trigrams: Iterable[str]) -> str:
    """What SQLite is asked for, to find the rows with all of these."""
    return " AND ".join('"{}"'.format(each.replace('"', '""')) for each in trigrams)


def _list_spellings(text: str) -> list[str]:
    """The text, and its form in DNS where it may be (a part of) an international name."""
    return [text] if text.isascii() else list(dict.fromkeys([text, read_name(text)]))


def _find_transfers_of(name: str) -> Any:
    return Transfer.objects.filter(items__name=name).values("pk")


def _find_candidates(texts: Sequence[str], owners: Collection[int]) -> list[int] | None:
    """The ids of all record sets that may be found, and of few others; None where there are too many, or no
    index."""
    if not has_index():
        return None
    of_owners = RecordSet.objects.filter(owner__id__among=owners).order_by().values_list("pk", flat=True)
    found = list(of_owners[: _MOST_CANDIDATES + 1]) if owners else []
    find = _find_on_postgresql if connection.vendor == "postgresql" else _find_on_sqlite
    found += find(texts)
    return found if len(found) <= _MOST_CANDIDATES else None


def _find_on_postgresql(texts: Sequence[str]) -> list[int]:
    sample = _fetch_sample()
    parts = [_choose_rare_part(each, sample) for each in texts]
    wanted = dict.fromkeys([*parts, *(json.dumps(each, ensure_ascii=False)[1:-1] for each in parts)])
    conditions = " OR ".join(f"{INDEXED} ILIKE %s ESCAPE '\\'" for _ in wanted)
    return _fetch_ids(
        f"SELECT id FROM registry_app_recordset WHERE {conditions} LIMIT {_MOST_CANDIDATES + 1}",  # noqa: S608 - constants
        [build_pattern(each) for each in wanted],
    )


def _find_on_sqlite(texts: Sequence[str]) -> list[int]:
    sample = _fetch_sample()
    wanted = " OR ".join(f"({build_match(_choose_rare(each, sample))})" for each in texts)
    return _fetch_ids(
        f"SELECT rowid FROM {TRIGRAMS} WHERE {TRIGRAMS} MATCH %s UNION SELECT id FROM {WAITING} "  # noqa: S608 - constants
        f"LIMIT {_MOST_CANDIDATES + 1}",
        [wanted],
    )


def _choose_rare(text: str, sample: Sequence[str]) -> list[str]:
    """The rarest trigrams of a text. What all names have in common has long lists, and narrows nothing."""
    trigrams = list_trigrams(text.lower()) or [text.lower()]
    return sorted(trigrams, key=lambda each: sum(each in row for row in sample))[:_MOST_TRIGRAMS]


def _choose_rare_part(text: str, sample: Sequence[str]) -> str:
    """The rarest piece of a text, which is long enough: PostgreSQL reads the lists of all trigrams in it."""
    parts = [text[start : start + _PART] for start in range(max(1, len(text) - _PART + 1))]
    counts = {each: sum(each in row for row in sample) for each in list_trigrams(text.lower())}
    return min(parts, key=lambda part: sum(counts.get(each, 0) for each in list_trigrams(part.lower())))


def _fetch_sample() -> list[str]:
    """The texts of a few record sets, from the oldest to the newest."""
    newest = RecordSet.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    spread = {newest * number // _SAMPLE for number in range(1, _SAMPLE + 1)}
    rows = RecordSet.objects.filter(pk__among=spread).order_by()
    return ["\n".join(map(str, row)).lower() for row in rows.values_list("name", "targets", "resource")]


def _fetch_ids(statement: str, parameters: Sequence[str]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]
