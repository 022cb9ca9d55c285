"""Any rows of a ConfigMap registry, for property tests."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from providers.registries.configmap.layout import FIRST_PLACE
from providers.registries.configmap.registry import MapData, Registry, Shard
from providers.registries.configmap.rows import Row, build_row, group_rows
from providers.registries.kubernetes_object import KubernetesObject
from providers.wire.endpoint import Endpoint

BLUE, GREEN = "blue-cluster", "green-cluster"
_LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
TEXTS = st.text(_LETTERS, max_size=20)
WRITABLE = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P"], exclude_characters=',"='), min_size=1
)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}(\.[a-z][a-z0-9]{0,5}){1,2}", fullmatch=True)
RECORDS = st.builds(
    Endpoint,
    dns_name=NAMES,
    targets=st.lists(TEXTS.filter(bool), max_size=4).map(tuple),
    record_type=st.sampled_from(["A", "AAAA", "CNAME", "TXT", "MX"]),
    set_identifier=TEXTS,
)
OWNER_IDS = st.sampled_from(["", BLUE, GREEN])
ROWS = st.builds(build_row, RECORDS, OWNER_IDS, st.dictionaries(TEXTS, TEXTS, max_size=3))


def make_registry(rows: Sequence[Row], intents: Sequence[Row] = (), owner: str = BLUE) -> Registry:
    """A registry of one map."""
    return Registry(owner, (Shard(f"{owner}-storage", FIRST_PLACE, group_rows(rows, intents)),))


def make_data(name: str, texts: Mapping[str, str], max_items: int = 100_000) -> MapData:
    """A ConfigMap."""
    obj: KubernetesObject = {"metadata": {"name": name}, "data": {**texts}}
    return MapData(obj, max_items)


def make_rows(count: int, owner: str = BLUE, resource: str = "ingress/shop/www") -> list[Row]:
    """Rows of different record sets."""
    return [
        build_row(
            Endpoint(dns_name=f"n{number:05d}.example.org", targets=("192.0.2.1",), record_type="A"),
            owner,
            {"resource": resource},
        )
        for number in range(count)
    ]
