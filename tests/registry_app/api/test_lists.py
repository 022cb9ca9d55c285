"""Lists are read as values and encoded by msgspec: they say what the serializers of their nouns say."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from registry_app.actor import SYSTEM
from registry_app.api.finding import FindingAnswer
from registry_app.api.record_set import RecordEventAnswer, RecordSetAnswer
from registry_app.api.row_shape import find_shape
from registry_app.api.sync_run import SyncRunAnswer
from registry_app.api.urls import LISTS
from registry_app.models import Finding, Owner, RecordEvent, RecordSet
from tests.factories import make_administrator, make_finding, make_owner, make_provider, make_record_set
from tests.registry_app.admin.world import make_one_of_each
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = pytest.mark.django_db

_WHOLE_SECOND = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_TENTH = datetime(2026, 1, 2, 3, 4, 5, 100_000, tzinfo=UTC)


def _serialize(noun: Any) -> bytes:
    """The whole list, by the serializer."""
    view = noun()
    asked = HttpRequest()
    asked.method = "GET"
    view.given_actor, view.action, view.kwargs, view.format_kwarg = SYSTEM, "list", {}, None
    view.request = Request(asked)
    rows = view.filter_queryset(view.get_queryset())
    lists = rows if isinstance(rows, list) else [rows]
    ordered = [row for each in lists for row in each.order_by(*view.keyset.ordering)]
    body: bytes = JSONRenderer().render(view.show_all(ordered))
    return body


def _make_odd_rows() -> None:
    """What a conversion may get wrong: nothing, other alphabets, whole seconds, names that look alike."""
    provider = make_provider("bläue \u2028 zone", accepted_at=_TENTH)
    seen = make_owner("b1ue-0", status=Owner.Status.DISCOVERED)
    make_owner("blue-0")
    odd: dict[str, Any] = {
        "first_seen_at": _WHOLE_SECOND,
        "changed_at": _TENTH,
        "missing_since": _WHOLE_SECOND,
    }
    make_record_set(
        provider, "odd.example.org", owner=seen, targets=['"Grüße, \\"x\\" </b>"', "\u2028"], **odd
    )
    make_record_set(
        provider, "bare.example.org", targets=[], provider_specific=[{"name": "alias", "value": ""}]
    )
    make_finding(kind=Finding.Kind.CLOCK_OFF, details={"seconds": 3, "hosts": ["a"]}, severity=40)
    suggestion = {"kind": "register_owner", "owner_id": "b1ue-0"}
    make_finding(provider=provider, owner=seen, suggestion=suggestion, resolved_at=_TENTH, muted_until=_TENTH)
    RecordEvent.objects.create(
        provider=provider, name="odd.example.org", record_type="A", kind="purged", at=_TENTH
    )


def test_each_list_says_byte_for_byte_what_its_serializer_says() -> None:
    root = make_administrator()
    client = make_client(root)
    for number in (1, 2):
        make_one_of_each(number, root)
    _make_odd_rows()
    for name, noun in LISTS.items():
        if name in ("tokens", "audit-entries"):
            continue  # of the person who asks; each request adds one
        answer = client.get(f"{API}/{name}/?limit=1000")

        expected = b'{"items":' + _serialize(noun) + b',"next":null,"next_cursor":null}'
        # DRF writes two signs of lines as JavaScript wants them.
        assert answer.content == expected.replace(b"\\u2028", "\u2028".encode()), name


def test_pages_of_one_row_are_the_whole_list() -> None:
    root = make_administrator()
    client = make_client(root)
    for number in (1, 2, 3):
        make_one_of_each(number, root)
    for name in LISTS:
        whole = items(client, f"/{name}/?limit=1000")
        seen: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = read(client.get(f"{API}/{name}/?limit=1{cursor and '&cursor='}{cursor}"))
            seen += page["items"]
            cursor = page["next_cursor"]

        assert seen == whole, name
        assert len(whole) >= 3, name


def test_the_lists_that_grow_with_the_zones_make_no_object_a_row() -> None:
    for serializer in (RecordSetAnswer, FindingAnswer, SyncRunAnswer, RecordEventAnswer):
        assert find_shape(serializer) is not None, serializer


def test_the_history_of_a_record_set_is_read_as_values_too() -> None:
    client = make_client(make_administrator())
    provider = make_provider()
    row = make_record_set(provider)
    event = RecordEvent.objects.create(
        provider=provider, name=row.name, record_type="A", kind="changed", at=_TENTH, after={"ttl": 3}
    )

    shown = items(client, f"/record-sets/{row.pk}/events/")

    assert shown == [dict(RecordEventAnswer(event).data)]


def test_a_page_takes_as_many_queries_as_a_row() -> None:
    client = make_client(make_administrator())
    make_record_set(make_provider())
    client.get(f"{API}/record-sets/")
    with CaptureQueriesContext(connection) as few:
        client.get(f"{API}/record-sets/")
    for number in range(20):
        make_record_set(make_provider(f"zone-{number}"), f"www-{number}.example.org")
    with CaptureQueriesContext(connection) as many:
        client.get(f"{API}/record-sets/")

    assert RecordSet.objects.count() == 21
    assert len(many) == len(few)
