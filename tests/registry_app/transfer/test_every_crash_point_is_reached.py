"""A crash point that no test kills a process at proves nothing: each name in the source is asked for."""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

from registry_app.models import Transfer
from tests.registry_app.audit import test_purge as audits
from tests.registry_app.loop import test_killed_workers as loops
from tests.registry_app.reconcile import test_crash_points as syncs
from tests.registry_app.resync import test_killed_workers as resyncs
from tests.registry_app.transfer import test_killed_at_other_points as other_points
from tests.registry_app.transfer import test_killed_workers as workers

_ROOT = Path(__file__).parents[3]
_FLOOR = 30
_PHASES = ("write", "remove")
# What stands in braces in a name, and all it can be. A transfer is never moved to "requested".
_VALUES = {
    "step.crash_prefix": (*(f"transfer.{phase}_" for phase in _PHASES), "loop."),
    "after": tuple(status for status in Transfer.Status.values if status != Transfer.Status.REQUESTED),
}


def test_a_real_process_is_killed_at_each_of_them() -> None:
    named = set(_names_in_the_source())

    killed_at = (
        workers.POINTS
        | other_points.POINTS
        | loops.POINTS
        | resyncs.POINTS
        | audits.POINTS
        | _points_of_syncs()
    )

    assert named == killed_at
    assert len(named) >= _FLOOR


def _points_of_syncs() -> set[str]:
    tree = ast.parse(Path(syncs.__file__).read_text())
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str) and value.startswith("sync.")}


def _names_in_the_source() -> Iterator[str]:
    for path in sorted((_ROOT / "registry_app").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "crash_point(" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "crash_point":
                yield from _expand(node.args[0])


def _expand(name: ast.expr) -> Iterator[str]:
    if isinstance(name, ast.Constant):
        yield str(name.value)
        return
    if not isinstance(name, ast.JoinedStr):
        raise TypeError(f"a crash point without a readable name: {ast.unparse(name)}")
    parts = [
        _VALUES[ast.unparse(part.value)]
        if isinstance(part, ast.FormattedValue)
        else (ast.literal_eval(part),)
        for part in name.values
    ]
    yield from ("".join(chosen) for chosen in itertools.product(*parts))
