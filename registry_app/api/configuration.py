"""What the nouns of configuration share: list, read, register, change and delete under If-Match."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.actor import Actor
from registry_app.api.idempotency import idempotent
from registry_app.api.pagination import BY_NAME
from registry_app.api.parameters import ETAG, IDEMPOTENCY_KEY, IF_MATCH, LOCATION
from registry_app.api.precondition import build_etag, read_expected_version, version_moved
from registry_app.api.view_set import NounViewSet, find_row, read_body
from registry_app.errors import StateMoved


class Change(Protocol):
    """A `change_...` function of the inventory."""

    def __call__(
        self,
        actor: Actor,
        row_id: int,
        changes: dict[str, Any],
        /,
        *,
        expected_updated_at: datetime | None = None,
    ) -> Any: ...


class Delete(Protocol):
    """A `delete_...` function of the inventory."""

    def __call__(
        self, actor: Actor, row_id: int, /, *, expected_updated_at: datetime | None = None
    ) -> None: ...


@dataclass(frozen=True)
class Mutations:
    """The functions of the inventory that write rows of one noun."""

    register: Callable[[Actor, dict[str, Any]], Any]
    change: Change
    delete: Delete


class ConfigurationViewSet(NounViewSet):
    """Rows people register and change, each with a version."""

    keyset = BY_NAME
    scopes: ClassVar = {
        "create": "admin",
        "partial_update": "admin",
        "destroy": "admin",
        "connection_tests": "admin",
    }
    contacting = frozenset({"connection_tests"})
    body_class: ClassVar[type[serializers.BaseSerializer[Any]]]
    mutations: ClassVar[Mutations]

    def answer_row(self, row: Any, status: int = 200) -> Response:
        """One row with its ETag, and where it is if it is new."""
        headers = {"ETag": build_etag(row)}
        if status == 201:
            headers["Location"] = self.reverse_action("detail", [row.pk])
        return Response(self.show(row), status=status, headers=headers)

    def answer_saved(self, row_id: int, said: Mapping[str, Any], status: int = 200) -> Response:
        """One row after it was registered or changed by what was said."""
        return self.answer_row(find_row(self.get_queryset(), pk=row_id), status)

    def retrieve(self, request: Request, **_place: Any) -> Response:
        return self.answer_row(self.get_object())

    @extend_schema(parameters=[IDEMPOTENCY_KEY, LOCATION])
    @idempotent()
    def create(self, request: Request) -> Response:
        said = read_body(self.body_class, request)
        return self.answer_saved(self.mutations.register(self.actor, said).pk, said, status=201)

    @extend_schema(parameters=[IF_MATCH, ETAG])
    def partial_update(self, request: Request, **_place: Any) -> Response:
        row = self.get_object()
        expected = read_expected_version(request, row)
        changes = read_body(self.body_class, request, instance=row, partial=True)
        try:
            self.mutations.change(self.actor, row.pk, changes, expected_updated_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        return self.answer_saved(row.pk, changes)

    @extend_schema(parameters=[IF_MATCH], request=None, responses={204: None})
    def destroy(self, request: Request, **_place: Any) -> Response:
        row = self.get_object()
        expected = read_expected_version(request, row)
        try:
            self.mutations.delete(self.actor, row.pk, expected_updated_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        return Response(status=204)
