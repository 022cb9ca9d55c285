"""Which rows somebody may read. Every list, every row behind an address, every search and every export asks
`readable`, and nothing shows rows that did not go through it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from django.db import models

from registry_app.actor import Actor
from registry_app.models import ApiToken
from registry_app.queries.access import may_administer, may_read

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


_RULES: Mapping[type[models.Model], _Rule] = MappingProxyType({ApiToken: _own_tokens})
