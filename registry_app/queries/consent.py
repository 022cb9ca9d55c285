"""Consents under the policy that both sides agree: which there are, which are missing, who may give one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.models import Grant
from registry_app.queries.actor import find_shared_person, people_of
from registry_app.queries.approval_policy import needs_both_sides
from registry_app.queries.sides import (
    Part,
    Reviewed,
    Side,
    find_denied_on_side,
    may_act_on_side,
    name_side,
    other_side,
)

_APPROVE = Grant.Action.APPROVE
_REQUESTED = "requested"
NO_CONSENT: dict[str, Any] = {
    "consent_side": "",
    "consent_by": None,
    "consent_by_issuer": None,
    "consent_by_name": "",
    "consent_at": None,
}


@dataclass(frozen=True)
class Consent:
    """A consent that was given: for which side, by whom and when."""

    side: Side
    by: str
    at: datetime


class Choice(NamedTuple):
    """A consent that somebody may give: for which side, what its button says, and what is missing then."""

    side: Side
    label: str
    condition: str


class ChosenSide(NamedTuple):
    """The side somebody consents for, and whether the other side consented already."""

    side: Side
    is_last: bool


def list_consents(row: Reviewed) -> list[Consent]:
    """Those that were given, the first one first."""
    if row.consent_at is None:
        return []
    first = Consent(Side(row.consent_side), row.consent_by_name, row.consent_at)
    if row.approved_at is None:
        return [first]
    return [first, Consent(other_side(first.side), row.approved_by_name, row.approved_at)]


def list_missing_sides(row: Reviewed) -> list[Side]:
    """The sides for which nobody consented yet, while it waits for that."""
    if row.status != _REQUESTED or not needs_both_sides(row):
        return []
    return [side for side in Side if side != row.consent_side]


def describe_side(row: Reviewed, side: str) -> str:
    """Such as `blue-cluster (gives)`."""
    return f"{name_side(row, side)} ({Side(side).label})"


def build_consent_lines(row: Reviewed) -> list[tuple[str, Consent | None]]:
    """Each side in words, with its consent, or None where it is missing; empty where one approval is for both
    sides."""
    given = {each.side: each for each in list_consents(row)}
    if not given and not list_missing_sides(row):
        return []
    return [(describe_side(row, side), given.get(side)) for side in Side]


def describe_needed_owners(row: Reviewed) -> str:
    """For how many of its owners somebody needs a grant to request, reject or cancel it."""
    return "one of its owners" if needs_both_sides(row) else "both owners"


def describe_waiting(row: Reviewed) -> str:
    """Whose consent it waits for, in one or two sentences; empty if for nobody's."""
    missing = list_missing_sides(row)
    if not missing:
        return ""
    text = f"Waits for the consent of {' and of '.join(describe_side(row, side) for side in missing)}."
    ended = find_ended_consent(row)
    return f"{text} {ended} Somebody else has to consent for that side." if ended else text


def find_lost_right(
    user_id: int | None, name: str, did: str, find_denied: Callable[[Actor], str | None]
) -> str:
    """Why what a person did counts no more; empty if it does. `find_denied` tells what they may not do any
    more. Account and grants are read as they are now.

    The rights are those of the user: a token's are narrower, and were checked when it was used.
    """
    user = get_user_model().objects.filter(pk=user_id).first() if user_id is not None else None
    if user is None:
        return f"{name}, who {did}, has no account any more."
    if not user.is_active:
        return f"{user.get_username()}, who {did}, may not sign in any more."
    actor = Actor(kind="user", name=name, user_id=user.pk, is_superuser=bool(user.is_superuser))
    denied = find_denied(actor)
    return "" if denied is None else f"{user.get_username()}, who {did}, may not {denied} any more."


class _Person(NamedTuple):
    """Who consented: the user, and who issued the token that was used."""

    user_id: int | None
    issuer_id: int | None
    name: str


def find_ended_consent(row: Reviewed, items: Iterable[Part] | None = None) -> str:
    """Why the first consent counts no more; empty if it does, or if there is none. `items` as in
    `list_side`."""
    if not row.consent_side:
        return ""
    person = _Person(row.consent_by_id, row.consent_by_issuer_id, row.consent_by_name)
    return _find_lost_consent(row, row.consent_side, person, items)


def find_last_ended_consent(row: Reviewed, items: Iterable[Part] | None = None) -> str:
    """Why the second consent, which is the approval, counts no more; empty if it does."""
    person = _Person(row.approved_by_id, row.approved_by_issuer_id, row.approved_by_name)
    return _find_lost_consent(row, other_side(row.consent_side), person, items)


def _find_lost_consent(row: Reviewed, side: str, person: _Person, items: Iterable[Part] | None) -> str:
    def find_denied(actor: Actor) -> str | None:
        denied = find_denied_on_side(actor, _APPROVE, row, side, items)
        return None if denied is None else f"consent for {denied}"

    did = f"consented for {describe_side(row, side)}"
    lost = find_lost_right(person.user_id, person.name, did, find_denied)
    if not lost and not people_of(person.user_id, person.issuer_id):
        return f"{person.name}, who {did}, used a token, and it is not known any more who issued it."
    return lost


def has_two_people(row: Reviewed) -> bool:
    """Whether the two consents are of two people, as far as they are known."""
    first = people_of(row.consent_by_id, row.consent_by_issuer_id)
    return first.isdisjoint(people_of(row.approved_by_id, row.approved_by_issuer_id))


def list_choices(actor: Actor, row: Reviewed) -> list[Choice]:
    """One for each side for which `actor` may consent now."""
    missing = _list_open_sides(row)
    if _find_same_consenter(row, actor, missing):
        return []
    return [
        _build_choice(row, side, is_last=len(missing) == 1)
        for side in missing
        if may_act_on_side(actor, _APPROVE, row, side)
    ]


def _build_choice(row: Reviewed, side: Side, *, is_last: bool) -> Choice:
    condition = f"{describe_side(row, other_side(side))} must consent, too."
    return Choice(
        side,
        f"Consent for {describe_side(row, side)}",
        "This is the second of two consents." if is_last else condition,
    )


def describe_consent(row: Reviewed, chosen: ChosenSide) -> str:
    """A consent in the audit trail; `row` is as it was before."""
    text = f"Consented for {describe_side(row, chosen.side)}."
    if chosen.is_last or not row.consent_side:
        return text
    return f"{text} The consent of {row.consent_by_name} counts no more."


def choose_side(actor: Actor, row: Reviewed, asked: str | None) -> ChosenSide:
    """The side `actor` consents for: the one that was asked for, or the only one for which they may.

    Raises InvalidRequest (no such side, or it must be said), NotAllowed, StateMoved (that side consented).
    """
    if asked and asked not in Side.values:
        raise _ask_for_side(f"There is no side {asked[:50]!r}.")
    missing = _list_open_sides(row)
    if same := _find_same_consenter(row, actor, missing):
        raise NotAllowed(same, todo="Ask another person who may consent.", code="other_person_needed")
    if asked and asked not in missing:
        raise StateMoved(
            f"{row.consent_by_name} consented for {describe_side(row, asked)} already.",
            now=f"Nobody consented for {describe_side(row, other_side(asked))} yet.",
            todo="Open it again.",
        )
    wanted = [Side(asked)] if asked else missing
    allowed = [side for side in wanted if may_act_on_side(actor, _APPROVE, row, side)]
    if not allowed:
        named = " or ".join(describe_side(row, side) for side in wanted)
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not consent for {named}.",
            todo="Ask somebody with a grant to approve transfers of that owner.",
        )
    if len(allowed) > 1:
        raise _ask_for_side("You may consent for both sides, and it was not said for which.")
    return ChosenSide(allowed[0], is_last=len(missing) == 1)


def raise_if_side_without_sides(row: Reviewed, asked: str | None) -> None:
    """Raise InvalidRequest for a side where one approval is for both."""
    if asked:
        raise InvalidRequest(
            f"{row.provider.name} asks for one approval, which is for both sides.",
            fields={"side": ["Leave it empty."]},
        )


def build_consent(actor: Actor, side: Side) -> dict[str, Any]:
    """The columns of a first consent."""
    return {
        "consent_side": side,
        "consent_by_id": actor.user_id,
        "consent_by_issuer_id": actor.answerer_id,
        "consent_by_name": actor.name[:200],
        "consent_at": fetch_now(),
    }


def build_left_consent(row: Reviewed, *, is_first_ended: bool, is_last_ended: bool) -> dict[str, Any]:
    """The columns of the first consent once an approval is withdrawn: what still counts becomes the first."""
    if not is_first_ended:
        return {}
    if is_last_ended:
        return NO_CONSENT
    return {
        "consent_side": other_side(row.consent_side),
        "consent_by_id": row.approved_by_id,
        "consent_by_issuer_id": row.approved_by_issuer_id,
        "consent_by_name": row.approved_by_name,
        "consent_at": row.approved_at,
    }


def _list_open_sides(row: Reviewed) -> list[Side]:
    """The sides without a consent that counts."""
    held = row.consent_side if row.consent_side and not find_ended_consent(row) else ""
    return [side for side in Side if side != held]


def _find_same_consenter(row: Reviewed, actor: Actor, missing: list[Side]) -> str:
    """Why `actor` cannot be one of two people here; empty if they can."""
    if not actor.people:
        return "Both sides must agree, and it is not known who is behind this consent."
    if len(missing) > 1:
        return ""
    if actor.user_id == row.consent_by_id:
        return (
            f"You consented for {describe_side(row, row.consent_side)} already, and another person has to "
            f"consent for {describe_side(row, missing[0])}."
        )
    first = people_of(row.consent_by_id, row.consent_by_issuer_id)
    return find_shared_person(first, actor, "one consent or of the other")


def _ask_for_side(happened: str) -> InvalidRequest:
    return InvalidRequest(
        happened, fields={"side": [f"One of {', '.join(Side.values)}."]}, todo="Say which side you are for."
    )
