"""The calls of the plugin protocol, as its text has them: routes, headers, and 200 for each success."""

import pytest
import requests

from tests.reference_server import ReferenceProvider, make_record, make_zone
from tests.servers.provider_server import PluginServer

MEDIA_TYPE = "application/external.dns.plugin+json;version=1"
HEADERS = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE}
WWW = make_record()
WANTED = b'[{"dnsName":"www.example.org","targets":["192.0.2.1"],"recordType":"A","recordTTL":300}]'


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("GET", "/", None, b""),
        ("GET", "/records", None, WANTED),
        ("POST", "/records", b'{"create":[]}', b""),
        ("POST", "/adjustendpoints", WANTED, WANTED),
        (
            "POST",
            "/propertyvaluesequal",
            b'{"name":"alias","previous":"1","current":"1"}',
            b'{"equals":true}',
        ),
        (
            "POST",
            "/propertyvaluesequal",
            b'{"name":"alias","previous":"1","current":"2"}',
            b'{"equals":false}',
        ),
    ],
)
def test_every_call_of_the_table_is_answered_with_200(
    method: str, path: str, body: bytes | None, said: bytes
) -> None:
    with ReferenceProvider([WWW], server_type=PluginServer) as provider:
        answer = requests.request(method, provider.url + path, data=body, headers=HEADERS, timeout=5)

    assert (answer.status_code, answer.content) == (200, said)


def test_negotiation_names_the_format_and_the_version_and_what_it_went_by() -> None:
    with ReferenceProvider(server_type=PluginServer) as provider:
        answer = requests.get(provider.url, headers={"Accept": MEDIA_TYPE}, timeout=5, allow_redirects=False)

    assert answer.headers["Content-Type"] == MEDIA_TYPE
    assert answer.headers["Vary"] == "Content-Type"


@pytest.mark.parametrize("accept", ["", "application/json", MEDIA_TYPE.replace("version=1", "version=2")])
def test_another_accept_is_406(accept: str) -> None:
    with ReferenceProvider(make_zone(count=1), server_type=PluginServer) as provider:
        statuses = [
            requests.get(provider.url + path, headers={"Accept": accept}, timeout=5).status_code
            for path in ("/", "/records")
        ]

    assert statuses == [406, 406]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"name":7}', b'{"name":"alias"'])
def test_a_question_about_properties_that_cannot_be_read_is_400(body: bytes) -> None:
    with ReferenceProvider(server_type=PluginServer) as provider:
        answer = requests.post(f"{provider.url}/propertyvaluesequal", body, headers=HEADERS, timeout=5)

    assert answer.status_code == 400
