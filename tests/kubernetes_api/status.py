"""What the API answers in place of success: `Status` objects, and the errors that become one."""

import msgspec

from providers.registries.kubernetes_object import KubernetesObject
from providers.servers.wsgi_application import Answer
from providers.stores.kubernetes.objects import encode_object

JSON_HEADERS = (("Content-Type", "application/json"),)


class ApiError(Exception):
    """A request the API does not follow."""

    def __init__(self, code: int, reason: str, message: str, kind: str = "", name: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.kind = kind
        self.name = name

    def status(self) -> KubernetesObject:
        """The Status object of this error."""
        told: KubernetesObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if self.kind:
            told["details"] = {"name": self.name, "kind": self.kind}
        return told

    def answer(self) -> Answer:
        """The answer that carries it."""
        return object_answer(self.status(), self.code)


def object_answer(obj: KubernetesObject, code: int = 200) -> Answer:
    """An answer with one object for its body."""
    return Answer(code, JSON_HEADERS, encode_object(obj))


def not_found(plural: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{plural} "{name}" not found', plural, name)


def invalid(kind: str, plural: str, name: str, problem: str) -> ApiError:
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {problem}', plural, name)


def bad_request(problem: str) -> ApiError:
    return ApiError(400, "BadRequest", problem)


def conflict(plural: str, name: str) -> ApiError:
    message = (
        f'Operation cannot be fulfilled on {plural} "{name}": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )
    return ApiError(409, "Conflict", message, plural, name)


def page_not_found() -> Answer:
    """What the API says of a path it does not know, an unknown resource among them: no Status at all."""
    return Answer(404, (("Content-Type", "text/plain; charset=utf-8"),), b"404 page not found\n")


class Event(msgspec.Struct, frozen=True):
    """One line of a watch."""

    version: int
    type: str  # ADDED, MODIFIED, DELETED
    plural: str
    namespace: str
    obj: KubernetesObject
