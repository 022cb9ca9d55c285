"""Figures, their floors and their bars, as lines for people and as a file for programs."""

import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")
_WIDTHS = (24, 12, 12, 8, 8)


@dataclass(frozen=True)
class Figure:
    """One measured figure. `floor` is the least it could be, measured in the same round; `bar` bounds the
    ratio of the two: from above, or from below with `at_least`. Without a bar there is no verdict."""

    name: str
    value: float
    floor: float
    bar: float | None = None
    unit: str = "s"
    at_least: bool = False

    @property
    def ratio(self) -> float:
        return self.value / self.floor if self.floor else float("inf")

    @property
    def verdict(self) -> str:
        """Whether the bar is reached: ok, short, or nothing where there is none."""
        if self.bar is None:
            return ""
        is_reached = self.ratio >= self.bar if self.at_least else self.ratio <= self.bar
        return "ok" if is_reached else "short"


class Report:
    """Collects the figures of all rounds; prints one line for each name: the round with the median ratio."""

    def __init__(self) -> None:
        self._rounds: dict[str, list[Figure]] = {}

    def add(self, figure: Figure) -> None:
        self._rounds.setdefault(figure.name, []).append(figure)
        sys.stderr.write(f"  {figure.name}: {figure.value:.3g} {figure.unit}, ratio {figure.ratio:.2f}\n")

    def finish(self, names: Sequence[str] = ()) -> None:
        """Print the lines of these names, or of all."""
        for name in names or self._rounds:
            if name in self._rounds:
                sys.stdout.write(format_line(self._median(name)) + "\n")
        sys.stdout.flush()

    def write(self, *, size: int, database: str) -> None:
        """Write RESULTS: every figure of the run, with what it was measured on."""
        document = {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "size": size,
            "database": database,
            "python": platform.python_version(),
            "cpus": len(os.sched_getaffinity(0)),
            "figures": [self._to_json(name) for name in self._rounds],
        }
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def _median(self, name: str) -> Figure:
        rounds = self._rounds[name]
        middle = statistics.median_low(each.ratio for each in rounds)
        return next(each for each in rounds if each.ratio == middle)

    def _to_json(self, name: str) -> dict[str, object]:
        figure = self._median(name)
        return {
            "name": name,
            "value": round(figure.value, 4),
            "unit": figure.unit,
            "floor": round(figure.floor, 4),
            "ratio": round(figure.ratio, 3),
            "ratios": [round(each.ratio, 3) for each in self._rounds[name]],
            "bar": figure.bar,
            "verdict": figure.verdict,
        }


def format_header() -> str:
    """The names of the columns."""
    return _join("name", "figure", "floor", "ratio", "bar", "")


def format_line(figure: Figure) -> str:
    """Name, figure, floor, ratio, bar, and whether it is reached."""
    bar = "" if figure.bar is None else f"{'>=' if figure.at_least else '<='} {figure.bar:g}"
    value, floor = (f"{each:.3g} {figure.unit}" for each in (figure.value, figure.floor))
    return _join(figure.name, value, floor, f"{figure.ratio:.2f}", bar, figure.verdict)


def _join(*texts: str) -> str:
    columns = (text.ljust(width) for text, width in zip(texts, _WIDTHS, strict=False))
    return "".join(columns) + texts[-1]
