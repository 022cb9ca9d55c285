"""What the documents name is there."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_database
_ROOT = Path(__file__).parents[2]
_DOCUMENTS = [
    *sorted(_ROOT.glob("*.md")),
    *sorted((_ROOT / "docs").rglob("*.md")),
    _ROOT / "deploy/README.md",
]
_PACKAGES = ("", "registry_app/", "providers/")


def test_every_file_that_the_architecture_names_is_there() -> None:
    text = (_ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", text))

    missing = [each for each in named if not any((_ROOT / package / each).exists() for package in _PACKAGES)]

    assert len(named) > 20
    assert missing == []


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_another_file_leads_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    files = [target for target in targets if target and "://" not in target]

    missing = [target for target in files if not (document.parent / target).exists()]

    assert missing == []
