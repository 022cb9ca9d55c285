"""All invariants, and what the last check of each found: kept in the cache, for `/metrics`."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from registry_app.audit import verify_audit
from registry_app.queries.audit_entry import find_fault_of_checkpoints
from registry_app.queries.audit_invariants import RESTORE_INVARIANTS, TRAIL_INVARIANTS
from registry_app.queries.guard_invariants import GUARD_INVARIANTS
from registry_app.queries.invariant import Invariant, Violation
from registry_app.queries.mirror_invariants import MIRROR_INVARIANTS
from registry_app.queries.registry_invariants import REGISTRY_INVARIANTS
from registry_app.queries.search_invariants import SEARCH_INVARIANTS
from registry_app.queries.write_invariants import LOOP_INVARIANTS, TRANSFER_INVARIANTS

_KEPT_SECONDS = 2 * 86_400
_LOG = structlog.get_logger(__name__)


def find_broken_chain() -> Violation | None:
    """I15. The chain from its first entry to its tail."""
    fault = verify_audit()
    if fault is None:
        return None
    return Violation(1, (f"audit entry {fault.sequence}",), f"The chain is not valid: {fault.problem}.")


def find_cut_off_entries() -> Violation | None:
    """I15. Every checkpoint and copy outside the database is in the chain, or a restore's own entry names
    it."""
    fault = find_fault_of_checkpoints()
    if fault is None:
        return None
    sample = (f"audit entry {fault.sequence}",)
    return Violation(1, sample, f"Entries were cut off or replaced: {fault.problem}.")


# Their cost follows the whole audit trail: a person asks for them, with `dnsadmin_check`.
_LONG_INVARIANTS = (
    Invariant("I15", "the audit chain verifies", find_broken_chain),
    Invariant("I15", "no audit entries were cut off", find_cut_off_entries),
)
_QUICK_INVARIANTS = (
    *MIRROR_INVARIANTS,
    *REGISTRY_INVARIANTS,
    *TRANSFER_INVARIANTS,
    *LOOP_INVARIANTS,
    *GUARD_INVARIANTS,
    *TRAIL_INVARIANTS,
    *RESTORE_INVARIANTS,
    *SEARCH_INVARIANTS,
)
INVARIANTS = (*_QUICK_INVARIANTS, *_LONG_INVARIANTS)


@dataclass(frozen=True)
class LastCheck:
    """How often an invariant was violated at its last check, and how many seconds ago that was."""

    count: int
    age: float


def check_quick_invariants() -> None:
    """Once an hour: look for violations, in the log and in `/metrics`."""
    checked = [(invariant, invariant.find()) for invariant in _QUICK_INVARIANTS]
    note_checked(checked)
    for invariant, violation in checked:
        if violation is not None:
            _LOG.error(
                "invariant.violated",
                invariant=invariant.id,
                title=invariant.title,
                count=violation.count,
                first=violation.sample[0] if violation.sample else "",
            )


def note_checked(checked: Iterable[tuple[Invariant, Violation | None]]) -> None:
    """Keep how often each was violated, outside the database: a check reads it only."""
    now = time.time()
    found = {
        _name_key(invariant): (violation.count if violation is not None else 0, now)
        for invariant, violation in checked
    }
    try:
        cache.set_many(found, timeout=_KEPT_SECONDS)
    except RedisError as error:
        _LOG.warning("invariants.not_stored", error=type(error).__name__)


def fetch_last_checks() -> dict[str, LastCheck]:
    """By the id of an invariant, over all that have it. Raises RedisError."""
    ids = {_name_key(invariant): invariant.id for invariant in INVARIANTS}
    now = time.time()
    found: dict[str, LastCheck] = {}
    for key, (count, at) in cache.get_many(ids).items():
        known = found.get(ids[key], LastCheck(0, 0.0))
        found[ids[key]] = LastCheck(known.count + count, max(known.age, now - at))
    return found


def _name_key(invariant: Invariant) -> str:
    return f"invariant:{invariant.id}:{invariant.title}".replace(" ", "_")
