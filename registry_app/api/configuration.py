"""What the nouns of configuration share: list, read, register, change under If-Match."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Protocol

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.actor import Actor
from registry_app.api.pagination import BY_NAME
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


class ConfigurationViewSet(NounViewSet):
    """Rows people register and change, each with a version."""

    keyset = BY_NAME
    scopes: ClassVar = {"create": "admin", "partial_update": "admin", "destroy": "admin"}
    answer_shape: ClassVar[type[serializers.BaseSerializer[Any]]]
    body_shape: ClassVar[type[serializers.BaseSerializer[Any]]]
    address: ClassVar[str]

    def answer_row(self, row_id: int, status: int = 200) -> Response:
        """One row with its ETag, and where it is if it is new."""
        row = find_row(self.get_queryset(), pk=row_id)
        headers = {"ETag": build_etag(row)}
        if status == 201:
            headers["Location"] = self.request.build_absolute_uri(f"/api/v1/{self.address}/{row_id}/")
        return Response(self.answer_shape(row).data, status=status, headers=headers)

    def answer_saved(self, row_id: int, said: Mapping[str, Any], status: int = 200) -> Response:
        """One row after it was registered or changed by what was said."""
        return self.answer_row(row_id, status)

    def register_row(self, request: Request, register: Callable[[Actor, dict[str, Any]], Any]) -> Response:
        """Register what the body says."""
        said = read_body(self.body_shape, request)
        row = register(self.actor, said)
        return self.answer_saved(row.pk, said, status=201)

    def change_row(self, request: Request, row_id: int, change: Change) -> Response:
        """Change what the body names, if the row still is what If-Match says."""
        row = find_row(self.get_queryset(), pk=row_id)
        expected = read_expected_version(request, row)
        changes = read_body(self.body_shape, request, instance=row, partial=True)
        try:
            change(self.actor, row_id, changes, expected_updated_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        return self.answer_saved(row_id, changes)

    def delete_row(self, request: Request, row_id: int, delete: Delete) -> Response:
        """Delete the row, if it still is what If-Match says."""
        row = find_row(self.get_queryset(), pk=row_id)
        expected = read_expected_version(request, row)
        try:
            delete(self.actor, row_id, expected_updated_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        return Response(status=204)
