"""The invariants of safety.md that rows can show, by the same ids."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import models

SAMPLE = 20


@dataclass(frozen=True)
class Violation:
    """The rows that violate an invariant: how many, and the first of them."""

    count: int
    sample: tuple[str, ...]
    explanation: str


@dataclass(frozen=True)
class Invariant:
    """What must always be true, and the reads that find violations."""

    id: str
    title: str
    find: Callable[[], Violation | None]


def violation_of(rows: models.QuerySet[models.Model], explanation: str) -> Violation | None:
    """A violation if there is any row; rows are named by their noun and key."""
    sample = list(rows.order_by("pk")[:SAMPLE])
    if not sample:
        return None
    count = len(sample) if len(sample) < SAMPLE else rows.count()
    return Violation(count, tuple(name_row(row) for row in sample), explanation)


def name_row(row: models.Model) -> str:
    """`transfer 7`: what a person looks it up by."""
    return f"{row._meta.verbose_name} {row.pk}"


def first_of(*found: Violation | None) -> Violation | None:
    """The first violation among several questions about one invariant."""
    return next((violation for violation in found if violation is not None), None)
