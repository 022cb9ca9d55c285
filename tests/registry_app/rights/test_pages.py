"""Every address of the web admin x everybody who may come along x what is theirs and what is not."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.messages import get_messages
from django.db import transaction
from django.test import Client
from django.urls import reverse

from registry_app.actor import SYSTEM
from registry_app.audit import record_audit
from registry_app.models import AuditEntry
from tests.registry_app.rights.callers import Caller, list_cells, make_callers
from tests.registry_app.rights.expected_of_the_pages import (
    ACTS_ON_HAND_OVERS,
    ACTS_ON_TRANSFERS,
    BUTTONS,
    PAGES,
    UNUSED,
    Button,
    Page,
)
from tests.registry_app.rights.objects import Side, make_sides
from tests.registry_app.rights.writes import rolled_back

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet"), pytest.mark.one_database]
_BUTTONS = {f"registry_app_{name}" for name in BUTTONS} | {
    "registry_app_transfer_act",
    "registry_app_handover_act",
}
_WHO_LOOKS = {"nobody", "not of the staff", "a reader", "operate narrowed by all", "administrator"}
# Fields that are typed one a line.
_LINES = (
    "networks",
    "shared_names",
    "allowed_properties",
    "managed_types",
    "name_patterns",
    "domain_include",
    "domain_exclude",
)
_ReadForm = Callable[[str], dict[str, Any]]


def test_every_address_has_an_expectation() -> None:
    addresses = [
        each for part in admin.site.get_urls() for each in (part, *getattr(part, "url_patterns", ()))
    ]
    names = {each.name for each in addresses if getattr(each, "name", None)}

    assert names - {name.removeprefix("admin:") for name in PAGES} - UNUSED - _BUTTONS == set()


@pytest.mark.deep
def test_everybody_sees_exactly_the_pages_that_are_for_them() -> None:
    (own, _), callers = _make_world()
    wrong = [
        f"{caller.name}: {name}: {reported}"
        for name, page in PAGES.items()
        for caller in callers
        if caller.name in _WHO_LOOKS and (reported := _look(name, page, own, caller))
    ]

    assert not wrong, "\n".join(wrong[:80])


@pytest.mark.deep
def test_everybody_presses_exactly_the_buttons_that_are_for_them() -> None:
    sides, callers = _make_world()
    root = next(caller.session for caller in callers if caller.name == "administrator")
    assert root is not None
    read_form = cache(partial(_read_form, root))
    buttons = [
        *BUTTONS.items(),
        *(("transfer_act", button) for button in ACTS_ON_TRANSFERS.values()),
        *(("handover_act", button) for button in ACTS_ON_HAND_OVERS.values()),
    ]
    wrong = [
        f"{caller.name}: {name} {button.place(side).get('action', '')} ({side.key}): {reported}"
        for name, button in buttons
        for side, caller in list_cells(button.action, only_reads=False, sides=sides, callers=callers)
        if (reported := _press(f"admin:registry_app_{name}", button, side, caller, read_form))
    ]

    assert not wrong, "\n".join(wrong[:80])


def _make_world() -> tuple[tuple[Side, Side], list[Caller]]:
    sides = make_sides()
    with transaction.atomic():
        entry = record_audit(SYSTEM, "provider.registered", sides[0].provider)
    AuditEntry.objects.filter(pk=entry.pk).update(id=1)
    return sides, [caller for caller in make_callers() if caller.session is not None]


def _look(name: str, page: Page, side: Side, caller: Caller) -> str:
    assert caller.session is not None
    status = caller.session.get(reverse(name, kwargs=dict(page.place(side)))).status_code
    if page.rule(caller, side):
        return "" if status == 200 else f"answered {status} and is allowed"
    return "" if status in (302, 403, 404) else f"answered {status} and is not allowed"


def _press(name: str, button: Button, side: Side, caller: Caller, read_form: _ReadForm) -> str:
    """What is wrong with the answer; empty if nothing is. Whatever it did is undone."""
    assert caller.session is not None
    address = reverse(name, kwargs=dict(button.place(side)))
    form = {**(read_form(address) if button.is_edit else {}), **button.form(side)}
    with rolled_back(lambda: button.before(side)) as writes:
        response: Any = caller.session.post(address, form)
        is_meant = caller.is_staff and button.rule(caller, side)
    if not is_meant:
        if writes:
            return f"is not allowed, and wrote {writes[0]}"
        return "" if _is_refused(response) else f"answered {response.status_code} and is not allowed"
    if button.may_conflict and response.status_code == 409:
        return ""  # what was written before the conflict showed is rolled back with it
    if response.status_code >= 400:
        return f"answered {response.status_code} and is allowed"
    if bool(writes) is not button.is_written:
        return f"answered {response.status_code} and wrote {writes}"
    return ""


def _is_refused(response: Any) -> bool:
    """Sent to sign in, forbidden, not found, or sent back with a refusal."""
    if response.status_code in (403, 404):
        return True
    if response.headers.get("Location", "").startswith(reverse("admin:login")):
        return True
    return "error" in [message.level_tag for message in get_messages(response.wsgi_request)]


def _read_form(root: Client, address: str) -> dict[str, Any]:
    """All that the form at an address begins with."""
    fields = {field.html_name: field.value() for field in root.get(address).context["form"]}
    given = {name: value for name, value in fields.items() if value not in (None, "", False, [])}
    return {name: "\n".join(map(str, value)) if name in _LINES else value for name, value in given.items()}
