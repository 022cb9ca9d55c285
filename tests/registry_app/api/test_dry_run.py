"""`dry_run=true` makes every check, gives the answer of the real request, and leaves nothing behind."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction

from registry_app.models import IdempotencyKey, Transfer
from tests.registry_app.api.client import API, read
from tests.registry_app.api.every_write import WRITES, open_busy_world, operations, send

pytestmark = [pytest.mark.deep, pytest.mark.django_db]

_CONTACTING = re.compile(r"/connection-tests/|/plan/$")
# What is another for every request: ids, moments, secrets.
_VOLATILE = re.compile(r"^(id|number|group|public_id|token|password|plan_fingerprint|undo_of)$|_at$|_ids?$")


def test_a_dry_run_of_any_operation_changes_no_table_and_contacts_nobody() -> None:
    with open_busy_world() as world:
        before = _every_row()
        for name in _writing():
            answer = send(world, name, "dry_run=true", **{"Idempotency-Key": "k1"})

            assert answer.status_code < 500, (name, answer.content)
            assert _every_row() == before, name
            if _CONTACTING.search(name):
                assert (answer.status_code, read(answer)["code"]) == (400, "dry_run_impossible"), name
            elif name in WRITES:
                assert (answer.status_code, answer.get("X-Dry-Run")) == (200, "true"), (name, answer.content)
                assert not {"Location", "ETag"} & set(answer.headers), name
        assert world.reference.history.requests() == ()


def test_a_dry_run_gives_the_body_of_the_real_request() -> None:
    with open_busy_world() as world:
        for name in WRITES:
            tried = send(world, name, "dry_run=true")
            with transaction.atomic():
                done = send(world, name, "dry_run=false")
                transaction.set_rollback(True)

            assert done.status_code in (200, 201, 202, 204), (name, done.content)
            assert "X-Dry-Run" not in done.headers
            assert _body(tried) == _body(done), name


def test_a_dry_run_refuses_what_the_real_request_would_refuse() -> None:
    with open_busy_world() as world:
        answer = world.client.post(f"{API}/clusters/?dry_run=true", {"name": ""})

    assert (answer.status_code, read(answer)["fields"].keys()) == (422, {"name"})
    assert "X-Dry-Run" not in answer.headers


def test_a_dry_run_shows_no_token_that_opens_nothing() -> None:
    with open_busy_world() as world:
        answer = send(world, "POST /tokens/", "dry_run=true")

    assert read(answer)["token"] == ""


def test_a_key_used_in_a_dry_run_is_free_for_the_real_request() -> None:
    with open_busy_world() as world:
        send(world, "POST /transfers/", "dry_run=true", **{"Idempotency-Key": "k1"})
        assert not IdempotencyKey.objects.exists()
        before = Transfer.objects.count()

        answer = send(world, "POST /transfers/", "", **{"Idempotency-Key": "k1"})

    assert (answer.status_code, Transfer.objects.count()) == (201, before + 1)
    assert "Idempotency-Replayed" not in answer.headers


def test_a_dry_run_that_is_not_clearly_meant_or_not_is_refused() -> None:
    with open_busy_world() as world:
        before = _every_row()
        for value in ("True", "1", "yes", "", "TRUE", "true%20", "true&dry_run=false", "0"):
            answer = send(world, "POST /transfers/", f"dry_run={value}")

            assert (answer.status_code, list(read(answer)["fields"])) == (400, ["dry_run"]), value
            assert _every_row() == before, value


def test_what_only_reads_knows_no_dry_run() -> None:
    with open_busy_world() as world:
        answer = world.client.get(f"{API}/clusters/?dry_run=true")

    assert (answer.status_code, list(read(answer)["fields"])) == (400, ["dry_run"])


def _writing() -> list[str]:
    return [name for name, (method, _) in operations().items() if method != "get"]


def _every_row() -> dict[str, list[Any]]:
    return {
        model._meta.label: sorted(model._default_manager.values_list(), key=repr)
        for model in apps.get_models()
        if model._meta.managed
    }


def _body(answer: Any) -> Any:
    return _still(read(answer)) if answer.content else None


def _still(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "..." if _VOLATILE.search(key) else _still(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_still(each) for each in value]
    return value
