"""The wheel that `pip install .` builds: the whole product and nothing else. It runs without the checkout."""

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dnsadmin import __version__
from dnsadmin.env import BASE_DIR
from dnsadmin.prepare import prepare_state

pytestmark = [pytest.mark.deep, pytest.mark.one_database]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pip would put among its packages."""
    wheels, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(wheels), str(BASE_DIR)],
        check=True,
    )
    (wheel,) = wheels.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def test_it_has_all_files_of_the_product_and_no_others(installed: Path) -> None:
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=BASE_DIR, check=True, capture_output=True, text=True)
    product = {
        re.sub("^templates/", "dnsadmin/templates/", path)
        for path in listed.stdout.splitlines()
        if path.partition("/")[0] in ("dnsadmin", "providers", "registry_app", "templates")
    }
    packed = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}

    assert {path for path in packed if ".dist-info/" not in path} == product


def test_its_description_has_our_version_licence_and_pins(installed: Path) -> None:
    (folder,) = installed.glob("*.dist-info")
    described = message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    pinned = re.findall(r"^\w[^ \n]*", (BASE_DIR / "requirements.txt").read_text(), re.MULTILINE)

    assert described["Version"] == __version__
    assert described["License-Expression"] == "Apache-2.0"
    assert _read_requirements(described.get_all("Requires-Dist", [])) == _read_requirements(pinned)
    assert "Apache License" in (folder / "licenses" / "LICENSE").read_text(encoding="utf-8")


def _read_requirements(lines: Iterable[str]) -> set[tuple[str, str, frozenset[str]]]:
    read = [Requirement(line) for line in lines]
    return {(canonicalize_name(one.name), str(one.specifier), frozenset(one.extras)) for one in read}


def test_the_changelog_begins_with_its_version() -> None:
    headings = re.findall("^## (\\S+)", (BASE_DIR / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert headings[0] == __version__


def test_it_runs_without_the_checkout_and_keeps_its_state_at_home(installed: Path, tmp_path: Path) -> None:
    prepare_state(tmp_path / ".local" / "state" / "dnsadmin")
    shown = (
        "from dnsadmin.wsgi import application; from django.template.loader import get_template;"
        "from django.core.management import call_command; import registry_app.admin.table;"
        "call_command('migrate', verbosity=0); print(get_template('dnsadmin/list.html').origin)"
    )

    done = subprocess.run(
        [sys.executable, "-c", shown],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(installed / "dnsadmin" / "templates" / "dnsadmin" / "list.html")
    assert (tmp_path / ".local" / "state" / "dnsadmin" / "dnsadmin.sqlite3").is_file()
