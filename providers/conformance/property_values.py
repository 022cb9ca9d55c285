"""The question that only the plugin protocol has: do two values of a property mean the same?"""

from collections.abc import Iterator

import msgspec

from providers.conformance.observation import Observation, Verdict
from providers.conformance.subject import Said, Subject

_PART = "propertyvaluesequal"
_NAME, _VALUE = "dnsadmin/check", "1"


class _Answer(msgspec.Struct):
    equals: bool


def check_property_values(subject: Subject) -> Iterator[Observation]:
    """One value and itself: 200, an object with `equals`, and true."""
    question = {"name": _NAME, "previous": _VALUE, "current": _VALUE}
    said = subject.call("POST", _PART, body=msgspec.json.encode(question), headers=subject.content_headers())
    title = "POST /propertyvaluesequal responds with 200 with `equals`"
    equals = _read(said)
    if equals is None:
        told = f"It responded with {said.status}, and the body cannot be read."
        hint = "Clients then treat values as equal only if they are the same text."
        yield Observation(_PART, title, Verdict.FAILED, told, hint)
        return
    yield Observation(_PART, title, Verdict.PASSED, f"In {said.seconds:.2f} s.")
    verdict = Verdict.PASSED if equals else Verdict.FAILED
    yield Observation(_PART, "A value equals itself", verdict)


def _read(said: Said) -> bool | None:
    if said.status != 200:
        return None
    try:
        return msgspec.json.decode(said.body, type=_Answer).equals
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
