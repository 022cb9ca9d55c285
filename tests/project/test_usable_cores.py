"""How many processors may be used, read from files as the kernel writes them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnsadmin.roles import build_role_command
from dnsadmin.usable_cores import count_usable_cores, find_cpu_limit


@pytest.fixture
def one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def _write(cgroups: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (cgroups / name).parent.mkdir(parents=True, exist_ok=True)
        (cgroups / name).write_text(text)
    return cgroups


@pytest.mark.usefixtures("one_core")
def test_the_web_role_runs_one_process_for_each_processor_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DNSADMIN_WEB_PROCESSES", raising=False)

    command = build_role_command("web")

    assert count_usable_cores() == 1
    assert command[command.index("--workers") + 1] == "1"


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("0::/pod/web\n", {"pod/web/cpu.max": "400000 100000\n", "pod/cpu.max": "250000 100000\n"}, 2.5),
        ("0::/pod/web\n", {"pod/web/cpu.max": "max 100000\n", "pod/cpu.max": "100000 100000\n"}, 1.0),
        (
            "4:cpu,cpuacct:/web\n2:cpuset:/\n0::/\n",
            {"cpu/web/cpu.cfs_quota_us": "150000\n", "cpu/web/cpu.cfs_period_us": "100000\n"},
            1.5,
        ),
    ],
    ids=["part of one", "narrower around it", "only around it", "version 1"],
)
def test_the_lowest_limit_counts(
    tmp_path: Path, membership: str, files: dict[str, str], limit: float
) -> None:
    assert find_cpu_limit(_write(tmp_path, files), membership) == limit


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"cpu.max": "max 100000\n"},
        {"cpu.max": "nonsense"},
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
    ],
)
def test_no_limit_is_no_limit(tmp_path: Path, files: dict[str, str]) -> None:
    assert find_cpu_limit(_write(tmp_path, files), "0::/\n1:cpu:/\n") is None
