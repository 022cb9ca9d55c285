"""JSON of a Kubernetes API: what is taken is written back the same, the rest is our own error."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.kubernetes_object import JsonValue, KubernetesObject
from providers.stores.kubernetes.objects import MAX_DEPTH, decode_object, encode_object
from providers.wire.strict_json import NotStrictJson
from tests.depth import examples

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
_OBJECTS = st.dictionaries(st.text(), _VALUES, max_size=5)
LIST = json.dumps(
    {
        "kind": "ConfigMapList",
        "metadata": {"resourceVersion": "7", "continue": "x"},
        "items": [{"metadata": {"name": "a"}, "data": {"records": '[{"dnsname":"ä.example.org"}]'}}],
    },
    ensure_ascii=False,
).encode()


@given(_OBJECTS)
@settings(deadline=None)
def test_what_is_read_is_written_back_as_it_was(obj: dict[str, JsonValue]) -> None:
    assert decode_object(encode_object(obj)) == obj
    assert decode_object(json.dumps(obj).encode()) == obj


@given(st.binary(max_size=200) | st.text('{}[]",:\\0123456789.eE+-ntfu ', max_size=200).map(str.encode))
@settings(deadline=None, max_examples=examples(1000))
def test_no_bytes_raise_anything_but_our_own_error(body: bytes) -> None:
    with contextlib.suppress(NotStrictJson):
        assert isinstance(encode_object(decode_object(body)), bytes)


def test_a_body_cut_anywhere_is_not_read() -> None:
    assert [at for at in range(len(LIST)) if _is_read(LIST[:at])] == []


def _is_read(body: bytes) -> bool:
    try:
        decode_object(body)
    except NotStrictJson:
        return False
    return True


def test_depth_is_bounded_well_above_what_honest_objects_have() -> None:
    honest: KubernetesObject = {"leaf": True}
    for _ in range(MAX_DEPTH - 1):
        honest = {"inner": honest}

    assert decode_object(encode_object(honest)) == honest
    with pytest.raises(NotStrictJson, match="nested deeper"):
        decode_object(encode_object({"inner": honest}))
