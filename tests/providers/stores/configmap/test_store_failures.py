"""What goes wrong between the store and its Kubernetes API, and what is true then."""

from collections.abc import Callable

import pytest

from providers.http.errors import NothingSent, OutcomeUnknown, ProviderError
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import ConfigMapStore
from providers.stores.kubernetes.refusals import Conflict
from tests.faults.fault import Fault
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.providers.stores.configmap.maps import (
    BLUE,
    GREEN,
    adopt,
    make_owned,
    make_store,
    make_text,
    move,
    owners_of,
    writes_to,
)
from tests.reference_server import make_record

BLUE_MAP, GREEN_MAP = f"{BLUE}-storage", f"{GREEN}-storage"
UPDATE, CREATE = "update /configmaps", "create /configmaps"


def put_blue(api: KubernetesApi, *names: str) -> Callable[[], None]:
    return lambda: (api.put_object("configmaps", make_owned(BLUE, *names)), None)[1]


def test_a_write_that_met_another_one_is_compared_anew_and_made() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(UPDATE, faults.meanwhile(put_blue(api, "www.example.org", "theirs.example.org")))

        make_store(api).write([adopt("ours.example.org", BLUE)])

        assert set(owners_of(make_store(api))) == {
            "www.example.org",
            "theirs.example.org",
            "ours.example.org",
        }


def test_a_write_whose_row_another_writer_took_is_not_made() -> None:
    change = StoredClaimChange(make_record("www.example.org"), make_text(BLUE), make_text(BLUE, "a/b"))
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(UPDATE, faults.meanwhile(put_blue(api, "other.example.org")))

        with pytest.raises(NothingSent, match=r"www\.example\.org A cannot be changed: it is not as it was"):
            make_store(api).write([adopt("ours.example.org", BLUE), change])

        assert set(owners_of(make_store(api))) == {"other.example.org"}


def test_a_writer_that_never_rests_is_told_as_a_conflict() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(UPDATE, faults.meanwhile(put_blue(api, "www.example.org")), times=None)

        with pytest.raises(Conflict, match="another writer was first"):
            make_store(api).write([adopt("ours.example.org", BLUE)])

        assert len(writes_to(api)) == 3
        assert set(owners_of(make_store(api))) == {"www.example.org"}


def test_a_map_that_another_writer_makes_first_is_added_to() -> None:
    with KubernetesApi() as api:
        api.faults.plan(CREATE, faults.meanwhile(put_blue(api, "theirs.example.org")))

        make_store(api).write([adopt("ours.example.org", BLUE)])

        assert set(owners_of(make_store(api))) == {"theirs.example.org", "ours.example.org"}


def test_a_map_that_is_deleted_meanwhile_is_made_again_for_what_needs_no_old_row() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(UPDATE, faults.meanwhile(lambda: api.delete_object("configmaps", BLUE_MAP)))

        make_store(api).write([adopt("ours.example.org", BLUE)])

        assert set(owners_of(make_store(api))) == {"ours.example.org"}


def test_a_claim_whose_old_map_is_deleted_meanwhile_has_moved_all_the_same() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(CREATE, faults.meanwhile(lambda: api.delete_object("configmaps", BLUE_MAP)))

        make_store(api).write([move("www.example.org", BLUE, GREEN)])

        assert owners_of(make_store(api)) == {"www.example.org": {GREEN}}
        assert len(api.objects("configmaps")) == 1


@pytest.mark.parametrize(("verb", "words"), [("list", "list configmaps"), ("create", "create configmaps")])
def test_what_the_account_may_not_is_said_and_nothing_is_sent(verb: str, words: str) -> None:
    with KubernetesApi() as api:
        api.forbid(verb, "configmaps")

        with pytest.raises(NothingSent, match=words):
            make_store(api).write([adopt("www.example.org", BLUE)])

        assert api.objects("configmaps") == []


def test_a_refusal_half_way_tells_what_was_made() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.forbid("update", "configmaps")

        with pytest.raises(OutcomeUnknown, match=f"made in part. Written: {GREEN_MAP}. Then: ") as failure:
            make_store(api).write([move("www.example.org", BLUE, GREEN)])

        assert "update" in str(failure.value)
        assert owners_of(make_store(api)) == {"www.example.org": {BLUE, GREEN}}


def test_a_write_cut_short_is_completed_by_asking_again() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(UPDATE, faults.error(500))
        store = make_store(api)

        with pytest.raises(OutcomeUnknown):
            store.write([move("www.example.org", BLUE, GREEN)])
        store.write([move("www.example.org", BLUE, GREEN)])

        assert owners_of(store) == {"www.example.org": {GREEN}}


@pytest.mark.parametrize(
    "fault", [faults.applied_then_error(), faults.applied_then_reset(), faults.applied_then_cut()]
)
def test_an_answer_that_tells_nothing_leaves_the_outcome_open(fault: Fault) -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        api.faults.plan(UPDATE, fault)

        with pytest.raises(OutcomeUnknown):
            make_store(api).write([adopt("ours.example.org", BLUE)])

        assert set(owners_of(make_store(api))) == {"www.example.org", "ours.example.org"}


def test_no_claim_is_lost_because_the_api_does_not_answer() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, "www.example.org"))
        store = make_store(api)
        api.stop()

        with pytest.raises(ProviderError):
            store.fetch_claims()
        with pytest.raises(NothingSent):
            store.write([adopt("ours.example.org", BLUE)])


def test_a_namespace_that_is_not_there_is_no_empty_one() -> None:
    with KubernetesApi(namespaces=("default",)) as api, pytest.raises(ProviderError, match="namespace"):
        ConfigMapStore(api.client(), NAMESPACE, max_items=10).fetch_claims()


def test_more_rows_than_allowed_fail_the_reading() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", make_owned(BLUE, *(f"n{number}.example.org" for number in range(11))))

        with pytest.raises(ProviderError, match=f"{BLUE_MAP}.*more than 10"):
            ConfigMapStore(api.client(), NAMESPACE, max_items=10).fetch_claims()
