"""docs/settings.md has every environment variable that the source reads, and no other."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_database

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# Not read by name: variables of any name with this beginning are referred to by providers.
_PREFIX = "DNSADMIN_CREDENTIAL_"


def _is_reader(call: ast.Call) -> bool:
    """`env.str(...)`, `os.environ.get(...)`, or one of the functions of dnsadmin.env: `fetch_port(...)`."""
    if isinstance(call.func, ast.Name):
        return call.func.id.startswith("fetch_")
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in {"env", "os.environ"}


def _names_of(call: ast.Call) -> set[str]:
    """The names that a call reads: not what it sets, and not a default."""
    if not _is_reader(call) or not call.args or ast.unparse(call.func).endswith(".setdefault"):
        return set()
    name = call.args[0]
    if not isinstance(name, ast.Constant) or not _NAME.fullmatch(str(name.value)):
        return set()
    names = {str(name.value)}
    is_secret = ast.unparse(call.func) in ("fetch_secret", "fetch_optional_secret")
    return names | {f"{each}_FILE" for each in names} if is_secret else names


def _find_read() -> set[str]:
    """All of them are read in the project package (dnsadmin/env.py); the guard's TLS files in a loop."""
    found: set[str] = set()
    for path in (_ROOT / "dnsadmin").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                found |= _names_of(node)
            elif isinstance(node, ast.Tuple):
                texts = [each.value for each in node.elts if isinstance(each, ast.Constant)]
                found |= {str(text) for text in texts if str(text).startswith("DNSADMIN_GUARD_TLS_")}
    # Keys are fetched as a secret too.
    return found | {"DNSADMIN_ENCRYPTION_KEYS_FILE"}


# Beside a secret in the text of its row.
_IN_TEXT = {"DNSADMIN_METRICS_TOKEN_FILE"}


def _find_documented() -> set[str]:
    """What stands in code at the beginning of a row, or in its second column beside a secret."""
    rows = [line.split("|")[1:3] for line in _PAGE.splitlines() if line.startswith("| `")]
    cells = [cell.strip() for row in rows for cell in row]
    names = {match[1] for cell in cells if (match := re.match(r"`([A-Z][A-Z0-9_]*)`(?: and more)?$", cell))}
    return names - {_PREFIX}


def test_the_settings_page_has_what_the_source_reads_and_nothing_else() -> None:
    read, documented = _find_read(), _find_documented()

    assert len(read) > 40
    assert sorted(read - documented - {each for each in _IN_TEXT if f"`{each}`" in _PAGE}) == []
    assert sorted(documented - read) == []


def test_the_example_file_sets_only_what_is_read() -> None:
    text = (_ROOT / ".env.example").read_text(encoding="utf-8")

    named = set(re.findall(r"^#?\s*([A-Z][A-Z0-9_]*)=", text, re.MULTILINE))

    assert len(named) > 20
    assert sorted(named - _find_read()) == []


def test_every_default_on_the_page_is_that_of_the_source() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (_ROOT / "dnsadmin").glob("*.py"))
    numbers = re.findall(r'env\.int\("(\w+)", default=(\d+)\)', source)

    shown = {
        name: default.strip()
        for name, default in re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \| [^|]+ \|$", _PAGE, re.M)
    }
    different = [
        f"{name}: {number}, and the page says {shown[name]}"
        for name, number in numbers
        if (name, number) != ("DNSADMIN_GUARD_PORT", "0") and not shown[name].startswith(f"`{number}`")
    ]

    assert len(numbers) > 15
    assert different == []
