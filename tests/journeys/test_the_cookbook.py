"""Each example of docs/cookbook.md, run by a shell as it stands, against what `make run` starts."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.wire.endpoint import EndpointKey
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.journeys.running import RunningDnsadmin, log_in, running_dnsadmin

_COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook.md"
_BOB_PASSWORD = "correct horse battery staple"
_HELD = "## Decide on held deletes"


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDnsadmin]:
    """An installation of its own: the examples put a sample cluster behind the guard."""
    state = tmp_path_factory.mktemp("cookbook") / "state"
    with running_dnsadmin(state, {}, is_migrated=True) as system:
        yield system


def _issue_token_of_bob(system: RunningDnsadmin) -> str:
    """The second person, made at the shell as an operator makes one."""
    manage = [sys.executable, "manage.py", "createsuperuser", "--noinput", "--username", "bob", "--email", ""]
    environment = {**system.environment, "DJANGO_SUPERUSER_PASSWORD": _BOB_PASSWORD}
    subprocess.run(manage, env=environment, cwd=_COOKBOOK.parents[1], check=True, capture_output=True)
    session = log_in(system, "bob", _BOB_PASSWORD)
    answer = session.post(
        f"{system.url}api/v1/tokens/",
        json={"name": "bob", "scopes": ["read", "approve"]},
        headers={"X-CSRFToken": session.cookies["csrftoken"], "Referer": system.url},
        timeout=30,
    )
    answer.raise_for_status()
    return str(answer.json()["token"])


def _run(text: str, folder: Path, variables: dict[str, str]) -> str:
    """The examples of a part of the page in one shell, which goes on where the last one ended."""
    examples = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    # What later examples need of earlier ones.
    leave = "declare -p API TOKEN > left.sh && declare -f api >> left.sh"
    script = f"set -euo pipefail\n[ ! -e left.sh ] || . ./left.sh\n{examples}\n{leave}\n"
    ended = subprocess.run(
        ["/bin/bash", "-c", script],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def _ask_for_deletes(system: RunningDnsadmin, password: str) -> Outcome:
    """The instance behind the guard endpoint of the cookbook has a broken source: it wants nothing."""
    url = f"{system.guard_url}/green".replace("http://", f"http://green:{password}@")
    with Instance(Settings(url, "green-cluster")) as running:
        return running.run_once().outcome


def test_every_example_of_the_cookbook_works_as_it_stands(kitchen: RunningDnsadmin, tmp_path: Path) -> None:
    text = _COOKBOOK.read_text(encoding="utf-8")
    variables = {
        "DNSADMIN": kitchen.url.rstrip("/"),
        "PASSWORD": kitchen.password,
        "TOKEN_OF_BOB": _issue_token_of_bob(kitchen),
    }
    edge_before, public_before = kitchen.zone_text("edge-dns"), kitchen.zone("public-dns")
    before, after = text.split(_HELD)

    printed = _run(before, tmp_path, variables)
    outcome = _ask_for_deletes(kitchen, (tmp_path / "guard-password.txt").read_text().strip())
    _run(after, tmp_path, variables)

    transfers = kitchen.call("GET", "transfers/")["items"]
    held = kitchen.fetch_all("held-deletes/", guard_endpoint="green")
    assert '{"slug":"green","mode":"enforce"}' in printed
    assert sorted(row["status"] for row in transfers) == ["rolled_back", "verified"]
    assert kitchen.zone_text("edge-dns") == edge_before
    assert outcome is Outcome.CHANGED
    assert {row["status"] for row in held} == {"released", "kept"}
    assert kitchen.zone("public-dns") == public_before
    assert EndpointKey(held[0]["name"], "A", "") in public_before
