"""A ConfigMap is named after its owner, and nothing else is taken for an owner's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.layout import MapName, format_map_name, parse_map_name
from providers.registries.errors import RegistryError


@pytest.mark.parametrize("owner", ["blue-cluster", "a", "1", "blue.example.org", "blue-", "x" * 241])
def test_an_owner_s_first_map_and_its_shards_are_named_after_it(owner: str) -> None:
    names = [format_map_name(owner), f"{format_map_name(owner)}-12"]

    assert names[0] == f"{owner}-storage"
    assert [parse_map_name(name) for name in names] == [MapName(owner, 0), MapName(owner, 12)]


@pytest.mark.parametrize(
    "owner",
    ["", "Blue", "blue_cluster", "-blue", "blue.", "blue/../x", "blue cluster", "blü", "x" * 242, "a\n"],
)
def test_an_owner_no_map_can_be_named_after_is_refused_by_name(owner: str) -> None:
    with pytest.raises(RegistryError, match="owner id") as refusal:
        format_map_name(owner)

    assert owner.strip()[:5] in str(refusal.value)


@pytest.mark.parametrize(
    "name", ["storage", "-storage", "blue-storage-0", "blue-storage-01", "blue-store", ""]
)
def test_other_names_are_nobody_s(name: str) -> None:
    assert parse_map_name(name) is None


@settings(deadline=None)
@given(owner=st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}", fullmatch=True), shard=st.integers(0, 255))
def test_no_two_owners_share_a_map(owner: str, shard: int) -> None:
    try:
        first = format_map_name(owner)
    except RegistryError:
        return

    assert parse_map_name(f"{first}-{shard}" if shard else first) == MapName(owner, shard)
