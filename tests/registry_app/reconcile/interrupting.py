"""Something that happens in the middle of a sync."""

from collections.abc import Callable
from typing import Any


class AfterReading:
    """Lets something happen right after a table is read, or written, the first time, or so many times."""

    def __init__(
        self, table: str, happen: Callable[[], object], *, times: int = 1, verb: str = "SELECT"
    ) -> None:
        self.table = table
        self.verb = verb
        self.times = times
        self.happen: Callable[[], object] | None = happen

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        happen, is_reading = self.happen, sql.startswith(self.verb) and self.table in sql
        self.times -= is_reading
        if self.times <= 0 and is_reading and happen is not None:
            self.happen = None
            happen()
        return result
