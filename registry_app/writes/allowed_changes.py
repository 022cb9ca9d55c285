"""The last check before a step is stored (I11): it does what its user allows, and nothing else. Pure."""

from collections.abc import Mapping, Set
from typing import NamedTuple, Protocol, TypeVar

from providers.wire.endpoint import Endpoint
from registry_app.writes.read_back import Change


class Place(Protocol):
    """A place: one endpoint of the provider, or one row of a registry store."""

    @property
    def name(self) -> str: ...
    @property
    def record_type(self) -> str: ...


AnyPlace = TypeVar("AnyPlace", bound=Place)


class Allowed(NamedTuple):
    """What a step may do at one place.

    `removable` are the targets that may go; None: all. `most_added` is how many may come; None: any number.
    `stays` is whether something must be there afterwards; None: either. `keeps_rest`: only targets may
    change. `is_text`: nothing but a TXT record may be touched.
    """

    may_create: bool = True
    may_change: bool = True
    removable: Set[str] | None = None
    most_added: int | None = None
    stays: bool | None = None
    keeps_rest: bool = False
    is_text: bool = False


def raise_if_not_allowed(changes: Mapping[AnyPlace, Change], allowed: Mapping[AnyPlace, Allowed]) -> None:
    """Raise ValueError if a change is not allowed: then what built the changes has a bug."""
    for place, change in changes.items():
        problem = _find_problem(change, allowed[place]) if place in allowed else "is not part of the plan"
        if problem:
            raise ValueError(f"The change set touches {place.name} {place.record_type}: it {problem}.")


def _find_problem(change: Change, allowed: Allowed) -> str:
    old, new = change.old, change.new
    removed, added = _targets(old) - _targets(new), _targets(new) - _targets(old)
    sides = [each for each in (old, new) if each is not None]
    problems = {
        "is no TXT record": allowed.is_text and any(each.record_type.upper() != "TXT" for each in sides),
        "is to be created where something stands": old is None and not allowed.may_create,
        "is to be changed and is not the owner's": old is not None and not allowed.may_change,
        "is to be left otherwise than reviewed": allowed.stays not in (None, new is not None),
        "would lose more than allowed": allowed.removable is not None and bool(removed - allowed.removable),
        "would gain more than allowed": allowed.most_added is not None and len(added) > allowed.most_added,
        "would change beyond its targets": allowed.keeps_rest and len(sides) > 1 and _is_rest_other(*sides),
    }
    return next((problem for problem, is_so in problems.items() if is_so), "")


def _targets(endpoint: Endpoint | None) -> set[str]:
    return set(endpoint.targets) if endpoint is not None else set()


def _is_rest_other(old: Endpoint, new: Endpoint) -> bool:
    return (
        old.dns_name != new.dns_name
        or old.set_identifier != new.set_identifier
        or old.record_ttl != new.record_ttl
        or old.labels != new.labels
        or old.provider_specific != new.provider_specific
    )
