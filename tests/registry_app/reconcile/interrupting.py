"""Something that happens in the middle of a visit."""

from collections.abc import Callable
from typing import Any


class AfterReading:
    """Lets something happen right after a table is first read."""

    def __init__(self, table: str, happen: Callable[[], None]) -> None:
        self.table = table
        self.happen: Callable[[], None] | None = happen

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        happen, is_reading = self.happen, sql.startswith("SELECT") and self.table in sql
        if is_reading and happen is not None:
            self.happen = None
            happen()
        return result
