"""Which rows somebody may read. Every list, every row behind an address, every search and every export asks
`readable`, and nothing shows rows that did not go through it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from django.db import models

from registry_app.actor import Actor
from registry_app.models import ApiToken, SavedFilter
from registry_app.queries.access import may_administer, may_read
from registry_app.queries.saved_filter import build_own_query

_Row = TypeVar("_Row", bound=models.Model)
_Rule = Callable[[Actor, models.QuerySet[Any]], models.QuerySet[Any]]


def readable(actor: Actor, rows: models.QuerySet[_Row]) -> models.QuerySet[_Row]:
    """Those of `rows` that the actor may read: all of them for everybody who may read at all, but for the
    models of `_RULES`."""
    if not may_read(actor):
        return rows.none()
    rule = _RULES.get(rows.model)
    return rows if rule is None else rule(actor, rows)


def _own_tokens(actor: Actor, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Somebody else's token is an administrator's to see."""
    return rows if may_administer(actor) else rows.filter(user=actor.user_id)


def _own_filters(actor: Actor, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """A saved filter is its user's, and of those in the group it is shared with; administrators see all."""
    return rows if may_administer(actor) else rows.filter(build_own_query(actor))


_RULES: Mapping[type[models.Model], _Rule] = MappingProxyType(
    {ApiToken: _own_tokens, SavedFilter: _own_filters}
)
