"""A registry is one file and one line in `registry_catalogue`: nothing else asks which kind one is."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from providers.stores.registry import ClaimPlace, RegistryKind, StoreSettings
from providers.stores.registry_catalogue import REGISTRIES
from registry_app.models import RegistryProfile

pytestmark = pytest.mark.one_database
_ROOT = Path(__file__).parents[2]
_MODULES = [
    path
    for package in ("dnsadmin", "registry_app", "providers/planning", "providers/client", "providers/servers")
    for path in sorted((_ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts
]
_FILES_OF_KINDS = tuple(
    f"providers.stores.{name}"
    for name in (
        "aws_sd",
        "configmap",
        "crd",
        "database_registry",
        "dynamodb",
        "noop_registry",
        "txt_registry",
    )
)


def test_no_module_outside_the_table_names_a_kind() -> None:
    named = {path: found for path in _MODULES if (found := _find_kinds(path.read_text(encoding="utf-8")))}

    assert len(_MODULES) > 200
    assert named == {}


def test_a_kind_that_is_named_is_found() -> None:
    compares = 'if profile.kind == "crd":\n    pass\n'
    imports = "from providers.stores.dynamodb.store import DYNAMODB_REGISTRY\n"

    assert _find_kinds(compares) == ["crd"]
    assert _find_kinds(imports) == ["providers.stores.dynamodb.store"]


@pytest.mark.parametrize("kind", REGISTRIES.values(), ids=lambda kind: kind.name)
def test_a_kind_describes_itself_completely(kind: RegistryKind) -> None:
    columns = {field.name for field in RegistryProfile._meta.get_fields()}
    has_store = kind.place in {ClaimPlace.STORE, ClaimPlace.ENDPOINTS}

    assert set(kind.settings) <= columns
    assert set(kind.questions) | set(kind.identity) <= set(kind.settings)
    assert set(kind.description.values()) <= {field.name for field in fields(StoreSettings)}
    assert kind.has_store is has_store
    assert (kind.endpoint_claims is not None) is (kind.place is ClaimPlace.ENDPOINTS)
    assert kind.has_store or not (kind.can_resync or kind.can_export or kind.has_intents)


def test_every_kind_can_be_chosen() -> None:
    field = RegistryProfile._meta.get_field("kind")

    assert field.choices == [(kind.name, kind.label) for kind in REGISTRIES.values()]


def _find_kinds(source: str) -> list[str]:
    """Names of kinds, and imports from the files of kinds."""
    if not any(name in source for name in (*REGISTRIES, *_FILES_OF_KINDS)):
        return []
    nodes = list(_walk(ast.parse(source)))
    named = [node.value for node in nodes if isinstance(node, ast.Constant) and node.value in REGISTRIES]
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return [*map(str, named), *(module for module in modules if module.startswith(_FILES_OF_KINDS))]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but constraints of the database: a migration says the same in the same words."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "models.CheckConstraint":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)
