"""The API that the tests speak to refuses what the real one refuses, and tells what happens."""

import json
import threading
from typing import Any

import pytest
import requests

from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi

CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
DNS_RECORDS = f"/apis/externaldns.k8s.io/v1alpha1/namespaces/{NAMESPACE}/dnsrecords"


def call(
    api: KubernetesApi, method: str, path: str, body: object = None, token: str = ""
) -> tuple[int, dict[str, Any]]:
    """Status and body of one request."""
    headers = {"Authorization": f"Bearer {token or api.token}"}
    answer = requests.request(method, api.url + path, json=body, headers=headers, timeout=10)
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status_code, answer.json() if is_json else {"text": answer.text}


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}, **more}


def dns_record(**metadata: Any) -> dict[str, Any]:
    version = "externaldns.k8s.io/v1alpha1"
    return {"apiVersion": version, "kind": "DNSRecord", "metadata": {"name": "a", **metadata}, "spec": {}}


def test_an_object_gets_an_identity_and_a_version_that_only_grows() -> None:
    with KubernetesApi() as api:
        made = call(api, "POST", CONFIG_MAPS, config_map("a"))[1]
        other = call(api, "POST", CONFIG_MAPS, config_map("b"))[1]
        same = call(api, "PUT", f"{CONFIG_MAPS}/a", made)[1]
        changed = call(api, "PUT", f"{CONFIG_MAPS}/a", {**made, "data": {"x": "1"}})[1]

        assert made["metadata"]["uid"] == changed["metadata"]["uid"] != other["metadata"]["uid"]
        assert same == made
        versions = [int(each["metadata"]["resourceVersion"]) for each in (made, other, changed)]
        assert versions == sorted(set(versions))
        listed = call(api, "GET", CONFIG_MAPS)[1]
        assert int(listed["metadata"]["resourceVersion"]) == versions[-1]


def test_a_list_may_be_of_one_name() -> None:
    with KubernetesApi() as api:
        for name in "abc":
            call(api, "POST", CONFIG_MAPS, config_map(name))

        one = call(api, "GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Db&limit=2")[1]
        none = call(api, "GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dd")[1]
        other = call(api, "GET", f"{CONFIG_MAPS}?fieldSelector=data.x%3Db")

        assert [each["metadata"]["name"] for each in one["items"]] == ["b"]
        assert none["items"] == []
        assert other[0] == 400


@pytest.mark.parametrize(
    ("obj", "status"),
    [
        (config_map("Upper"), 422),
        (config_map(""), 422),
        (config_map(data={"a": 1}), 400),
        (config_map(data={"a/b": ""}), 422),
        (config_map(kind="Secret"), 400),
        (config_map(metadata={"name": "a", "namespace": "another"}), 400),
        (config_map(metadata={"name": "a", "labels": {"a": "x" * 64}}), 422),
        (config_map(metadata={"name": "a", "labels": {"a": "blue cluster"}}), 422),
        (config_map(metadata={"name": "a", "resourceVersion": "7"}), 400),
        ({}, 400),
    ],
)
def test_it_takes_no_object_that_is_not_valid(obj: dict[str, Any], status: int) -> None:
    with KubernetesApi() as api:
        code, told = call(api, "POST", CONFIG_MAPS, obj)

        assert (code, told["kind"], told["code"]) == (status, "Status", status)
        assert api.objects("configmaps") == []


def test_it_knows_neither_other_accounts_nor_other_paths() -> None:
    with KubernetesApi(has_crd=False) as api:
        assert call(api, "GET", CONFIG_MAPS, token="another")[0] == 401
        assert call(api, "GET", DNS_RECORDS) == (404, {"text": "404 page not found\n"})
        assert call(api, "GET", "/api/v1/pods")[0] == 404
        assert call(api, "PATCH", f"{CONFIG_MAPS}/a", {})[0] == 404
        assert call(api, "GET", f"{CONFIG_MAPS}/a")[1]["details"] == {"name": "a", "kind": "configmaps"}


def test_it_refuses_the_second_of_two_writers() -> None:
    with KubernetesApi() as api:
        made = call(api, "POST", CONFIG_MAPS, config_map())[1]
        changed = call(api, "PUT", f"{CONFIG_MAPS}/a", {**made, "data": {"x": "1"}})[1]
        options = {"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}}
        otherwise = {**changed, "metadata": {**changed["metadata"], "uid": "another"}}

        assert call(api, "PUT", f"{CONFIG_MAPS}/a", made)[1]["reason"] == "Conflict"
        assert call(api, "PUT", f"{CONFIG_MAPS}/a", otherwise)[0] == 409
        assert call(api, "DELETE", f"{CONFIG_MAPS}/a", options)[0] == 409
        assert call(api, "POST", CONFIG_MAPS, config_map())[1]["reason"] == "AlreadyExists"
        assert api.objects("configmaps") == [changed]


def test_it_keeps_unknown_fields_of_custom_objects_alone() -> None:
    with KubernetesApi() as api:
        plain = call(api, "POST", CONFIG_MAPS, config_map(unknown=1))[1]
        custom = call(api, "POST", DNS_RECORDS, {**dns_record(unknown=1), "unknown": 1, "status": {}})[1]

        assert "unknown" not in plain
        assert custom["unknown"] == 1
        assert "unknown" not in custom["metadata"]
        assert "status" not in custom


def test_a_custom_object_is_not_replaced_without_its_version() -> None:
    with KubernetesApi() as api:
        call(api, "POST", DNS_RECORDS, dns_record())

        assert call(api, "PUT", f"{DNS_RECORDS}/a", dns_record())[0] == 422


def test_an_immutable_map_keeps_its_data_and_a_finalizer_keeps_its_object() -> None:
    with KubernetesApi() as api:
        made = call(api, "POST", CONFIG_MAPS, config_map(immutable=True))[1]
        call(api, "POST", DNS_RECORDS, dns_record(finalizers=["example.org/kept"]))

        refused = call(api, "PUT", f"{CONFIG_MAPS}/a", {**made, "data": {"x": "1"}})
        call(api, "DELETE", f"{DNS_RECORDS}/a")

        assert refused[0] == 422
        (kept,) = api.objects("dnsrecords")
        assert read_metadata(kept, "deletionTimestamp")


def test_a_watch_tells_what_happens_from_a_version_on() -> None:
    with KubernetesApi() as api:
        api.put_object("configmaps", {"metadata": {"name": "before"}})
        version = call(api, "GET", CONFIG_MAPS)[1]["metadata"]["resourceVersion"]
        url = f"{api.url}{CONFIG_MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=5"
        events: list[dict[str, Any]] = []
        with requests.get(
            url, headers={"Authorization": f"Bearer {api.token}"}, stream=True, timeout=10
        ) as stream:
            act = threading.Thread(target=_create_and_delete, args=(api,))
            act.start()
            for line in stream.iter_lines():
                events.append(json.loads(line))
                if events[-1]["type"] == "DELETED":
                    break
            act.join()

        assert [(each["type"], each["object"]["metadata"]["name"]) for each in events] == [
            ("ADDED", "a"),
            ("DELETED", "a"),
        ]


def test_a_right_that_is_missing_is_missing_in_one_namespace_and_for_one_verb() -> None:
    with KubernetesApi() as api:
        api.forbid("list", "configmaps")

        code, told = call(api, "GET", CONFIG_MAPS)

        assert (code, told["reason"]) == (403, "Forbidden")
        assert call(api, "GET", CONFIG_MAPS.replace(NAMESPACE, "default"))[0] == 200
        assert call(api, "POST", CONFIG_MAPS, config_map())[0] == 201


def test_another_writer_s_object_stands_with_its_status_and_a_new_version() -> None:
    with KubernetesApi() as api:
        status: KubernetesObject = {"status": {"conditions": []}}
        first = api.put_object("dnsrecords", {"metadata": {"name": "a"}, **status})
        second = api.put_object("dnsrecords", {"metadata": {"name": "a", "labels": {"x": "y"}}})

        assert read_object(first, "status") == {"conditions": []}
        assert api.objects("dnsrecords") == [second]
        assert read_metadata(first, "uid") == read_metadata(second, "uid")
        assert read_metadata(first, "resourceVersion") != read_metadata(second, "resourceVersion")


def _create_and_delete(api: KubernetesApi) -> None:
    call(api, "POST", CONFIG_MAPS, config_map())
    call(api, "DELETE", f"{CONFIG_MAPS}/a")
