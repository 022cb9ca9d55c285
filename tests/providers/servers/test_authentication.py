"""A server that wants a credential."""

import pytest
import requests

from providers.servers.wsgi_application import RequiredCredential
from providers.wire.change_set import ChangeSet
from tests.providers.servers.calls import ACCEPT, fetch_records, post_changes
from tests.reference_server import ReferenceProvider, make_record

BASIC = RequiredCredential.basic("alice", "s3cret:with colon")
BEARER = RequiredCredential.bearer("t0ken")


def test_user_info_in_the_url_is_accepted_as_basic() -> None:
    with ReferenceProvider(credential=RequiredCredential.basic("alice", "s3cret")) as provider:
        answer = fetch_records(provider.url.replace("http://", "http://alice:s3cret@"))

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("credential", "header", "status"),
    [
        (BASIC, "Basic YWxpY2U6czNjcmV0OndpdGggY29sb24=", 200),
        (BASIC, "basic YWxpY2U6czNjcmV0OndpdGggY29sb24=", 200),
        (BASIC, "Basic YWxpY2U6d3Jvbmc=", 401),
        (BASIC, "Bearer YWxpY2U6czNjcmV0OndpdGggY29sb24=", 401),
        (BASIC, "Basic", 401),
        (BASIC, "", 401),
        (BEARER, "Bearer t0ken", 200),
        (BEARER, "Bearer t0ke", 401),
        (BEARER, "t0ken", 401),
    ],
)
def test_only_the_right_credential_is_let_in(
    credential: RequiredCredential, header: str, status: int
) -> None:
    with ReferenceProvider(credential=credential) as provider:
        answer = requests.get(provider.url, headers={**ACCEPT, "Authorization": header}, timeout=5)

    assert answer.status_code == status


def test_nothing_is_applied_without_a_credential() -> None:
    with ReferenceProvider([make_record()], credential=BEARER) as provider:
        answer = post_changes(provider.url, ChangeSet(delete=(make_record(),)))

        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="dns provider"'
        assert provider.endpoints() == (make_record(),)


def test_a_credential_never_shows_itself() -> None:
    shown = repr(BASIC) + str(BASIC) + repr(BEARER) + f"{BEARER}"

    assert "s3cret" not in shown
    assert "t0ken" not in shown
    assert "YWxp" not in shown


def test_the_history_hides_credentials() -> None:
    with ReferenceProvider(credential=BEARER) as provider:
        requests.get(provider.url, headers={**ACCEPT, "Authorization": "Bearer t0ken"}, timeout=5)

        (past,) = provider.history.wait_for("GET /", 1)

    assert past.headers["authorization"] == "(hidden)"
    assert "t0ken" not in repr(past)
