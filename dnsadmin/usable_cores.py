"""How many processors this process may use: in a container, often fewer than the machine has."""

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def count_usable_cores() -> int:
    """The processors of the affinity, and no more than the CPU limit of a cgroup, rounded up."""
    cores = len(os.sched_getaffinity(0))
    try:
        limit = find_cpu_limit(_CGROUPS, _MEMBERSHIP.read_text(encoding="utf-8"))
    except OSError:
        return cores
    return cores if limit is None else min(cores, ceil(limit))


def find_cpu_limit(cgroups: Path, membership: str) -> float | None:
    """The lowest CPU limit, in processors, of the cgroups that a process is in and of those around them.

    `membership` is what /proc/PID/cgroup says. See cgroups(7): `cpu.max` of version 2, `cpu.cfs_quota_us` of
    version 1.
    """
    limits = (_read_limit(place) for place in _list_places(cgroups, membership))
    return min((limit for limit in limits if limit is not None), default=None)


def _list_places(cgroups: Path, membership: str) -> Iterator[Path]:
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            root = cgroups / "cpu" if controllers else cgroups
            inner = root / path.lstrip("/")
            yield inner
            yield from (each for each in inner.parents if each.is_relative_to(root))


def _read_limit(place: Path) -> float | None:
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            quota, period = (
                int(word) for name in names for word in (place / name).read_text(encoding="utf-8").split()
            )
        except (OSError, ValueError):
            continue  # not of this version, or no limit
        if quota > 0 and period > 0:
            return quota / period
    return None
