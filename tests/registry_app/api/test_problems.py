"""Every error is a problem document: a code, three sentences, a request id."""

import pytest
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.test import APIClient

from registry_app import errors
from registry_app.api import problem
from registry_app.models import Cluster
from tests.factories import make_administrator, make_cluster, make_owner, make_provider
from tests.registry_app.api.client import API, make_client, read

pytestmark = pytest.mark.one_database

_MEMBERS = {"type", "title", "status", "detail", "code", "happened", "now", "todo", "request_id"}


def _post_raw(client: APIClient, body: bytes) -> Response:
    return client.generic("POST", f"{API}/clusters/", body, content_type="application/json")  # type: ignore[arg-type]  # the stubs know text only


@pytest.fixture
def client(db: None) -> APIClient:
    return make_client(make_administrator())


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InvalidRequest("No."), 422, "invalid_request"),
        (errors.NotAllowed("No."), 403, "not_allowed"),
        (errors.NotFound("No."), 404, "not_found"),
        (errors.RefusedBySafety("No.", code="frozen"), 409, "frozen"),
        (errors.StateMoved("No."), 409, "state_moved"),
        (errors.LeaseLost("No."), 503, "lease_lost"),
        (errors.SecretUnavailable("No."), 500, "secret_unavailable"),
        (errors.DnsadminError("No."), 500, "error"),
        (problem.PreconditionFailed("No."), 412, "precondition_failed"),
        (problem.PreconditionRequired("No."), 428, "precondition_required"),
        (problem.InvalidParameter("No."), 400, "invalid_parameter"),
        (problem.MalformedBody("No."), 400, "malformed_body"),
        (problem.BodyTooLarge("No."), 413, "body_too_large"),
        (exceptions.NotAuthenticated(), 401, "not_authenticated"),
        (exceptions.AuthenticationFailed(), 401, "authentication_failed"),
        (exceptions.PermissionDenied(), 403, "not_allowed"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (exceptions.UnsupportedMediaType("a/b"), 415, "unsupported_media_type"),
        (exceptions.Throttled(wait=7), 429, "throttled"),
        (exceptions.ValidationError({"name": ["Missing."]}), 422, "invalid_request"),
        (Http404(), 404, "not_found"),
        (OperationalError("database is locked"), 503, "database_unavailable"),
        (KeyError("the secret of the provider"), 500, "internal_error"),
    ],
)
def test_every_class_of_error_has_its_status_and_code(error: Exception, status: int, code: str) -> None:
    response = problem.build_problem_response(error, {})

    assert response.status_code == status
    assert response.data["code"] == code
    assert response.data["status"] == status
    assert response.data["type"] == f"urn:dnsadmin:problem:{code}"
    assert set(response.data) - {"fields"} == _MEMBERS


@pytest.mark.parametrize(
    "error", [errors.LeaseLost("No."), exceptions.Throttled(wait=7), OperationalError("locked")]
)
def test_what_may_be_tried_later_says_when(error: Exception) -> None:
    response = problem.build_problem_response(error, {})

    assert int(response["Retry-After"]) > 0


def test_an_unforeseen_error_tells_nothing_of_its_text() -> None:
    response = problem.build_problem_response(KeyError("the secret of the provider"), {})

    assert "secret" not in str(response.data)


def test_an_error_has_three_sentences() -> None:
    error = errors.StateMoved("It moved.", now="Nothing was sent.", todo="Look again.")

    data = problem.build_problem_response(error, {}).data

    assert (data["happened"], data["now"], data["todo"]) == ("It moved.", "Nothing was sent.", "Look again.")
    assert data["detail"] == "It moved. Nothing was sent. Look again."


def test_nested_complaints_are_told_by_path(client: APIClient) -> None:
    body = {"kind": "transfer", "selection": {"record_set_ids": [1, "x"], "colour": "blue"}}

    first = read(client.post(f"{API}/transfers/preview/", body))
    del body["selection"]["colour"]  # type: ignore[attr-defined]  # it is a dictionary
    second = read(client.post(f"{API}/transfers/preview/", body))

    assert list(first["fields"]) == ["selection.colour"]
    assert list(second["fields"]) == ["selection.record_set_ids.1"]


def test_every_answer_carries_its_request_id(client: APIClient) -> None:
    good = client.get(f"{API}/clusters/")
    bad = client.get(f"{API}/clusters/0/")

    assert len(good["X-Request-Id"]) > 10
    assert good["X-Request-Id"] != bad["X-Request-Id"]
    assert read(bad)["request_id"] == bad["X-Request-Id"]


def test_an_unknown_address_is_a_problem_too(client: APIClient) -> None:
    response = client.get(f"{API}/nowhere/")

    assert response.status_code == 404
    assert response["Content-Type"] == "application/problem+json"


def test_a_forgotten_slash_leads_on_with_method_and_query(client: APIClient) -> None:
    response = client.post(f"{API}/clusters?x=1", {"name": "blue"})

    assert response.status_code == 308
    assert response["Location"] == f"{API}/clusters/?x=1"


def test_a_hostile_body_is_refused_and_stores_nothing(client: APIClient) -> None:
    bodies = [
        b"",
        b"{",
        b"null,",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"name": NaN}',
        b'{"name": Infinity}',
        b'{"name": "a", "name": "b"}',
        b'{"name": "a\\u0000b"}',
        b'{"name\\u0000": "a"}',
        b'{"name": "\\ud800"}',
        b'{"name": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"[" * 9 + b"]" * 9,
    ]
    for body in bodies:
        response = _post_raw(client, body)

        assert response.status_code in {400, 422}, body[:24]
        assert read(response)["code"] in {"malformed_body", "invalid_request"}, body[:24]
        assert not Cluster.objects.exists(), body[:24]


def test_a_body_that_is_too_large_is_refused(client: APIClient) -> None:
    body = b'{"name": "' + b"a" * 3_000_000 + b'"}'

    response = _post_raw(client, body)

    assert response.status_code == 413
    assert read(response)["code"] == "body_too_large"


@pytest.mark.parametrize("body", ["[]", '"text"', "5", "null", "true"])
def test_a_body_that_is_no_object_is_refused(client: APIClient, body: str) -> None:
    response = client.generic("POST", f"{API}/clusters/", body, content_type="application/json")

    assert response.status_code == 422


def test_a_form_is_not_json(client: APIClient) -> None:
    response = client.generic(
        "POST", f"{API}/clusters/", "name=blue", content_type="application/x-www-form-urlencoded"
    )

    assert response.status_code == 415
    assert read(response)["code"] == "unsupported_media_type"


def test_an_unknown_field_is_refused_by_its_name(client: APIClient) -> None:
    response = client.post(f"{API}/clusters/", {"name": "blue", "colour": "blue"})

    assert response.status_code == 422
    assert read(response)["fields"] == {"colour": ["There is no such field."]}
    assert not Cluster.objects.exists()


def test_a_name_that_is_taken_is_told_by_field(client: APIClient) -> None:
    make_cluster("blue")

    response = client.post(f"{API}/clusters/", {"name": "blue"})

    assert response.status_code == 422
    assert list(read(response)["fields"]) == ["name"]


def test_the_fields_of_a_refusal_are_those_of_the_request(client: APIClient) -> None:
    make_owner("blue-cluster")
    everything = {"kind": "transfer", "reason": "x", "selection": {"owner": "blue-cluster"}}
    reported = {}
    for case, body in {
        "no target": everything,
        "unknown target": {**everything, "target_owner": "nobody"},
        "claims": {**everything, "target_owner": "blue-cluster", "selection": {"claim_ids": [1]}},
        "records": {"kind": "clean_up", "reason": "x", "selection": {"record_set_ids": [1]}},
        "bad name": {**everything, "target_owner": "blue-cluster", "selection": {"names": ["a..b"]}},
        "no reason": {**everything, "reason": ""},
        "a list": [1],
        "a text": {**everything, "selection": "all"},
    }.items():
        reported[case] = list(read(client.post(f"{API}/transfers/", body))["fields"])

    assert reported == {
        "no target": ["target_owner"],
        "unknown target": ["target_owner"],
        "claims": ["selection.claim_ids"],
        "records": ["selection.record_set_ids"],
        "bad name": ["selection.names"],
        "no reason": ["reason"],
        "a list": ["body"],
        "a text": ["selection"],
    }


def test_two_rows_that_must_not_be_are_told_of_the_whole_body(client: APIClient) -> None:
    make_owner("blue-cluster")
    make_provider("blue-zone")
    body = {"owner": "blue-cluster", "provider": "blue-zone"}

    first = client.post(f"{API}/loops/", body)
    second = client.post(f"{API}/loops/", body)

    assert (first.status_code, second.status_code) == (201, 422)
    assert not {"__all__", "non_field_errors"} & set(read(second)["fields"])
