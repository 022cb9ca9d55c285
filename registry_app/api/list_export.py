"""Exports without a request, for the command: the same rows, filters and refusals as over HTTP."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, QueryDict
from rest_framework.request import Request

from registry_app.actor import Actor
from registry_app.api.export import begin_export, begin_zone_file
from registry_app.api.request import raise_if_unknown
from registry_app.api.schema import known_parameters
from registry_app.api.urls import LISTS
from registry_app.models import Provider


def list_exports() -> list[str]:
    """The names of the lists that can be exported."""
    return sorted(LISTS)


def export_list(actor: Actor, name: str, parameters: QueryDict) -> Iterator[bytes]:
    """The pieces of the file that `GET /api/v1/NAME/export/` with these parameters would give the actor.
    Raises InvalidParameter, NotAllowed."""
    noun: Any = LISTS[name]
    raise_if_unknown(parameters, known_parameters(noun, "export", "GET"))
    asked = HttpRequest()
    asked.method, asked.GET = "GET", parameters  # type: ignore[assignment]  # typed as immutable
    view = noun()
    view.given_actor, view.action, view.kwargs = actor, "export", {}
    view.request, view.format_kwarg = Request(asked), None
    return begin_export(view, name, {key: str(value) for key, value in parameters.items()})


def export_zone(actor: Actor, provider: Provider) -> Iterator[bytes]:
    """The pieces of the zone file of a provider. Raises NotAllowed."""
    return begin_zone_file(actor, provider)
