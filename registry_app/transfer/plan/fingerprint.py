"""The hash a review is bound to: any edit of the plan is another fingerprint (I8). Pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Reviewed(Protocol):
    """What is reviewed of an item: a planned one and a stored one alike."""

    @property
    def name(self) -> str: ...
    @property
    def record_type(self) -> str: ...
    @property
    def set_identifier(self) -> str: ...
    @property
    def record_before(self) -> Any: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    @property
    def verdict(self) -> str: ...
    @property
    def batch(self) -> int: ...


@dataclass(frozen=True)
class PlanHead:
    """What is reviewed of a plan as a whole."""

    kind: str
    provider_id: int
    source_owner_id: str
    target_owner_id: str
    target_intent: str
    preconditions: Mapping[str, Any]


def compute_fingerprint(head: PlanHead, items: Iterable[Reviewed]) -> str:
    """SHA-256 over the canonical JSON of the head and every item, in their order."""
    digest = hashlib.sha256()
    digest.update(_canonical_json([head.kind, head.provider_id, head.source_owner_id]))
    digest.update(_canonical_json([head.target_owner_id, head.target_intent, head.preconditions]))
    for item in items:
        values = [
            [item.name, item.record_type, item.set_identifier],
            item.record_before,
            item.before,
            item.after,
            item.verdict,
            item.batch,
        ]
        digest.update(_canonical_json(values))
    return digest.hexdigest()


def _canonical_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
