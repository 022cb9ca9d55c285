"""What the documents name is there."""

import argparse
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

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


def _list_anchors(document: Path) -> set[str]:
    """Of its headings, as the pages of GitHub have them."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = (heading.lower() for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_part_of_a_page_leads_to_a_heading(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = [target.partition("#") for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    pages = [(document.parent / page if page else document, anchor) for page, _, anchor in links if anchor]

    missing = [f"{page.name}#{anchor}" for page, anchor in pages if anchor not in _list_anchors(page)]

    assert missing == []


@cache
def _list_options(command: str) -> set[str]:
    """The options of a command and of all its acts."""
    parser: argparse.ArgumentParser = load_command_class(get_commands()[command], command).create_parser(
        "", ""
    )
    found: set[str] = set()
    parsers = [parser]
    while parsers:
        for action in parsers.pop()._actions:
            found |= set(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
    return found


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_every_command_of_an_example_is_there_with_its_options(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(?:sh|console)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    # transfer() { .venv/bin/python manage.py dnsadmin_transfer "$@"; }
    short = dict(re.findall(r"^(\w+)\(\) \{ .*(dnsadmin_\w+) \"\$@\"", "\n".join(lines), re.MULTILINE))

    used: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        typed: list[str] = re.split(r"[\s;|]+", re.sub(r"\s#\s.*", "", line))
        words = [short.get(word, word) for word in typed]
        for command in words:
            if re.fullmatch(r"dnsadmin_[a-z_]+", command):
                used[command] |= {word for word in words if re.fullmatch("--[a-z][a-z-]*", word)}

    assert used.keys() - get_commands().keys() == set()
    unknown = {
        f"{name} {option}" for name, options in used.items() for option in options - _list_options(name)
    }
    assert unknown == set()
