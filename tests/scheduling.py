"""Which tests a parallel run leaves to one process: those that share something that takes seconds to start.

pytest-xdist 3.8 has a marker for it, which pytest 9.2 makes it overlook. The process that hands out the tests
knows no more of them than their names, so it looks into their files.
"""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # no types there

_ROOT = Path(__file__).parents[1]


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # no types there
    """The largest groups first, and a test that is in none by itself."""

    def _split_scope(self, nodeid: str) -> str:
        return _find_group(nodeid.partition("::")[0]) or nodeid


@cache
def _find_group(path: str) -> str:
    text = (_ROOT / path).read_text(encoding="utf-8")
    if "forks: Forks" in text:
        return "tests that fork a worker and kill it"
    if "import Way, walk" in text:
        return "tests of migrations"
    if path.startswith("tests/journeys/") and "tmp_path" not in text:
        return "journeys by browser" if "mark.browser" in text else "journeys by program"
    if 'scope="module"' in text:
        return path
    return ""
