"""Every list goes through the one function that says which rows somebody may read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_app.actor import Actor
from registry_app.models import ApiToken, RecordSet
from registry_app.queries.readable import readable
from tests.factories import make_administrator, make_provider, make_record_set, make_user
from tests.registry_app.api.client import make_token

_APP = Path(__file__).parents[3] / "registry_app"
_SHOWS = {"answer_page", "answer_export", "paginate_queryset", "iterate_slices", "iterate_record_set_rows"}
# They get rows that went through it, or give rows to it.
_HANDS_ON = {"answer_page", "answer_export", "read_exported", "paginate_queryset", "iterate_slices"}


def _list_functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for package in ("api", "admin", "management"):
        for path in sorted((_APP / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    yield f"{package}/{path.name}", node


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _is_readable(value: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether rows come from `readable`, or from the rows of a view, which do."""
    text = ast.unparse(value)
    if "readable(" in text or "get_queryset()" in text:
        return True
    assigned = [
        each.value
        for each in ast.walk(function)
        if isinstance(each, ast.Assign) and text in [ast.unparse(target) for target in each.targets]
    ]
    return bool(assigned) and all("readable(" in ast.unparse(each) for each in assigned)


def test_only_two_classes_say_where_the_rows_of_a_list_come_from() -> None:
    found = {place: each for place, each in _list_functions() if each.name == "get_queryset"}

    # What the list does with the rows of its page.
    assert "super().get_queryset(" in ast.unparse(found.pop("admin/filtered_list.py"))
    assert found.keys() == {"api/view_set.py", "admin/list_page.py"}
    assert all("readable(" in ast.unparse(each) for each in found.values())


def test_no_list_shows_rows_of_its_own() -> None:
    unasked = [
        f"{place} {function.name}: {ast.unparse(call)}"
        for place, function in _list_functions()
        if function.name not in _HANDS_ON
        for call in ast.walk(function)
        if _called(call) in _SHOWS and isinstance(call, ast.Call) and call.args
        if not _is_readable(call.args[0], function)
    ]

    assert not unasked


def test_no_filter_adds_rows_of_its_own() -> None:
    for place, function in _list_functions():
        if function.name != "filter_queryset":
            continue
        inside = {
            id(each) for call in ast.walk(function) if _called(call) == "readable" for each in ast.walk(call)
        }
        added = [
            ast.unparse(each)
            for each in ast.walk(function)
            if isinstance(each, ast.Attribute) and each.attr == "objects" and id(each) not in inside
        ]

        assert not added, place


@pytest.mark.django_db
def test_whoever_may_not_read_reads_no_row() -> None:
    alice = make_user("alice")
    make_record_set(make_provider())
    stranger = Actor("user", "")
    planner = Actor("token", "deploy", alice.pk, scopes=frozenset({"plan"}))
    reader = Actor("token", "deploy", alice.pk, scopes=frozenset({"read"}))

    seen = [readable(each, RecordSet.objects.all()).count() for each in (stranger, planner, reader)]

    assert seen == [0, 0, 1]


@pytest.mark.django_db
def test_a_token_is_read_by_whose_it_is_and_by_administrators() -> None:
    alice, bob, root = make_user("alice"), make_user("bob"), make_administrator()
    token, _ = make_token(alice)
    actors = [
        Actor("user", each.username, each.pk, is_superuser=each.is_superuser) for each in (alice, bob, root)
    ]

    seen = [readable(each, ApiToken.objects.all()).filter(pk=token.pk).exists() for each in actors]

    assert seen == [True, False, True]
