"""What is asked of a Kubernetes API: of which objects, in the words of a Role, and at which path."""

from dataclasses import dataclass

from providers.http.errors import ProviderError
from providers.registries.kubernetes_object import is_object_name


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
    """What was asked: a verb as a Role names it, and of what. Without a `name`: of all objects."""

    verb: str
    resource: Resource
    namespace: str
    name: str | None = None
    subresource: str = ""

    @property
    def plural(self) -> str:
        """The resource as a Role names it."""
        return f"{self.resource.plural}{self.subresource}"

    @property
    def path(self) -> str:
        """Where it is asked, below the address of the API. Raises InvalidObjectName for what cannot be a
        name: it would become part of the path."""
        if not self.resource.is_namespaced:
            return "/".join(filter(None, (self.resource.api, self.name and self.plural, self.name)))
        for text in (self.namespace, self.name):
            if text is not None and not is_object_name(text):
                raise InvalidObjectName(
                    f"{text[:253]!r} is not the name of an object or a namespace; nothing was sent.",
                    hint="At most 253 lower-case letters, digits, - and ., each part beginning and ending "
                    "with a letter or digit.",
                )
        place = f"{self.resource.api}/namespaces/{self.namespace}/{self.resource.plural}"
        return place if self.verb in ("list", "create") else f"{place}/{self.name}{self.subresource}"

    def __str__(self) -> str:
        what = f"{self.verb} {self.plural} {self.name or ''}".rstrip()
        return f"{what} in namespace {self.namespace}" if self.namespace else what
