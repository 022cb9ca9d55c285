"""Every operation of the API x everybody who may come along x what is theirs and what is not."""

import re
from typing import Any

import pytest
from django.db import transaction
from django.urls import URLPattern

from registry_app.actor import SYSTEM
from registry_app.api.precondition import build_etag
from registry_app.api.urls import urlpatterns
from registry_app.audit import record_audit
from registry_app.models import Loop
from tests.registry_app.rights.callers import Caller, list_cells, make_callers
from tests.registry_app.rights.expected_of_the_api import ACTS, MORE_ACTS, READ, Operation, is_anybody
from tests.registry_app.rights.objects import Side, make_sides
from tests.registry_app.rights.writes import rolled_back

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet"), pytest.mark.one_database]
_REFUSED = {401, 403, 404}
_POSSIBLE = {200, 201, 202, 204, 502}  # 502: nothing listens where the providers should be


def test_every_operation_has_an_expectation() -> None:
    routes = {
        (method, str(each.pattern))
        for each in urlpatterns
        if isinstance(each, URLPattern) and not str(each.pattern).startswith("^")
        for method in getattr(each.callback, "actions", {"get": ""})
        # DRF adds HEAD to a route when it is first asked.
        if method != "head"
    }

    assert routes == READ.keys() | ACTS.keys()


@pytest.mark.deep
def test_everybody_may_exactly_what_their_rights_say() -> None:
    sides = make_sides()
    callers = make_callers()
    with transaction.atomic():
        record_audit(SYSTEM, "provider.registered", sides[0].provider)
    operations = [(*key, "", operation) for key, operation in {**READ, **ACTS}.items()]
    operations += [(*key, operation) for key, operation in MORE_ACTS.items()]
    wrong: list[str] = []

    for method, route, what, operation in operations:
        whoever = callers[:1] if operation.rule is is_anybody else callers
        for side, caller in list_cells(operation.action, method == "get", sides, whoever):
            reported = _ask(method, route, operation, side, caller)
            if reported:
                wrong.append(f"{caller.name}: {method} {route} {what} ({side.key}): {reported}")

    assert not wrong, "\n".join(wrong[:80])


def _ask(method: str, route: str, operation: Operation, side: Side, caller: Caller) -> str:
    """What is wrong with the answer; empty if nothing is. Whatever it did is undone."""
    place = operation.place(side)
    address = "/api/v1/" + re.sub(r"<\w+:(\w+)>", lambda found: str(place[found[1]]), route)
    sent: dict[str, Any] = {} if method == "get" else {"data": operation.body(side), "format": "json"}
    if operation.needs_version_of:
        sent["headers"] = {"If-Match": _version_of(operation.needs_version_of, side)}
    with rolled_back(lambda: operation.before(side)) as writes:
        status = getattr(caller.api, method)(address, **sent).status_code
        is_meant = operation.rule(caller, side)
    if not is_meant:
        if status not in _REFUSED:
            return f"answered {status} and is not allowed"
        return f"refused, and wrote {writes[0]}" if writes else ""
    if operation.may_conflict and status == 409:
        return ""  # what was written before the conflict showed is rolled back with it
    if status not in _POSSIBLE or (operation.is_written and status >= 300):
        return f"answered {status} and is allowed"
    return "" if bool(writes) is operation.is_written else f"answered {status} and wrote {writes}"


def _version_of(noun: str, side: Side) -> str:
    if noun == "any":
        return "*"
    if noun == "endpoints":
        loop = Loop.objects.get(pk=side.loop.pk)
        loop.updated_at = loop.declared_at
        return build_etag(loop)
    names = {"registry-profiles": "profile", "guard-endpoints": "guard", "saved-filters": "saved_filter"}
    row = getattr(side, names.get(noun, noun.removesuffix("s")))
    return build_etag(type(row).objects.get(pk=row.pk))
