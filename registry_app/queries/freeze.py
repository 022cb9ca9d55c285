"""Which freezes apply, and why nothing may be sent to a provider. Everything that sends asks here first."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db.models import Q

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import Freeze, Grant, Provider
from registry_app.outside_copy import find_copy_ahead
from registry_app.queries.access import may_act, may_act_everywhere, may_administer
from registry_app.queries.weekly_window import Position, WeeklyWindow, find_position

_MOST_NAMED = 3
_ALWAYS = Position(is_inside=True, until=None)
_TODO = "Wait until it ends, or ask an operator to lift it."


class FreezeState(StrEnum):
    """The state of a freeze at one moment. Not a column: time alone changes it."""

    PLANNED = "planned"
    ACTIVE = "active"
    BETWEEN = "between"  # two of its weekly windows
    OVER = "over"


def compute_freeze_state(freeze: Freeze, at: datetime) -> FreezeState:
    """The state of a freeze at `at`. One that was lifted before it started never is active."""
    if freeze.ends_at is not None and freeze.ends_at <= max(at, freeze.starts_at):
        return FreezeState.OVER
    if at < freeze.starts_at:
        return FreezeState.PLANNED
    return FreezeState.ACTIVE if _find_position(freeze, at).is_inside else FreezeState.BETWEEN


def compute_next_change(freeze: Freeze, at: datetime) -> datetime | None:
    """When it begins or ceases to be in force next; None: never by itself."""
    state = compute_freeze_state(freeze, at)
    if state is FreezeState.OVER:
        return None
    if state is FreezeState.PLANNED:
        position = _find_position(freeze, freeze.starts_at)
        found = freeze.starts_at if position.is_inside else position.until
    else:
        found = _find_position(freeze, at).until
    if freeze.ends_at is None or (found is not None and found < freeze.ends_at):
        return found
    return freeze.ends_at if state is FreezeState.ACTIVE else None


def _find_position(freeze: Freeze, at: datetime) -> Position:
    """Whether its window lets it be in force, and until when. It does where the time zone is not known."""
    if not freeze.window_use or freeze.window_start is None or freeze.window_minutes is None:
        return _ALWAYS
    try:
        zone = ZoneInfo(freeze.window_time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _ALWAYS
    window = WeeklyWindow(freeze.window_weekdays, freeze.window_start, freeze.window_minutes, zone)
    found = find_position(window, at)
    return Position(found.is_inside == (freeze.window_use == Freeze.WindowUse.INSIDE), found.until)


def fetch_active_freezes(provider: Provider, at: datetime | None = None) -> list[Freeze]:
    """The freezes and pins in force at `provider` at this moment: its own, those of all providers, and those
    of some of its owners or names."""
    now = at or fetch_now()
    rows = Freeze.objects.filter(Q(provider=provider) | Q(provider__isnull=True))
    rows = rows.filter(starts_at__lte=now).filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now))
    found = rows.select_related("provider", "owner")
    return [each for each in found if compute_freeze_state(each, now) is FreezeState.ACTIVE]


def describe_freeze(freeze: Freeze, at: datetime) -> str:
    """A freeze in one clause, such as `provider-a is frozen until 2026-11-21 08:00 UTC (change stop)`."""
    subject, ends_at = freeze.subject, compute_next_change(freeze, at)
    if not freeze.has_names and (freeze.owner or not freeze.provider):
        subject = subject[0].upper() + subject[1:]  # not the name of a provider
    is_plural = len(freeze.names) + len(freeze.name_suffixes) > 1 or not (
        freeze.is_narrowed or freeze.provider
    )
    what = "pinned" if freeze.kind == Freeze.Kind.PIN else "frozen"
    until = f" until {ends_at:%Y-%m-%d %H:%M} UTC" if ends_at else ""
    return f"{subject} {'are' if is_plural else 'is'} {what}{until} ({freeze.reason})"


def may_freeze(actor: Actor, freeze: Freeze) -> bool:
    """Whether the actor may store, lift and delete this freeze: operates all that it is of, or administers,
    for all providers."""
    if freeze.provider is None:
        return may_administer(actor)
    operate, suffixes = Grant.Action.OPERATE, [each.removeprefix(".") for each in freeze.name_suffixes]
    if freeze.has_names:
        names = [*freeze.names, *suffixes]
        return may_act(actor, operate, provider=freeze.provider, owner=freeze.owner, names=names)
    return may_act_everywhere(actor, operate, provider=freeze.provider, owner=freeze.owner)


@dataclass(frozen=True)
class Stops:
    """The freezes and pins in force for one owner at a provider."""

    freezes: Sequence[Freeze] = ()
    at: datetime | None = None

    def find(self, name: str) -> str:
        """Why this name stays as it is, in one sentence; empty: it is not covered."""
        return next((reason for covers, reason in self._compiled if covers(name)), "")

    def find_all(self, name: str) -> list[str]:
        """Every freeze and pin that covers this name, in one sentence each."""
        return [reason for covers, reason in self._compiled if covers(name)]

    @cached_property
    def _compiled(self) -> list[tuple[Callable[[str], bool], str]]:
        now = self.at or fetch_now()
        return [(_build_name_test(each), f"{describe_freeze(each, now)}.") for each in self.freezes]


def fetch_stops(provider: Provider, owner_id: str, at: datetime | None = None) -> Stops:
    """What an instance of this owner may not change: freezes and pins."""
    now = at or fetch_now()
    found = [each for each in fetch_active_freezes(provider, now) if _is_of(each, owner_id)]
    return Stops(tuple(found), now)


def fetch_name_stops(provider: Provider, owner_id: str) -> Stops:
    """What a loop of this owner leaves alone: freezes of some names. Those of all are `find_owner_stops`."""
    found = fetch_stops(provider, owner_id)
    freezes = (each for each in found.freezes if each.has_names and each.kind == Freeze.Kind.FREEZE)
    return Stops(tuple(freezes), found.at)


def _is_of(freeze: Freeze, owner_id: str) -> bool:
    return freeze.owner is None or freeze.owner.owner_id == owner_id


def _build_name_test(freeze: Freeze) -> Callable[[str], bool]:
    """Whether a freeze covers a canonical name, as far as names go. Suffixes are as in a domain filter."""
    if not freeze.has_names:
        return lambda _: True
    # A domain filter brings each name into canonical form, and tries one suffix after the other: a guard asks
    # for every name of an instance.
    names, suffixes = frozenset(freeze.names), frozenset(freeze.name_suffixes)

    def covers(name: str) -> bool:
        if name in names or name in suffixes:
            return True
        dot = name.find(".")
        while suffixes and dot >= 0:
            if name[dot:] in suffixes or name[dot + 1 :] in suffixes:
                return True
            dot = name.find(".", dot + 1)
        return False

    return covers


@dataclass(frozen=True)
class SendStop:
    """One reason why nothing may be sent to a provider. `happened` is one sentence."""

    happened: str
    todo: str
    code: str


# A name, and the owners before and after a change of it.
Side = tuple[str, Collection[str]]


def find_send_stops(provider: Provider) -> list[SendStop]:
    """Why nothing may be sent to `provider` at this moment: freezes, and a database that was restored."""
    freezes = _find_freezes(provider, lambda each: None if each.is_narrowed else "")
    return [*freezes, *find_restore_stops(provider)]


def find_owner_stops(provider: Provider, owner_id: str = "", *, in_part: bool = False) -> list[SendStop]:
    """Why nothing of this owner may be sent; without an owner, nothing that is nobody's. `in_part`: also
    where only some names are frozen, for what cannot leave these out."""

    def describe(freeze: Freeze) -> str | None:
        return "" if _is_of(freeze, owner_id) and (in_part or not freeze.has_names) else None

    return [*_find_freezes(provider, describe), *find_restore_stops(provider)]


def find_item_stops(provider: Provider, list_sides: Callable[[], Iterable[Side]]) -> list[SendStop]:
    """Why not all of these may be changed; what is frozen is named. They are listed only if that decides."""

    def describe(freeze: Freeze) -> str | None:
        if not freeze.is_narrowed:
            return ""
        covers, owner = _build_name_test(freeze), freeze.owner
        sides = (name for name, owner_ids in list_sides() if owner is None or owner.owner_id in owner_ids)
        names = sorted({name for name in sides if covers(name)})
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f", which covers {', '.join(names[:_MOST_NAMED])}{more}" if names else None

    return [*_find_freezes(provider, describe), *find_restore_stops(provider)]


def _find_freezes(provider: Provider, describe: Callable[[Freeze], str | None]) -> list[SendStop]:
    """A stop for each freeze that `describe` has something to add to; None: it does not apply."""
    now = fetch_now()
    freezes = [each for each in fetch_active_freezes(provider, now) if each.kind == Freeze.Kind.FREEZE]
    described = ((each, describe(each)) for each in freezes)
    return [
        SendStop(f"{describe_freeze(each, now)}{told}.", _TODO, "frozen")
        for each, told in described
        if told is not None
    ]


def find_restore_stops(provider: Provider) -> list[SendStop]:
    """As `find_send_stops`, without freezes."""
    if Provider.objects.filter(pk=provider.pk, restored_at__isnull=False).exists():
        happened = f"The database was restored, and no snapshot of {provider.name} was accepted since."
        todo = (
            "Check its record sets. Then accept its snapshot on its page, or with `dnsadmin_restore accept`."
        )
        return [SendStop(happened, todo, "restored")]
    if find_copy_ahead() is not None:
        happened = "The database was restored from an earlier state, and dnsadmin has not recorded this yet."
        return [SendStop(happened, "Wait a moment: a worker records it.", "database_restored")]
    return []
