"""What is asked of a Kubernetes API: of which objects, in the words of a Role, and at which path."""

import re
from dataclasses import dataclass
from typing import Final

from providers.http.errors import ProviderError

_IS_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?").fullmatch
_MAX_LABEL_LENGTH, _MAX_NAME_LENGTH = 63, 253


class InvalidObjectName(ProviderError):
    """The text cannot name an object or a namespace of a Kubernetes API; nothing was sent."""

    code = "invalid_object_name"


@dataclass(frozen=True)
class Resource:
    """One kind of objects: the root of its API, its plural in paths, and its `kind` in the objects.

    `page_size`: how many are asked for at once, so that a page of large ones stays below a body's limit.
    """

    api: str
    plural: str
    kind: str
    page_size: int = 500
    is_namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What its objects say in `apiVersion`."""
        return self.api.partition("/")[2]

    @property
    def api_group(self) -> str:
        """What a Role says in `apiGroups`; empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


@dataclass(frozen=True)
class Question:
    """What was asked: a verb as a Role names it, and of what. `name` is empty for all objects."""

    verb: str
    resource: Resource
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def plural(self) -> str:
        """The resource as a Role names it."""
        return f"{self.resource.plural}{self.subresource}"

    @property
    def path(self) -> str:
        """Where it is asked, below the address of the API."""
        if not self.resource.is_namespaced:
            return (
                f"{self.resource.api}/{self.resource.plural}/{self.name}" if self.name else self.resource.api
            )
        place = f"{self.resource.api}/namespaces/{self.namespace}/{self.resource.plural}"
        return place if self.verb in ("list", "create") else f"{place}/{self.name}{self.subresource}"

    def raise_if_unnamed(self) -> None:
        """Raise InvalidObjectName for what cannot be a name: it would become part of a path."""
        namespace, name = self.namespace, self.name
        if self.resource.is_namespaced and not (len(namespace) <= _MAX_LABEL_LENGTH and _IS_LABEL(namespace)):
            raise InvalidObjectName(
                f"{namespace[:_MAX_LABEL_LENGTH]!r} is not the name of a namespace; nothing was sent.",
                hint="At most 63 lower-case letters, digits and -, the first and the last no -.",
            )
        is_name = len(name) <= _MAX_NAME_LENGTH and all(map(_IS_LABEL, name.split(".")))
        if self.resource.is_namespaced and self.verb != "list" and not is_name:
            raise InvalidObjectName(
                f"{name[:_MAX_LABEL_LENGTH]!r} is not the name of an object; nothing was sent.",
                hint="At most 253 lower-case letters, digits, - and ., each part beginning and ending with a "
                "letter or digit.",
            )

    def __str__(self) -> str:
        what = f"{self.plural} {self.name}".rstrip()
        return (
            f"{self.verb} {what} in namespace {self.namespace}" if self.namespace else f"{self.verb} {what}"
        )
