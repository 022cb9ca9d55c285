"""A program with a token, as the tests of the API play it."""

import json
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpResponse
from rest_framework.response import Response
from rest_framework.test import APIClient

from registry_app.actor import Actor
from registry_app.inventory.token import issue_token
from registry_app.models import ApiToken
from tests.registry_app.api.documented import raise_if_not_documented

API = "/api/v1"


def make_token(user: User, *scopes: str, **bounds: Any) -> tuple[ApiToken, str]:
    """A token `user` issued; with no scope named, all of them."""
    actor = Actor(kind="user", name=user.get_username(), user_id=user.pk)
    return issue_token(
        actor, user_id=user.pk, name="deploy", scopes=scopes or tuple(ApiToken.SCOPES), **bounds
    )


class CheckingClient(APIClient):
    """A client that compares every response with the OpenAPI document."""

    def request(self, **kwargs: Any) -> Any:
        response = super().request(**kwargs)
        asked = response.wsgi_request
        if response.streaming:  # read once, for the comparison and for the test
            whole = HttpResponse(b"".join(response), status=response.status_code, headers=response.headers)
            response = cast("Any", whole)
        raise_if_not_documented(
            str(asked.method),
            asked.path,
            response.status_code,
            response.headers.get("Content-Type", ""),
            response.content,
        )
        return response


def make_client(user: User, *scopes: str, **bounds: Any) -> APIClient:
    """A client with a new token of `user` that compares every response with the OpenAPI document."""
    client = CheckingClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {make_token(user, *scopes, **bounds)[1]}")
    return client


def read(response: Response) -> Any:
    """The answer as a program reads it: from its bytes."""
    return json.loads(response.content)


def read_text(response: Any) -> str:
    """The answer as text, also one that is streamed."""
    return (b"".join(response) if response.streaming else response.content).decode()


def items(client: APIClient, address: str) -> list[dict[str, Any]]:
    """The rows of a list, which must be there."""
    response = client.get(API + address)
    assert response.status_code == 200, response.content
    rows: list[dict[str, Any]] = read(response)["items"]
    return rows
