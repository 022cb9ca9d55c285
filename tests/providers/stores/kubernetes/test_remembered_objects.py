"""Objects that are read again and again: what stands unchanged is not fetched twice, and what anybody writes
is seen all the same, as of one moment."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.http.errors import MalformedAnswer, NothingSent, ProviderError, RefusedByProvider
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_texts
from providers.stores.kubernetes.client import CONFIG_MAPS
from providers.stores.kubernetes.remembered import RememberedObjects
from tests.depth import examples
from tests.faults.fault import Fault
from tests.faults.read_faults import body
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi

LIST = "list /configmaps"
NAMES = [f"map-{number:02}" for number in range(20)]
ACTS = st.tuples(st.sampled_from(NAMES), st.sampled_from(["put", "delete", "replace"]), st.booleans())


def config_map(name: str, text: str = "") -> KubernetesObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


def act(api: KubernetesApi, name: str, what: str, text: str) -> None:
    """Another writer's touch; `replace` is a map of the same name that is another one."""
    is_there = any(read_metadata(obj, "name") == name for obj in api.objects("configmaps"))
    if what != "put" and is_there:
        api.delete_object("configmaps", name)
    if what != "delete":
        api.put_object("configmaps", config_map(name, text))


def asked(api: KubernetesApi) -> list[str]:
    """What was asked for, in order: `all`, `versions` (of all) or the name of one map."""
    found = []
    for each in api.history.settled():
        _, _, name = each.query.partition("fieldSelector=metadata.name%3D")
        is_partial = "PartialObjectMetadataList" in each.headers["accept"]
        found.append(name or ("versions" if is_partial else "all"))
    return found


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as api:
        for name in NAMES:
            api.put_object("configmaps", config_map(name))
        yield api


def test_only_what_changed_is_fetched_again(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    first = remembered.fetch(api.client())
    api.history.clear()

    again = remembered.fetch(api.client())
    act(api, "map-03", "put", "new")
    third = remembered.fetch(api.client())

    assert asked(api) == ["versions", "versions", "map-03"]
    assert all(old is new for old, new in zip(first, again, strict=True))
    assert third == api.objects("configmaps")
    assert [old is new for old, new in zip(first, third, strict=True)].count(False) == 1


def test_an_account_that_may_only_list_is_enough(api: KubernetesApi) -> None:
    api.forbid("get", "configmaps")
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    act(api, "map-03", "put", "new")

    found = remembered.fetch(api.client())

    assert found == api.objects("configmaps")


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(ACTS, max_size=30))
def test_it_always_is_what_a_reading_from_the_start_would_be(acts: list[tuple[str, str, bool]]) -> None:
    with KubernetesApi() as api:
        act(api, NAMES[0], "put", "")
        client, remembered = api.calm_client(), RememberedObjects(CONFIG_MAPS, NAMESPACE)

        for number, (name, what, is_read) in enumerate(acts):
            act(api, name, what, str(number))
            if is_read:
                assert remembered.fetch(client) == client.list_objects(CONFIG_MAPS, NAMESPACE)

        assert remembered.fetch(client) == api.objects("configmaps")


def test_a_map_that_was_made_anew_under_its_old_name_is_another(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    before = remembered.fetch(api.client())[0]
    act(api, NAMES[0], "replace", "")

    after = remembered.fetch(api.client())[0]

    assert read_texts(before, "data") == read_texts(after, "data")
    assert read_metadata(before, "uid") != read_metadata(after, "uid")
    assert after == api.objects("configmaps")[0]


def test_another_cluster_behind_the_address_is_another_though_its_versions_are_the_same(
    api: KubernetesApi,
) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    before = remembered.fetch(api.client())
    with KubernetesApi() as other:
        for name in NAMES[:3]:
            other.put_object("configmaps", config_map(name, "another cluster's"))

        after = remembered.fetch(other.client())

        assert [read_metadata(obj, "resourceVersion") for obj in after] == [
            read_metadata(obj, "resourceVersion") for obj in before[:3]
        ]
        assert after == other.objects("configmaps")


def test_what_is_written_while_it_is_read_never_mixes_two_moments(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    act(api, "map-03", "put", "first")

    def write_both() -> None:
        act(api, "map-03", "put", "second")
        act(api, "map-07", "put", "second")

    api.history.clear()
    api.faults.plan(LIST, faults.meanwhile(write_both), after=1)

    found = {read_metadata(obj, "name"): obj for obj in remembered.fetch(api.client())}

    assert asked(api) == ["versions", "map-03", "versions", "map-07"]
    assert [read_texts(found[name], "data")["text"] for name in ("map-03", "map-07")] == ["second", "second"]


def test_who_never_stops_writing_makes_it_read_all_at_once(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    api.faults.plan(LIST, faults.meanwhile(lambda: act(api, "map-03", "put", "again")), times=6)
    api.history.clear()

    found = remembered.fetch(api.client())

    assert asked(api) == ["versions", "map-03"] * 3 + ["all"]
    assert found == api.objects("configmaps")


def test_many_that_changed_are_read_with_all_others(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    for name in NAMES[:13]:
        act(api, name, "put", "new")
    api.history.clear()

    found = remembered.fetch(api.client())

    assert asked(api) == ["versions", "all"]
    assert found == api.objects("configmaps")


def test_an_object_that_goes_between_its_version_and_itself_is_gone(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    act(api, "map-03", "put", "new")
    api.faults.plan(LIST, faults.meanwhile(lambda: act(api, "map-03", "delete", "")), after=1)

    found = remembered.fetch(api.client())

    assert [read_metadata(obj, "name") for obj in found] == [name for name in NAMES if name != "map-03"]


def test_an_api_that_knows_no_partial_objects_is_read_all_the_same(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    act(api, "map-03", "put", "new")
    whole = json.dumps({"kind": "ConfigMapList", "metadata": {}, "items": api.objects("configmaps")})
    api.faults.plan(LIST, body(whole.encode()))

    found = remembered.fetch(api.client())

    assert found == api.objects("configmaps")


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.error(503, "ServiceUnavailable"), ProviderError),
        (faults.error(403, "Forbidden"), RefusedByProvider),
        (body(b'{"kind":"SecretList","items":[]}'), MalformedAnswer),
        (body(b'{"kind":"PartialObjectMetadataList","items":[{"metadata":{}}]}'), MalformedAnswer),
        (body(b'{"kind":"PartialObjectMetadataList","items":[{}]}'), MalformedAnswer),
        (body(b'{"kind":"PartialObjectMetadataList"}'), MalformedAnswer),
    ],
)
def test_an_answer_that_cannot_be_used_fails_and_the_next_reading_is_whole(
    api: KubernetesApi, fault: Fault, error: type[ProviderError], turn: int
) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    act(api, "map-03", "put", "new")
    api.faults.plan(LIST, fault, after=turn)

    with pytest.raises(error) as caught:
        remembered.fetch(api.client())
    found = remembered.fetch(api.client())

    assert not isinstance(caught.value, NothingSent)
    assert found == api.objects("configmaps")


def test_a_namespace_that_was_deleted_is_not_taken_for_an_empty_one(api: KubernetesApi) -> None:
    remembered = RememberedObjects(CONFIG_MAPS, NAMESPACE)
    remembered.fetch(api.client())
    for name in NAMES:
        act(api, name, "delete", "")
    emptied = remembered.fetch(api.client())
    act(api, NAMES[0], "put", "")
    remembered.fetch(api.client())
    act(api, NAMES[0], "delete", "")
    api.faults.plan("get /namespaces", faults.error(404, "NotFound"))

    with pytest.raises(RefusedByProvider):
        remembered.fetch(api.client())

    assert emptied == []
