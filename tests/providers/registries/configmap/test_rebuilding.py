"""Whatever stands in a registry: a rebuild makes it hold what its provider shows, and no claim is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.registry import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    Registry,
    UnreadableRegistry,
    find_registry,
    read_registries,
)
from providers.registries.configmap.resync import DifferenceKind, build_rebuild, compare_with_provider
from providers.registries.configmap.rows import Entry, Row, group_rows
from providers.registries.configmap.writing import MAX_SHARD_BYTES, WritePlan
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.depth import examples
from tests.providers.registries.configmap.values import BLUE, ROWS, make_data

FIRST = f"{BLUE}-storage"
UNIQUE_ROWS = st.lists(ROWS, max_size=8, unique_by=lambda row: row.key)


def write(registry: Registry, edits: dict[EndpointKey, Entry]) -> Registry:
    """The registry after these edits, written and read again."""
    plan = WritePlan({BLUE: registry} if registry.entries else {}, {}, MAX_SHARD_BYTES)
    plan.add(BLUE, edits)
    if not plan.commits:
        return registry
    ((written,),) = (commit.writes for commit in plan.commits)
    return read_registries({FIRST: make_data(*written)}, max_items=1_000)[BLUE]


def make_registry(rows: list[Row], intents: list[Row]) -> Registry:
    return write(find_registry({}, BLUE), group_rows(rows, intents))


def rebuild(registry: Registry, shown: list[Endpoint]) -> Registry:
    return write(registry, build_rebuild({BLUE: registry}, BLUE, shown, {}))


@settings(deadline=None)
@given(
    rows=UNIQUE_ROWS,
    intents=UNIQUE_ROWS,
    shown_rows=UNIQUE_ROWS,
    kept=st.integers(0, 8),
)
def test_after_it_nothing_differs_but_what_was_to_stay(
    rows: list[Row], intents: list[Row], shown_rows: list[Row], kept: int
) -> None:
    registry = make_registry(rows, intents)
    shown = {
        row.key: Endpoint(row.key.name, row.targets, row.key.record_type, row.key.set_identifier)
        for row in [*rows[:kept], *shown_rows]
    }

    after = rebuild(registry, list(shown.values()))

    doubtful = {claim.key for claim in registry.claims if claim.problem}
    own = {key for key, entry in registry.entries.items() if entry.rows and entry.rows[0].owner_id == BLUE}
    for difference in compare_with_provider(after, shown.values(), {}).differences:
        if difference.key not in doubtful:
            assert difference.kind is DifferenceKind.ROW_WITHOUT_RECORD
            assert difference.key in own
    claims = {claim.key: claim.text for claim in after.claims}
    for claim in registry.claims:
        assert claims[claim.key] == claim.text


@settings(deadline=None)
@given(rows=UNIQUE_ROWS, intents=UNIQUE_ROWS, shown_rows=UNIQUE_ROWS)
def test_a_second_one_changes_nothing(rows: list[Row], intents: list[Row], shown_rows: list[Row]) -> None:
    shown = [
        Endpoint(row.key.name, row.targets, row.key.record_type, row.key.set_identifier) for row in shown_rows
    ]

    after = rebuild(make_registry(rows, intents), shown)

    assert rebuild(after, shown) is after


TEXTS = st.text() | st.sampled_from(
    ["[]", "null", "{}", "[{}]", '[{"dnsname":"a.b","type":"A","owner":"blue-cluster"}]']
)


@settings(deadline=None, max_examples=examples(300))
@given(
    maps=st.dictionaries(
        st.sampled_from([f"{FIRST}-1", f"{FIRST}-2", "green-cluster-storage"]),
        st.dictionaries(st.sampled_from([RECORDS, INTENTS, INDEX, SHARD, "theirs"]), TEXTS),
    ),
    first=st.dictionaries(st.sampled_from([RECORDS, INTENTS, INDEX, SHARD]), TEXTS),
)
def test_whatever_stands_in_maps_is_read_or_refused(
    maps: dict[str, dict[str, str]], first: dict[str, str]
) -> None:
    held = {name: make_data(name, texts) for name, texts in {**maps, FIRST: first}.items()}
    try:
        registries = read_registries(held, max_items=10)
    except UnreadableRegistry:
        return  # what it says is shown in test_shards

    for owner_id, registry in registries.items():
        assert all(claim.problem or owner_id in claim.text for claim in registry.claims)
    assert (BLUE in registries) == (RECORDS in first)
