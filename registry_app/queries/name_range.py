"""Names by their beginning or their end, as index scans on both databases.

Both compare names as bytes (SQLite by itself, PostgreSQL by the collation of these columns), so that a
range is a prefix. LIKE would use no index on SQLite, whose LIKE ignores case.
"""

from django.db.models import Q

from providers.wire.canonical_name import InvalidName, canonical_name, reversed_name

_LAST = "\U0010ffff"
_AFTER_THE_DOT = chr(ord(".") + 1)


def build_prefix_query(column: str, text: str) -> Q:
    """Rows whose `column`, one in byte order, begins with `text`."""
    return Q(**{f"{column}__gte": text, f"{column}__lt": text + _LAST})


def build_suffix_query(name: str, *, column: str = "name_reversed") -> Q:
    """Rows at `name` or below it, in any spelling."""
    start = reversed_name(read_name(name))
    exact = Q(**{column: start}) | build_prefix_query(column, start + ".")
    # An OR alone is answered by reading and sorting all of it; within one range that holds it all and
    # little else, the index is walked in the order of the page.
    return Q(**{f"{column}__gte": start, f"{column}__lt": start + _AFTER_THE_DOT}) & exact


def read_name(text: str) -> str:
    """A name as somebody typed it, in the one spelling of the mirror; kept as it is if it is no name."""
    cleaned = text.strip().strip(".").lower()
    try:
        return canonical_name(cleaned)
    except InvalidName:
        return cleaned
