"""docs/seeds.md names tests; a name that leads nowhere would be a promise without proof."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_database

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "seeds.md").read_text()
ROWS = [
    line
    for line in TABLE.splitlines()
    if line.startswith("|") and not line.startswith(("| it says", "| ---"))
]
QUOTED = sorted(set(re.findall(r"`([^`]+)`", TABLE)))
FILES = [text for text in QUOTED if text.startswith("tests/")]
TESTS = [text for text in QUOTED if text.startswith("test_")]
# What a row says whose sentence nothing shows.
WITHOUT_TEST = "No test:"


@cache
def files_by_test() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE):
            found[name].append(str(path.relative_to(ROOT)))
    return found


def test_every_test_it_names_exists_once() -> None:
    found = {name: files_by_test()[name] for name in TESTS}

    assert {name: files for name, files in found.items() if len(files) != 1} == {}


def test_every_file_it_names_exists_and_every_test_in_it() -> None:
    assert [place for place in FILES if not _exists(place)] == []


def _exists(place: str) -> bool:
    path, _, name = place.partition("::")
    return (ROOT / path).exists() and (not name or path in files_by_test()[name])


def test_every_row_names_a_test_or_says_that_there_is_none() -> None:
    assert [row for row in ROWS if not _is_shown(row)] == []


def _is_shown(row: str) -> bool:
    shown = row.rpartition(" | ")[2]
    return any(f"`{each}`" in shown for each in (*TESTS, *FILES)) or shown.startswith(WITHOUT_TEST)


def test_it_has_rows_of_all_three_texts() -> None:
    headings = [line for line in TABLE.splitlines() if line.startswith("## ")]

    assert headings == ["## Plugin provider", "## Webhook provider", "## Registry"]
    assert len(ROWS) > 40
