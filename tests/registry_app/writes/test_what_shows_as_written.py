"""What a provider may make of what it was sent, and what it may not (I6)."""

from typing import Any

import msgspec
import pytest

from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.writes.read_back import is_as_written
from tests.reference_server import make_claim

_SENT = make_claim(ttl=300)
_TEXT = _SENT.targets[0]
_WEIGHT = ProviderSpecificProperty("aws/weight", "7")


def _shown(**values: Any) -> Endpoint:
    return msgspec.structs.replace(_SENT, **values)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"targets": (_TEXT.strip('"'),)},
        {"provider_specific": (_WEIGHT,)},
        {"labels": {"owner": "somebody"}},
    ],
)
def test_this_is_as_it_was_sent(values: dict[str, Any]) -> None:
    assert is_as_written(_shown(**values), _SENT)


@pytest.mark.parametrize(
    "values",
    [
        {"targets": ()},
        {"targets": (_TEXT, _TEXT)},
        {"targets": (_TEXT, '"v=spf1 -all"')},
        {"targets": (_TEXT.upper(),)},
        {"targets": (_TEXT.replace("blue", "green"),)},
        {"record_ttl": 60},
    ],
)
def test_this_is_not(values: dict[str, Any]) -> None:
    assert not is_as_written(_shown(**values), _SENT)


def test_a_provider_chooses_the_ttl_where_none_was_sent() -> None:
    assert is_as_written(_shown(record_ttl=60), msgspec.structs.replace(_SENT, record_ttl=0))


@pytest.mark.parametrize("shown", [(), (ProviderSpecificProperty("aws/weight", "8"),)])
def test_what_was_sent_along_must_show(shown: tuple[ProviderSpecificProperty, ...]) -> None:
    sent = msgspec.structs.replace(_SENT, provider_specific=(_WEIGHT,))

    assert not is_as_written(_shown(provider_specific=shown), sent)


def test_nothing_is_only_nothing() -> None:
    assert is_as_written(None, None)
    assert not is_as_written(None, _SENT)
    assert not is_as_written(_SENT, None)
