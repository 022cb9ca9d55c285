"""The same POST sent twice takes effect once (I16).

The key is claimed in a transaction of its own, so that a second request sees it in flight. Effect and
answer are then stored in one transaction, and only by the holder of the claim: a claim that was left
behind has had no effect, and may be taken over.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import IntegrityError, transaction
from drf_spectacular.utils import OpenApiParameter
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from registry_app.api.authentication import user_pk_of
from registry_app.api.dry_run import is_dry_run
from registry_app.api.problem import InvalidParameter
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, StateMoved
from registry_app.models import ApiToken, IdempotencyKey

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key with the same body takes effect once. A repetition gets the first response.",
)
LOCATION = OpenApiParameter(
    "Location", str, OpenApiParameter.HEADER, response=[201], description="Where the new object is."
)
_HEADER = "Idempotency-Key"
_MAX_KEY_LENGTH = 200
# Longer than any request lives. The fence keeps the promise even if one lives longer.
_IN_FLIGHT_FOR = timedelta(minutes=5)
_KEPT_HEADERS = ("Location", "ETag")

View = TypeVar("View", bound=APIView)
P = ParamSpec("P")
Action = Callable[Concatenate[View, Request, P], Response]


def idempotent(*, secrets: tuple[str, ...] = ()) -> Callable[[Action[View, P]], Action[View, P]]:
    """Mark a POST that writes. `secrets` names fields of the response that a replay leaves empty.

    A refused request changed nothing, so its key stays free. The action must not talk to the network:
    it runs inside a transaction. A dry run claims the key like any other request, in its transaction
    that is rolled back: it is answered as the real one would be, and the key stays free.
    """

    def decorate(action: Action[View, P]) -> Action[View, P]:
        @wraps(action)
        def answer_once(view: View, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
            key = _read_key(request)
            if key is None:
                return _blank_in_dry_run(action(view, request, *args, **kwargs), request, secrets)
            claim = _claim_key(request, key)
            if isinstance(claim, Response):
                return claim
            answer = act_under_claim(claim, secrets, lambda: action(view, request, *args, **kwargs))
            return _blank_in_dry_run(answer, request, secrets)

        return answer_once

    return decorate


def _blank_in_dry_run(response: Response, request: Request, secrets: tuple[str, ...]) -> Response:
    """Remove secrets from the response of a dry run: they are not valid."""
    if is_dry_run(request):
        response.data.update(dict.fromkeys(secrets, ""))
    return response


def _read_key(request: Request) -> str | None:
    key = request.headers.get(_HEADER)
    if key is None:
        return None
    if not 0 < len(key) <= _MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise InvalidParameter(
            f"{_HEADER} cannot be used.",
            fields={_HEADER: [f"Send 1 to {_MAX_KEY_LENGTH} printable ASCII characters, such as a UUID."]},
        )
    return key


def _claim_key(request: Request, key: str) -> IdempotencyKey | Response:
    """The claim, or the first answer if there is one."""
    now = fetch_now()
    method_and_path = f"{request.method} {request.path}"[:300]
    digest = _compute_digest(request)
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(
                user_id=user_pk_of(request),
                key=key,
                method_and_path=method_and_path,
                body_digest=digest,
                claimed_at=now,
            )
    except IntegrityError:
        stored = IdempotencyKey.objects.filter(user_id=user_pk_of(request), key=key).first()
    if stored is None:
        raise _in_flight()  # it was freed in this very moment
    if (stored.method_and_path, stored.body_digest) != (method_and_path, digest):
        raise InvalidRequest(
            f"This {_HEADER} was used for another request.",
            todo="Use a new key for a new request.",
            code="idempotency_key_reused",
        )
    if stored.status_code is not None:
        return _replay(stored)
    return _take_over(stored)


def _take_over(stored: IdempotencyKey) -> IdempotencyKey:
    now = fetch_now()
    left_behind = IdempotencyKey.objects.filter(
        pk=stored.pk, claimed_at=stored.claimed_at, claimed_at__lt=now - _IN_FLIGHT_FOR, status_code=None
    )
    if not left_behind.update(claimed_at=now):
        raise _in_flight()
    stored.claimed_at = now
    return stored


def act_under_claim(claim: IdempotencyKey, secrets: tuple[str, ...], act: Callable[[], Response]) -> Response:
    """Store effect and response in one transaction. Raises StateMoved, without effect, if the claim was
    lost."""
    is_stored = False
    try:
        with transaction.atomic():
            response = act()
            _store_answer(claim, response, secrets)
        is_stored = True
    finally:
        if not is_stored:
            _find_claimed(claim).delete()
    return response


def _store_answer(claim: IdempotencyKey, response: Response, secrets: tuple[str, ...]) -> None:
    data = json.loads(JSONRenderer().render(response.data))
    for name in secrets:
        data[name] = ""
    headers = {name: response[name] for name in _KEPT_HEADERS if name in response}
    if not _find_claimed(claim).update(
        status_code=response.status_code, answer={"data": data, "headers": headers}
    ):
        raise _in_flight()


def _find_claimed(claim: IdempotencyKey) -> Any:
    return IdempotencyKey.objects.filter(pk=claim.pk, claimed_at=claim.claimed_at, status_code=None)


def _replay(stored: IdempotencyKey) -> Response:
    answer: dict[str, Any] = stored.answer or {}
    headers = {**answer.get("headers", {}), "Idempotency-Replayed": "true"}
    return Response(answer.get("data"), status=stored.status_code, headers=headers)


def _in_flight() -> StateMoved:
    return StateMoved(
        f"A request with this {_HEADER} is still running.",
        now="This request changed nothing; the first one may.",
        todo="Wait a moment and send it again.",
        code="idempotency_in_flight",
    )


def _compute_digest(request: Request) -> str:
    """Over the body and the token: another token of the same person must not read this one's answer."""
    token = request.auth.pk if isinstance(request.auth, ApiToken) else None
    text = json.dumps([token, request.data], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
