"""Every kind of caller, and what their grants cover, written apart from the code that decides it."""

import itertools
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from registry_app.inventory.token import issue_token
from registry_app.models import ApiToken, Grant, Owner, Provider
from tests.factories import make_administrator, make_user
from tests.registry_app.transfer.world import make_actor

WHOLE = None  # every name there is
_ALL_SCOPES = frozenset(ApiToken.SCOPES)
_AT_THE_FOREIGN_SIDE = ("administrator", "administrator's token for both owners")
# These can tell nothing there: what they lack, others of the cast lack one by one.
_ONLY_AT_THE_OWN_SIDE = ("below another name", "narrowed by all")
# Whom the sign-in refuses, or knows, everywhere alike: asked at what is written.
_ONLY_AT_WRITES = (
    "not of the staff",
    "administrator's expired token",
    "administrator's deleted owner's token",
)
# Loading the middleware takes longer than most requests.
_API_HANDLER, _PAGE_HANDLER = APIClient().handler, Client().handler
_Side = TypeVar("_Side")
_SCOPE_OF = {"request": "plan", "approve": "approve", "operate": "admin"}


@dataclass(frozen=True)
class Reach:
    """One grant. None and "" do not narrow it."""

    action: str
    provider: str | None = None
    owner: str | None = None
    suffix: str = ""


@dataclass
class Caller:
    """Somebody with a token; `session` too, where they may sign in to the web admin."""

    name: str
    reaches: tuple[Reach, ...] = ()
    is_known: bool = True
    is_administrator: bool = False
    is_staff: bool = True
    scopes: frozenset[str] = _ALL_SCOPES
    owners: frozenset[str] | None = None
    api: APIClient = field(default_factory=APIClient)
    session: Client | None = None

    def may_read(self) -> bool:
        return self.is_known and "read" in self.scopes

    def may_administer(self) -> bool:
        return self.is_administrator and "admin" in self.scopes and self.owners is None

    def covers(self, action: str, provider: str, owner: str | None, names: Collection[str] | None) -> bool:
        """Whether this is within the caller's grants, or those of an administrator."""
        if not self.is_known or _SCOPE_OF[action] not in self.scopes:
            return False
        if self.owners is not None and owner not in self.owners:
            return False
        if self.is_administrator:
            return True
        fitting = [
            reach.suffix
            for reach in self.reaches
            if reach.action == action and reach.provider in (None, provider) and reach.owner in (None, owner)
        ]
        if names is WHOLE:
            return "" in fitting
        return all(
            any(not suffix or name == suffix or name.endswith(f".{suffix}") for suffix in fitting)
            for name in names
        )


def list_cells(
    action: str, only_reads: bool, sides: tuple[_Side, _Side], callers: list[Caller]
) -> Iterator[tuple[_Side, Caller]]:
    """Each cell that can tell something: grants of another action are tried as wide as they can be, and what
    no grant narrows is tried at one side. DNSADMIN_EVERY_CELL asks for all of them, before a release."""
    if "DNSADMIN_EVERY_CELL" in os.environ:
        yield from itertools.product(sides, callers)
        return
    own, foreign = sides
    for caller in callers:
        granted = {reach.action for reach in caller.reaches}
        if only_reads and caller.name in _ONLY_AT_WRITES:
            continue
        is_about = bool(action) and action in granted
        if is_about or not granted or (not only_reads and caller.name.endswith("everywhere")):
            yield own, caller
        if action and caller.name in _AT_THE_FOREIGN_SIDE:
            yield foreign, caller
        if is_about and not caller.name.endswith(_ONLY_AT_THE_OWN_SIDE):
            yield foreign, caller


def make_callers() -> list[Caller]:
    """The cast: nobody, readers, every grant as wide and as narrow as it can be, tokens, administrators."""
    root = make_administrator("root")
    callers = [Caller("nobody", is_known=False, is_staff=False, session=Client())]
    callers += [_make("a reader"), _make("not of the staff", is_staff=False)]
    for action in Grant.Action.values:
        callers += [
            _make(f"{action} everywhere", Reach(action)),
            _make(f"{action} at own provider", Reach(action, provider="own")),
            _make(f"{action} for own owner", Reach(action, owner="own-owner")),
            *(
                [_make(f"{action} for who takes own names", Reach(action, owner="third-owner"))]
                if action != "operate"
                else []
            ),
            _make(f"{action} below own name", Reach(action, suffix="own.example.org")),
            _make(f"{action} below another name", Reach(action, suffix="nothing.invalid")),
            _make(f"{action} narrowed by all", Reach(action, "own", "own-owner", "own.example.org")),
            _make(
                f"{action} for both owners of own names",
                Reach(action, "own", "own-owner", "own.example.org"),
                Reach(action, "own", "third-owner", "own.example.org"),
            ),
        ]
    callers.append(_make_token("administrator", root, session=_sign_in(root)))
    for scope in ApiToken.SCOPES:
        callers.append(_make_token(f"administrator's token that only may {scope}", root, scopes=[scope]))
    callers.append(_make_token("administrator's token for own owner", root, owner_ids=["own-owner"]))
    callers.append(
        _make_token("administrator's token for both owners", root, owner_ids=["own-owner", "third-owner"])
    )
    everything = User.objects.get(username="request everywhere")
    for scopes in (["read", "plan"], ["read", "apply"]):
        name = f"request everywhere, by a token for {' and '.join(scopes)}"
        callers.append(_make_token(name, everything, Reach("request"), scopes=scopes))
    callers.append(
        _make_token(
            "request everywhere, by a token for own owner",
            everything,
            Reach("request"),
            owner_ids=["own-owner"],
        )
    )
    for what, values in (
        ("revoked", {"revoked_at": timezone.now()}),
        ("expired", {"expires_at": timezone.now() - timedelta(seconds=1)}),
        ("deleted owner's", {}),
    ):
        callers.append(_make_dead_token(what, root, values))
    return callers


def _make_dead_token(what: str, root: User, values: dict[str, Any]) -> Caller:
    """A token that is over; or one narrowed to an owner who is gone, which reaches nothing any more."""
    name = f"administrator's {what} token"
    if values:
        caller = _make_token(name, root)
        ApiToken.objects.filter(name=name).update(**values)
        caller.is_known = caller.is_administrator = False
        return caller
    gone = Owner.objects.create(owner_id="gone")
    caller = _make_token(name, root, owner_ids=["gone"])
    gone.delete()
    return caller


def _make(name: str, *reaches: Reach, is_staff: bool = True) -> Caller:
    user = make_user(name)
    User.objects.filter(pk=user.pk).update(is_staff=is_staff)
    team = Group.objects.create(name=name)
    user.groups.add(team)
    for reach in reaches:
        Grant.objects.create(
            group=team,
            action=reach.action,
            provider=Provider.objects.get(name=reach.provider) if reach.provider else None,
            owner=Owner.objects.get(owner_id=reach.owner) if reach.owner else None,
            name_suffix=reach.suffix,
        )
    caller = _make_token(name, user, *reaches, session=_sign_in(user))
    caller.is_staff = is_staff
    return caller


def _make_token(
    name: str, user: User, *reaches: Reach, session: Client | None = None, **bounds: Any
) -> Caller:
    given = {"scopes": sorted(_ALL_SCOPES), **bounds}
    _, text = issue_token(make_actor(user), user_id=user.pk, name=name[:100], **given)
    # Noting the use of a token is a write of its own: it is not due for long.
    ApiToken.objects.update(last_used_at=timezone.now() + timedelta(days=1))
    client = APIClient()
    client.handler = _API_HANDLER
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return Caller(
        name,
        reaches,
        is_administrator=user.is_superuser,
        scopes=frozenset(given["scopes"]),
        owners=frozenset(given["owner_ids"]) if "owner_ids" in given else None,
        api=client,
        session=session,
    )


def _sign_in(user: User) -> Client:
    client = Client()
    client.handler = _PAGE_HANDLER
    client.force_login(user)
    return client
