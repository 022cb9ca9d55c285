"""Whatever else a Kubernetes API answers: told in our words, with the way out, and without our secrets."""

from collections.abc import Callable

import pytest

from providers.http.bounded_http import Limits
from providers.http.errors import (
    AnswerTooLarge,
    AnswerTruncated,
    DeadlineExceeded,
    FailedAtProvider,
    MalformedAnswer,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    Redirected,
    RefusedByProvider,
    TooManyRequests,
    Unreachable,
)
from providers.registries.kubernetes_object import KubernetesObject
from providers.stores.kubernetes.client import CONFIG_MAPS, DNS_RECORDS
from providers.stores.kubernetes.refusals import Conflict
from tests.faults import framing_faults, read_faults
from tests.faults.fault import Fault
from tests.kubernetes_api import faults
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi

pytestmark = pytest.mark.deep

ITEM = b'{"metadata":{"name":"a","namespace":"external-dns","resourceVersion":"7"}}'


def config_map(name: str = "blue-cluster-storage", **data: str) -> KubernetesObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {**data}}


def page(
    *items: bytes, metadata: bytes = b'{"resourceVersion":"9"}', kind: bytes = b"ConfigMapList"
) -> bytes:
    return b'{"kind":"%b","metadata":%b,"items":[%b]}' % (kind, metadata, b",".join(items))


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (
            faults.error(400, "BadRequest", "no"),
            RefusedByProvider,
            r"400 when .*\. It said: no",
        ),
        (faults.error(401, "Unauthorized", "no"), RefusedByProvider, "responded with 401 when"),
        (
            faults.error(403, "Forbidden", "no"),
            RefusedByProvider,
            r"403 when asked to list configmaps in namespace external-dns\. It said: no",
        ),
        (faults.error(404, "NotFound", "no"), RefusedByProvider, "404 when asked to list configmaps"),
        (faults.error(409, "Conflict", "no"), RefusedByProvider, "409 when asked to list"),
        (faults.error(410, "Expired", "no"), RefusedByProvider, "410 when asked to list"),
        (read_faults.too_many_requests("7"), TooManyRequests, "429 when asked to list"),
        (faults.error(500), FailedAtProvider, "500 when .* It said: etcdserver: leader changed"),
        (read_faults.status(503, "later"), FailedAtProvider, "503 when .* It said: later"),
        (read_faults.redirect("https://192.0.2.9/"), Redirected, "302 when asked to list"),
        (framing_faults.reset(), Unreachable, "No Kubernetes API responded at"),
        (framing_faults.closed(), Unreachable, "No Kubernetes API responded at"),
        (framing_faults.silence(), Unreachable, "No Kubernetes API responded at"),
        (framing_faults.headers_only(), DeadlineExceeded, "was not complete after 1 s"),
        (framing_faults.slow_drip(), DeadlineExceeded, "was not complete after 1 s"),
        (framing_faults.never_ends(), AnswerTooLarge, "larger than allowed"),
        (framing_faults.truncated(10), AnswerTruncated, "ended before the response was complete"),
        (
            framing_faults.truncated(10, framing_faults.Framing.CLOSE_DELIMITED),
            MalformedAnswer,
            "not JSON at character",
        ),
        (read_faults.gzip_bomb(2**24), MalformedAnswer, "compressed"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_a_list_that_does_not_come_whole_is_an_error_in_our_words(
    fault: Fault, error: type[ProviderError], message: str
) -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", config_map())
        api.faults.plan("list /configmaps", fault, times=None)
        client = api.client(Limits(seconds=1.0, max_body_bytes=2**20))

        with pytest.raises(error, match=message) as caught:
            client.list_objects(CONFIG_MAPS, NAMESPACE)

        assert caught.value.hint
        assert api.token not in f"{caught.value!r}{caught.value.hint}"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not JSON"),
        (b"null", "not an object"),
        (b"[]", "not an object"),
        (b"{}", "list of something else"),
        (page(kind=b"SecretList"), "list of something else"),
        (b'{"kind":"ConfigMapList","metadata":{}}', "no items"),
        (b'{"kind":"ConfigMapList","metadata":{},"items":null}', "no items"),
        (page(b"7"), "something else than the ConfigMap"),
        (page(b"{}"), "without its metadata"),
        (page(b'{"metadata":{"name":"a","namespace":"external-dns"}}'), "without its metadata"),
        (page(ITEM.replace(b"external-dns", b"another")), "something else than the ConfigMap"),
        (page(ITEM[:-1] + b',"kind":"Secret"}'), "something else than the ConfigMap"),
        (page(ITEM, ITEM), "twice"),
        (page(ITEM[:-1] + b',"data":{"a":"1","a":"2"}}'), "a key is repeated"),
        (page(ITEM[:-1] + b',"x":' + b"[" * 40 + b"]" * 40 + b"}"), "nested deeper"),
        (page(ITEM[:-1] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nested deeper"),
        (page(ITEM[:-1] + b',"x":' + b"9" * 5000 + b"}"), "5000 digits"),
        (page(ITEM[:-1] + b',"x":1e999}'), "a number beyond"),
        (page(ITEM[:-1] + b',"x":NaN}'), "NaN and Infinity"),
        (page(ITEM[:-1] + rb',"x":"\ud800"}'), "half of a surrogate pair"),
        (page(ITEM[:-1] + b',"x":"\xff"}'), "not UTF-8"),
        (b"\xef\xbb\xbf" + page(ITEM), "not JSON"),
        (page(ITEM) + b"{}", "not JSON"),
        (page(metadata=b'{"continue":7}'), "how it goes on"),
    ],
)
def test_a_list_that_cannot_be_believed_is_not_used(body: bytes, problem: str) -> None:
    with KubernetesApi() as api:
        api.faults.plan("list /configmaps", read_faults.body(body))

        with pytest.raises(MalformedAnswer, match=problem):
            api.client().list_objects(CONFIG_MAPS, NAMESPACE)


def test_a_list_that_goes_round_in_a_circle_ends() -> None:
    with KubernetesApi() as api:
        api.faults.plan(
            "list /configmaps", read_faults.body(page(metadata=b'{"continue":"again"}')), times=None
        )

        with pytest.raises(MalformedAnswer, match="how it goes on"):
            api.client().list_objects(CONFIG_MAPS, NAMESPACE)


def test_a_list_is_bounded_in_objects_and_in_bytes_over_all_its_pages() -> None:
    with KubernetesApi() as api:
        for number in range(502):
            api.put_object("configmaps", config_map(f"map-{number}", text="x" * 100))

        with pytest.raises(AnswerTooLarge, match="larger than allowed"):
            api.client(Limits(max_items=501)).list_objects(CONFIG_MAPS, NAMESPACE)
        with pytest.raises(AnswerTooLarge):
            api.client(Limits(max_body_bytes=30_000)).list_objects(CONFIG_MAPS, NAMESPACE)


def test_the_pages_of_a_list_have_one_deadline_together() -> None:
    with KubernetesApi() as api:
        for number in range(2000):
            api.put_object("configmaps", config_map(f"map-{number}"))
        api.faults.plan("list /configmaps", faults.slow(0.4), times=None)

        with pytest.raises((DeadlineExceeded, Unreachable)):
            api.client(Limits(seconds=1.0)).list_objects(CONFIG_MAPS, NAMESPACE)

        assert len(api.history.requests()) <= 3


@pytest.mark.parametrize(
    ("verb", "act"),
    [("list", "list"), ("list", "find"), ("create", "create"), ("update", "replace"), ("delete", "delete")],
)
def test_a_missing_right_is_named_with_its_verb_and_resource(verb: str, act: str) -> None:
    with KubernetesApi() as api:
        client = api.client()
        made = client.create(DNS_RECORDS, NAMESPACE, _record("www-1"))
        api.forbid(verb, "dnsrecords")
        calls: dict[str, Callable[[], object]] = {
            "list": lambda: client.list_objects(DNS_RECORDS, NAMESPACE),
            "find": lambda: client.find_object(DNS_RECORDS, NAMESPACE, "www-1"),
            "create": lambda: client.create(DNS_RECORDS, NAMESPACE, _record("www-2")),
            "replace": lambda: client.replace(DNS_RECORDS, NAMESPACE, made),
            "delete": lambda: client.delete(DNS_RECORDS, NAMESPACE, made),
        }

        with pytest.raises(
            ProviderError, match=f"403 when asked to {verb} dnsrecords .*in namespace external-dns"
        ) as caught:
            calls[act]()

        assert f'verb {verb} on the resource dnsrecords, apiGroup "externaldns.k8s.io"' in caught.value.hint
        assert isinstance(caught.value, NothingSent) == (act in ("create", "replace", "delete"))


def test_a_missing_right_to_a_status_is_named_as_a_role_names_it() -> None:
    with KubernetesApi() as api:
        made = api.client().create(DNS_RECORDS, NAMESPACE, _record("www-1"))
        api.forbid("update", "dnsrecords/status")

        with pytest.raises(NothingSent) as caught:
            api.client().replace(DNS_RECORDS, NAMESPACE, made, subresource="/status")

        assert "verb update on the resource dnsrecords/status" in caught.value.hint


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        (config_map(records="x" * (2**20 + 1)), r"422 when asked to create .* It said: .*Too long"),
        (config_map(records="x" * (3 * 2**20)), r"413 when .* It said: .*too large"),
        (config_map(**{"no key": "x"}), "responded with 422"),
        (config_map("No-Name"), r"is not the name of an object"),
    ],
)
def test_an_object_the_api_does_not_take_changes_nothing(obj: KubernetesObject, problem: str) -> None:
    with KubernetesApi() as api:
        with pytest.raises(NothingSent, match=problem) as caught:
            api.client().create(CONFIG_MAPS, NAMESPACE, obj)

        assert not isinstance(caught.value, Conflict)
        assert api.objects("configmaps") == []


def test_a_write_that_is_put_off_says_when_to_come_again() -> None:
    with KubernetesApi() as api:
        api.faults.plan("create /configmaps", read_faults.too_many_requests("7"))

        with pytest.raises(NothingSent) as caught:
            api.client().create(CONFIG_MAPS, NAMESPACE, config_map())

        assert caught.value.retry_after == 7.0


def test_what_the_api_said_is_cut_and_free_of_the_token() -> None:
    with KubernetesApi() as api:
        said = f"I do not like {api.token}\x1b[31m " + "x" * 5000
        api.faults.plan("list /configmaps", faults.error(403, "Forbidden", said))

        with pytest.raises(RefusedByProvider) as caught:
            api.client().list_objects(CONFIG_MAPS, NAMESPACE)

        assert api.token not in str(caught.value)
        assert "I do not like [secret]" in str(caught.value)
        assert "\x1b" not in str(caught.value)
        assert len(str(caught.value)) < 400


def test_an_object_that_is_not_the_one_asked_for_is_not_used() -> None:
    with KubernetesApi() as api:
        api.faults.plan("list /configmaps", read_faults.body(page(ITEM)))
        api.faults.plan("create /configmaps", read_faults.body(ITEM))
        api.faults.plan("create /configmaps", read_faults.body(b"7"))

        with pytest.raises(MalformedAnswer, match="something else than the ConfigMap asked for"):
            api.client().find_object(CONFIG_MAPS, NAMESPACE, "blue-cluster-storage")
        for problem in ("something else than the ConfigMap asked for", "not an object"):
            with pytest.raises(OutcomeUnknown, match=problem):
                api.client().create(CONFIG_MAPS, NAMESPACE, config_map())


@pytest.mark.parametrize("body", [b"", b"ok", b"{}", b'{"gitVersion":7}'])
def test_something_else_than_a_kubernetes_api_has_no_version(body: bytes) -> None:
    with KubernetesApi() as api:
        api.faults.plan("GET /version", read_faults.body(body))

        with pytest.raises(
            MalformedAnswer, match=r"to get version was not used: not JSON|does not say its version"
        ):
            api.client().check()


def _record(name: str) -> KubernetesObject:
    return {
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSRecord",
        "metadata": {"name": name},
        "spec": {},
    }
