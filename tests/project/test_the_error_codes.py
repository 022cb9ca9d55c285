"""docs/troubleshooting.md has every error code and kind of finding that the product has, and no other."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from registry_app.models import Finding

pytestmark = pytest.mark.one_database

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
_MAY_HAVE_ONE = re.compile(r"\b(code|\w+_code|_refuse|Refusal|UnusableClaim|Reason|SendStop)\b")
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")
_KEYWORDS = {"code", "error_code", "problem_code"}
# Which argument is the code, where it has no keyword.
_POSITIONS = {
    "_refuse": 0,
    "Refusal": 0,
    "UnusableClaim": 0,
    "Reason": 0,
    "SendStop": 2,
    "_build_response": 1,
}


@cache
def _parse() -> tuple[ast.Module, ...]:
    """The files that may have one: parsing all of them takes seconds."""
    files = [path for root in ("registry_app", "providers") for path in (_ROOT / root).rglob("*.py")]
    texts = [path.read_text("utf-8") for path in files if "migrations" not in path.parts]
    return tuple(ast.parse(text) for text in texts if _MAY_HAVE_ONE.search(text))


@cache
def _list_constants() -> dict[str, str]:
    """Module constants: `LEFT_BEHIND = "left_behind"`."""
    found: dict[str, str] = {}
    for module in _parse():
        for node in module.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                found |= {ast.unparse(name): str(node.value.value) for name in node.targets}
    return found


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _read(node: ast.expr | None) -> Iterator[str]:
    """The codes an expression may be; nothing for one that is passed on, such as `stop.code`."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.Name):
        yield _list_constants().get(node.id, "")
    elif isinstance(node, ast.IfExp):
        yield from (*_read(node.body), *_read(node.orelse))


def _name_of(node: ast.expr | None) -> str:
    """The last part of a dotted name: of what is called, or of what is assigned to."""
    return getattr(node, "id", "") or getattr(node, "attr", "")


def _find_in_call(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg in _KEYWORDS:
            yield from _read(keyword.value)
    position = _POSITIONS.get(_name_of(call.func))
    if position is not None and len(call.args) > position:
        yield from _read(call.args[position])


def _find_in_class(node: ast.ClassDef) -> Iterator[str]:
    """`class Unreachable(ProviderError, code="unreachable")`"""
    for keyword in node.keywords:
        if keyword.arg == "code":
            yield from _read(keyword.value)


def _find_in_assignment(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    """`code = "not_found"`, in a class or a function."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if any(_name_of(each) == "code" for each in targets):
        yield from _read(node.value)


def _find_in_function(node: ast.FunctionDef) -> Iterator[str]:
    """Functions with pairs of a code and what is about it, such as `_find_problem`."""
    returns = ast.unparse(node.returns) if node.returns else ""
    is_pair = returns == "tuple[str, str]" and re.search("problem|failure", node.name)
    if is_pair or returns == "list[Reason]":
        for each in ast.walk(node):
            if isinstance(each, ast.Tuple) and len(each.elts) == 2 and _is_text(each.elts[0]):
                yield from _read(each.elts[0])


def _find_in_tuple(node: ast.Tuple) -> Iterator[str]:
    """`(exceptions.NotAuthenticated, "not_authenticated", ...)`"""
    first = node.elts[0] if node.elts else None
    if isinstance(first, ast.Attribute) and _name_of(first.value) == "exceptions":
        yield from _read(node.elts[1])


def _find_in(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call():
            return _find_in_call(node)
        case ast.ClassDef():
            return _find_in_class(node)
        case ast.Assign() | ast.AnnAssign():
            return _find_in_assignment(node)
        case ast.FunctionDef():
            return _find_in_function(node)
        case ast.Tuple():
            return _find_in_tuple(node)
    return iter(())


def _find_codes() -> set[str]:
    found = {code for module in _parse() for node in ast.walk(module) for code in _find_in(node)}
    return {code for code in found if _CODE.fullmatch(code)}


def _list_documented() -> tuple[set[str], set[str]]:
    """What stands first in a row: codes, and under "Findings" their kinds."""
    codes, findings = _PAGE.split("\n## Findings\n")
    return tuple(set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)) for part in (codes, findings))  # type: ignore[return-value]


def test_every_error_code_is_explained_and_none_that_does_not_exist() -> None:
    raised, (documented, _) = _find_codes(), _list_documented()

    assert len(raised) > 130
    assert sorted(raised - documented) == []
    assert sorted(documented - raised) == []


def test_every_kind_of_finding_is_explained_and_none_that_does_not_exist() -> None:
    assert sorted(_list_documented()[1]) == sorted(Finding.Kind.values)
