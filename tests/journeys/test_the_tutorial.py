"""The examples of docs/tutorial.md, run by a shell: but for its port and folder, as they stand."""

import os
import re
import subprocess
from pathlib import Path

from dnsadmin.free_port import find_free_port
from tests.journeys.running import RunningDnsadmin

_ROOT = Path(__file__).parents[2]
_PORT = "8890"


def _make_folder(folder: Path) -> None:
    """What looks like the folder of the project, so that nothing is written there."""
    for name in (".venv", "manage.py"):
        (folder / name).symlink_to(_ROOT / name)


def test_the_tutorial_ends_with_both_names_at_the_new_cluster(
    dnsadmin: RunningDnsadmin, tmp_path: Path
) -> None:
    text = (_ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    examples = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    listening = f"until curl -s -o /dev/null 127.0.0.1:{_PORT}; do :; done\nmanage() {{"
    script = examples.replace("manage() {", listening, 1).replace(_PORT, str(find_free_port()))
    _make_folder(tmp_path)

    ended = subprocess.run(
        ["/bin/bash", "-c", f"trap 'kill %1' EXIT\n{script}"],
        env={**os.environ, **dnsadmin.environment, "GUARD": dnsadmin.guard_url, "PYTHONPATH": str(_ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    printed = f"{ended.stdout}\n{ended.stderr}"
    zone = (tmp_path / "tutorial" / "shop.test.zone").read_text()
    dnsadmin.change("providers/shop-dns/", {"is_enabled": False})

    assert "refused  foreign_name" in ended.stdout, printed
    assert "held  hand_over" in ended.stdout, printed
    assert (tmp_path / "tutorial" / "show.txt").read_text().count("  serving  ") == 2, printed
    assert zone.count("192.0.2.2") == zone.count("owner=shop-green") == 2
    assert "192.0.2.1\n" not in zone
