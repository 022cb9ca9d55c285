"""The applications keep to WSGI, so any server can serve them; what a server tells them of a body is used."""

import io
from collections.abc import Callable
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from providers.backends.memory import MemoryBackend
from providers.servers.operations_application import OperationsApplication, RequestMetrics
from providers.servers.provider_application import WebhookApplication
from tests.providers.servers.calls import MEDIA_TYPE
from tests.reference_server import make_record

_DELETE = (
    b'{"delete":[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":300}]}'
)


class _Late(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise TimeoutError


def _call(application: Any, method: str, path: str, **environ: object) -> tuple[str, bytes]:
    """The status and body of an answer, from a server that is strict about WSGI."""
    told: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
    }
    told |= {"HTTP_ACCEPT": MEDIA_TYPE, "CONTENT_TYPE": MEDIA_TYPE} | environ
    setup_testing_defaults(told)
    statuses: list[str] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _: object = None
    ) -> Callable[[bytes], None]:
        statuses.append(status)
        return lambda _: None

    answer = validator(application)(told, start_response)
    body = b"".join(answer)
    answer.close()  # type: ignore[attr-defined]  # the validator gives an iterator that wants it
    return statuses[0], body


def _post(body: io.BytesIO, **environ: object) -> tuple[str, list[str]]:
    """The status of a delete, and the names that are left."""
    backend = MemoryBackend([make_record()])
    status, _ = _call(WebhookApplication(backend), "POST", "/records", **{"wsgi.input": body}, **environ)
    return status, [each.dns_name for each in backend.contents()]


def test_answers_are_right_for_a_server_that_is_strict() -> None:
    webhook, operations = WebhookApplication(MemoryBackend()), OperationsApplication(RequestMetrics())

    assert _call(webhook, "GET", "/records") == ("200 OK", b"[]")
    assert _call(webhook, "GET", "//records") == ("200 OK", b"[]")
    assert _call(webhook, "HEAD", "/records") == ("400 Bad Request", b"")
    assert _call(webhook, "GET", "/nowhere")[0] == "404 Not Found"
    assert _call(operations, "GET", "/healthz") == ("200 OK", b"ok\n")


def test_a_body_is_read_by_its_length_or_to_its_end_where_the_server_knows_it() -> None:
    length = str(len(_DELETE))

    assert _post(io.BytesIO(_DELETE + b" and more"), CONTENT_LENGTH=length) == ("204 No Content", [])
    assert _post(io.BytesIO(_DELETE), **{"wsgi.input_terminated": True}) == ("204 No Content", [])


@pytest.mark.parametrize(
    ("body", "environ", "status"),
    [
        (io.BytesIO(_DELETE), {}, "400 Bad Request"),
        (io.BytesIO(_DELETE), {"CONTENT_LENGTH": str(len(_DELETE) + 1)}, "400 Bad Request"),
        (_Late(_DELETE), {"CONTENT_LENGTH": str(len(_DELETE))}, "503 Service Unavailable"),
        (_Late(_DELETE), {"wsgi.input_terminated": True}, "503 Service Unavailable"),
    ],
)
def test_a_body_that_is_not_whole_changes_nothing(
    body: io.BytesIO, environ: dict[str, object], status: str
) -> None:
    assert _post(body, **environ) == (status, ["www.example.org"])
