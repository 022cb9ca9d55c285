"""Claims in DNSRecord objects: label and endpoint change together, and nobody's work is overwritten."""

import pytest

from providers.http.bounded_http import Limits
from providers.http.errors import NothingSent, OutcomeUnknown, ProviderError, RefusedByProvider
from providers.registries.kubernetes_object import (
    JsonValue,
    KubernetesObject,
    read_metadata,
    read_object,
    read_texts,
)
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.crd_registry import CrdStore
from providers.stores.dns_record_object import OWNER_LABEL, build_unclaimed, write_dns_record
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.faults import framing_faults
from tests.faults.fault import Fault
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.reference_server import make_record

pytestmark = pytest.mark.deep

BLUE = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=service/shop/www"
GREEN = BLUE.replace("blue", "green")
WWW = make_record()
API = make_record("api.example.org", "CNAME", ("lb.example.net",))
KEY = EndpointKey("www.example.org", "A", "")
PROGRAMMED: JsonValue = {
    "conditions": [{"type": "Ready", "status": "True", "reason": "Programmed", "message": "kept"}]
}


def store_of(api: KubernetesApi, seconds: float = 10.0) -> CrdStore:
    return CrdStore(api.client(Limits(seconds=seconds)), NAMESPACE)


def put(
    api: KubernetesApi, record: Endpoint = WWW, text: str | None = BLUE, name: str = ""
) -> KubernetesObject:
    """An object as an instance left it."""
    obj: KubernetesObject = {**build_unclaimed(record), "status": PROGRAMMED}
    obj = obj if text is None else write_dns_record(obj, text)
    if name:
        obj["metadata"] = {**read_object(obj, "metadata"), "name": name}  # type: ignore[dict-item]  # JSON
    return api.put_object("dnsrecords", obj)


def touch(api: KubernetesApi, obj: KubernetesObject) -> None:
    """Another writer says how the record set is, as an instance does after each loop."""
    api.put_object("dnsrecords", {**obj, "status": {"conditions": [{"type": "Ready", "status": "False"}]}})


def claims_of(api: KubernetesApi) -> list[StoredClaim]:
    return sorted(store_of(api).fetch_claims(), key=lambda claim: (claim.key, claim.text))


def test_all_claims_of_a_namespace_are_read_page_after_page() -> None:
    records = [make_record(f"app-{number:04d}.example.org") for number in range(1200)]
    with KubernetesApi() as api:
        for record in records:
            put(api, record)
        put(api, make_record("nobody.example.org"), None)

        claims = claims_of(api)

        assert claims == [StoredClaim(endpoint_key(record), BLUE) for record in records]


def test_a_claim_changes_hands_in_one_write_and_all_else_stays() -> None:
    with KubernetesApi() as api:
        before = put(api)

        store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN)])

        (after,) = api.objects("dnsrecords")
        assert claims_of(api) == [StoredClaim(KEY, GREEN)]
        assert read_texts(after, "metadata", "labels") == {OWNER_LABEL: "green-cluster"}
        assert {**read_object(after, "spec", "endpoint"), "labels": None} == {
            **read_object(before, "spec", "endpoint"),
            "labels": None,
        }
        assert after["status"] == PROGRAMMED
        assert len(api.writes()) == 1


def test_an_object_is_found_by_what_it_holds_whatever_its_name() -> None:
    with KubernetesApi() as api:
        put(api, name="made-by-hand")

        store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN)])

        (after,) = api.objects("dnsrecords")
        assert read_metadata(after, "name") == "made-by-hand"
        assert claims_of(api) == [StoredClaim(KEY, GREEN)]


def test_a_first_claim_makes_an_object_that_its_instance_finds_programmed() -> None:
    record = make_record("www.example.org.", set_identifier="eu")
    with KubernetesApi() as api:
        store_of(api).write([StoredClaimChange(record, None, BLUE)])

        (made,) = api.objects("dnsrecords")
        assert claims_of(api) == [StoredClaim(endpoint_key(record), BLUE)]
        assert read_object(made, "spec", "endpoint")["dnsName"] == "www.example.org"
        assert read_metadata(made, "name").startswith("www-example-org-")
        assert "'reason': 'Programmed'" in str(made["status"])
        # Nobody's until the last write: an instance that finds its object not programmed creates anew.
        writes = [each for each in api.history.requests() if each.method != "GET"]
        assert [each.method for each in writes] == ["POST", "PUT", "PUT"]
        assert [b"blue-cluster" in each.body for each in writes] == [False, False, True]


def test_the_last_claim_takes_its_object_away() -> None:
    with KubernetesApi() as api:
        put(api)
        put(api, API)

        store_of(api).write([StoredClaimChange(WWW, BLUE, None)])

        assert claims_of(api) == [StoredClaim(endpoint_key(API), BLUE)]


def test_many_changes_are_made_one_after_the_other() -> None:
    with KubernetesApi() as api:
        put(api)
        changes = [StoredClaimChange(WWW, BLUE, GREEN), StoredClaimChange(API, None, GREEN)]

        store_of(api).write([*changes, StoredClaimChange(WWW, BLUE, BLUE)])

        assert [claim.text for claim in claims_of(api)] == [GREEN, GREEN]


@pytest.mark.parametrize(
    ("held", "old"),
    [
        ([], BLUE),
        ([GREEN], BLUE),
        ([GREEN], None),
        ([BLUE, BLUE], BLUE),
    ],
)
def test_nothing_is_sent_if_one_change_does_not_fit(held: list[str], old: str | None) -> None:
    with KubernetesApi() as api:
        put(api, API)
        for number, text in enumerate(held):
            put(api, text=text, name=f"www-{number}")
        before = api.objects("dnsrecords")

        with pytest.raises(NothingSent, match=r"www\.example\.org A"):
            store_of(api).write([StoredClaimChange(API, BLUE, GREEN), StoredClaimChange(WWW, old, GREEN)])

        assert api.objects("dnsrecords") == before
        assert api.writes() == []


def test_an_object_whose_owners_disagree_is_not_written() -> None:
    with KubernetesApi() as api:
        obj = put(api)
        labels: JsonValue = {OWNER_LABEL: "green-cluster"}
        metadata: JsonValue = {"name": read_metadata(obj, "name"), "labels": labels}
        api.put_object("dnsrecords", {**obj, "metadata": metadata})

        (claim,) = claims_of(api)
        with pytest.raises(NothingSent):
            store_of(api).write([StoredClaimChange(WWW, claim.text, GREEN)])

        assert "instances disagree" in claim.problem
        assert api.writes() == []


@pytest.mark.parametrize("owner", ["blue cluster", "x" * 64])
def test_an_owner_id_that_is_no_label_is_refused_before_anything_is_read(owner: str) -> None:
    text = f"heritage=external-dns,external-dns/owner={owner}"
    with KubernetesApi() as api:
        with pytest.raises(NothingSent, match="cannot be a label of a Kubernetes object"):
            store_of(api).write([StoredClaimChange(WWW, None, text)])

        assert not api.history.requests()


def test_another_writer_who_leaves_the_claim_alone_is_no_obstacle() -> None:
    with KubernetesApi() as api:
        obj = put(api)
        api.faults.plan("update /dnsrecords", faults.meanwhile(lambda: touch(api, obj)))

        store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN)])

        (after,) = api.objects("dnsrecords")
        assert claims_of(api) == [StoredClaim(KEY, GREEN)]
        assert after["status"] == {"conditions": [{"type": "Ready", "status": "False"}]}
        assert [each.rpartition(" ")[2] for each in api.writes()] == ["409", "200"]


def test_another_writer_who_never_rests_is_given_way_to() -> None:
    with KubernetesApi() as api:
        obj = put(api)
        texts = iter(["a", "b"])
        api.faults.plan(
            "update /dnsrecords",
            faults.meanwhile(lambda: api.put_object("dnsrecords", {**obj, "note": next(texts)})),
            times=2,
        )

        with pytest.raises(NothingSent, match="another writer changed the claim for www"):
            store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN)])

        assert claims_of(api) == [StoredClaim(KEY, BLUE)]


@pytest.mark.parametrize("verb", ["update", "delete"])
def test_a_claim_that_another_writer_took_is_left_to_it(verb: str) -> None:
    red = BLUE.replace("blue", "red")
    with KubernetesApi() as api:
        put(api)
        api.faults.plan(f"{verb} /dnsrecords", faults.meanwhile(lambda: put(api, text=red)))

        with pytest.raises(NothingSent, match="another writer changed the claim for www"):
            store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN if verb == "update" else None)])

        assert claims_of(api) == [StoredClaim(KEY, red)]


def test_an_object_that_another_writer_took_away_is_not_made_again() -> None:
    with KubernetesApi() as api:
        name = read_metadata(put(api), "name")
        api.faults.plan("update /dnsrecords", faults.meanwhile(lambda: api.delete_object("dnsrecords", name)))

        with pytest.raises(NothingSent, match="another writer"):
            store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN)])

        assert api.objects("dnsrecords") == []


def test_an_object_that_another_writer_made_first_is_left_to_it() -> None:
    with KubernetesApi() as api:
        api.faults.plan("create /dnsrecords", faults.meanwhile(lambda: put(api, text=GREEN)))

        with pytest.raises(NothingSent, match="another writer"):
            store_of(api).write([StoredClaimChange(WWW, None, BLUE)])

        assert claims_of(api) == [StoredClaim(KEY, GREEN)]


def test_a_failure_after_the_first_write_tells_how_many_were_made() -> None:
    with KubernetesApi() as api:
        put(api)
        put(api, API)
        api.faults.plan("update /dnsrecords", faults.error(403, "Forbidden", "no more"), after=1)
        changes = [StoredClaimChange(record, BLUE, GREEN) for record in (WWW, API)]

        with pytest.raises(
            OutcomeUnknown, match="1 of 2 changes were made; then the claim for api"
        ) as caught:
            store_of(api).write(changes)

        assert "responded with 403 when asked to update dnsrecords" in str(caught.value)
        assert isinstance(caught.value.reason, RefusedByProvider)
        assert [claim.text for claim in claims_of(api)] == [BLUE, GREEN]


@pytest.mark.parametrize(
    "fault",
    [
        faults.applied_then_error(),
        faults.applied_then_reset(),
        faults.applied_then_silence(),
        faults.applied_then_cut(),
        faults.error(500),
        framing_faults.reset(),
        framing_faults.silence(),
    ],
    ids=lambda fault: fault.name,
)
@pytest.mark.parametrize("route", ["create /dnsrecords", "update /dnsrecords/status", "update /dnsrecords"])
def test_a_first_claim_cut_off_anywhere_is_made_by_a_second_write(route: str, fault: Fault) -> None:
    with KubernetesApi() as api:
        api.faults.plan(route, fault)

        with pytest.raises(OutcomeUnknown):
            store_of(api, seconds=1.5).write([StoredClaimChange(WWW, None, BLUE)])
        if not claims_of(api):
            store_of(api).write([StoredClaimChange(WWW, None, BLUE)])

        (made,) = api.objects("dnsrecords")
        assert claims_of(api) == [StoredClaim(KEY, BLUE)]
        assert "Programmed" in str(made["status"])


def test_a_write_as_a_whole_has_one_deadline() -> None:
    records = [make_record(f"app-{number}.example.org") for number in range(10)]
    with KubernetesApi() as api:
        for record in records:
            put(api, record)
        api.faults.plan("update /dnsrecords", faults.slow(0.3), times=None)

        with pytest.raises(OutcomeUnknown, match=r"[0-3] of 10 changes were made"):
            store_of(api, seconds=1.0).write([StoredClaimChange(record, BLUE, GREEN) for record in records])

        assert len(api.history.requests()) < 6


def test_nothing_is_sent_while_the_objects_cannot_be_read() -> None:
    with KubernetesApi() as api:
        put(api)
        api.forbid("list", "dnsrecords")

        with pytest.raises(NothingSent, match="403 when asked to list dnsrecords in namespace external-dns"):
            store_of(api).write([StoredClaimChange(WWW, BLUE, GREEN)])
        with pytest.raises(ProviderError, match="403 when asked to list dnsrecords"):
            store_of(api).fetch_claims()

        assert api.writes() == []


def test_a_right_to_the_status_that_is_missing_leaves_nothing_claimed() -> None:
    with KubernetesApi() as api:
        api.forbid("update", "dnsrecords/status")

        with pytest.raises(
            OutcomeUnknown, match=r"0 of 1 changes were made; .* 403 when asked to update dnsrecords/status"
        ):
            store_of(api).write([StoredClaimChange(WWW, None, BLUE)])

        assert claims_of(api) == []
        api.allow_all()
        store_of(api).write([StoredClaimChange(WWW, None, BLUE)])
        assert claims_of(api) == [StoredClaim(KEY, BLUE)]


def test_one_object_nobody_can_read_does_not_hide_the_others() -> None:
    with KubernetesApi() as api:
        put(api)
        metadata: JsonValue = {"name": "odd", "labels": {OWNER_LABEL: "blue-cluster"}}
        api.put_object("dnsrecords", {"metadata": metadata, "spec": {"endpoint": {"targets": 7}}})

        odd, www = claims_of(api)

        assert www == StoredClaim(KEY, BLUE)
        assert odd.key == EndpointKey("odd", "", "")
        assert "cannot be read" in odd.problem
