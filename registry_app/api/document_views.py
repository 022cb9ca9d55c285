"""The OpenAPI document and its viewer, as strict about the query string as the operations they describe."""

from typing import ClassVar

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from registry_app.api.query_string import raise_if_unknown
from registry_app.api.view_set import AcceptAlone


class KnownParameters(APIView):
    """Mixed into a view before its class: refuses every parameter it does not know."""

    known: ClassVar[frozenset[str]]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        raise_if_unknown(request.query_params, self.known)

    def handle_exception(self, exc: Exception) -> Response:
        """A problem is JSON, whatever the view shows otherwise."""
        response = super().handle_exception(exc)
        renderer = JSONRenderer()
        self.request.accepted_renderer, self.request.accepted_media_type = renderer, renderer.media_type
        return response


class DocumentView(KnownParameters, SpectacularAPIView):
    """The document as YAML, or as `format` or Accept say."""

    known = frozenset({"format"})


class ViewerView(KnownParameters, SpectacularSwaggerSplitView):
    """The viewer, and its script."""

    content_negotiation_class = AcceptAlone
    known = frozenset({"script"})
