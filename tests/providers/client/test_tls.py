"""TLS: the certificate and the name are always verified, our own authority and certificate are used."""

import datetime as dt
import os
import socket
import ssl
import tempfile
import threading
from pathlib import Path

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.credentials import BearerLogin, Credentials, build_tls_context
from providers.http.errors import (
    AnswerTruncated,
    InvalidCredentials,
    NothingSent,
    ProviderError,
    TlsFailed,
)
from tests.providers.client.certificates import Authority, key_pem
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server

NAME = "dns.example.org"
AT_LOOPBACK = AddressPolicy(allow_loopback=True, resolve=lambda host, port: ["127.0.0.1"])


def tls_failure(port: int, credentials: Credentials, host: str = NAME) -> TlsFailed:
    """The TLS error of a connection to that host, which is on loopback."""
    client = make_client(f"https://{host}:{port}", policy=AT_LOOPBACK, credentials=credentials)
    with pytest.raises(TlsFailed) as caught:
        client.records()
    return caught.value


def test_a_certificate_of_our_own_authority_is_accepted_by_name(authority: Authority) -> None:
    names: list[str] = []
    context = authority.server_context(NAME)
    context.sni_callback = lambda sock, name, context: names.append(name)
    with raw_server(answer(b"[]"), tls=context) as server:
        client = make_client(
            f"https://{NAME}:{server.port}/dns",
            policy=AT_LOOPBACK,
            credentials=Credentials(ca_pem=authority.pem),
        )
        records = client.records()

    assert records.body == b"[]"
    assert names == [NAME]
    assert f"\r\nHost: {NAME}:{server.port}\r\n".encode() in server.requests[0]


def test_a_certificate_for_an_address_is_accepted(authority: Authority) -> None:
    with raw_server(answer(b"[]"), tls=authority.server_context("127.0.0.1")) as server:
        client = make_client(
            f"https://127.0.0.1:{server.port}", credentials=Credentials(ca_pem=authority.pem)
        )
        records = client.records()

    assert records.body == b"[]"


def test_an_unknown_authority_is_refused(authority: Authority) -> None:
    with raw_server(answer(b"[]"), tls=authority.server_context(NAME)) as server:
        of_public = tls_failure(server.port, Credentials())
        of_other = tls_failure(server.port, Credentials(ca_pem=Authority("another authority").pem))

    assert of_public.code == of_other.code == "tls_failed"
    assert "certificate" in str(of_public)
    assert "CA" in of_public.hint
    assert server.requests == []


def test_a_self_signed_certificate_is_refused(authority: Authority) -> None:
    stranger = Authority(NAME)
    with raw_server(answer(b"[]"), tls=stranger.server_context(NAME)) as server:
        failure = tls_failure(server.port, Credentials(ca_pem=authority.pem))

    assert "was not accepted" in str(failure)


def test_a_certificate_for_another_name_is_refused(authority: Authority) -> None:
    with raw_server(answer(b"[]"), tls=authority.server_context("other.example.org")) as server:
        failure = tls_failure(server.port, Credentials(ca_pem=authority.pem))

    assert "mismatch" in str(failure)


def test_an_expired_certificate_is_refused(authority: Authority) -> None:
    context = authority.server_context(NAME, until=-dt.timedelta(hours=1))
    with raw_server(answer(b"[]"), tls=context) as server:
        failure = tls_failure(server.port, Credentials(ca_pem=authority.pem))

    assert "expired" in str(failure)


def test_the_public_authorities_are_read_once_for_all_who_trust_them_alone(authority: Authority) -> None:
    certificate, key = authority.issue("blue-cluster")
    identified = Credentials(client_certificate_pem=certificate, client_key_pem=key_pem(key))

    public = build_tls_context(Credentials())

    assert build_tls_context(Credentials(login=BearerLogin("token"))) is public
    assert build_tls_context(Credentials(ca_pem=authority.pem)) is not public
    assert build_tls_context(identified) is not build_tls_context(identified)


def test_our_own_authority_replaces_the_public_ones(authority: Authority) -> None:
    trusted = build_tls_context(Credentials(ca_pem=authority.pem)).get_ca_certs()
    publicly = build_tls_context(Credentials()).get_ca_certs()

    assert [each["subject"] for each in trusted] == [((("commonName", "example authority"),),)]
    assert len(publicly) > 50


def test_a_sync_does_not_add_the_public_authorities_to_our_own(authority: Authority) -> None:
    context = build_tls_context(Credentials(ca_pem=authority.pem))
    with raw_server(answer(b"[]"), tls=authority.server_context(NAME)) as server:
        client = make_client(
            f"https://{NAME}:{server.port}",
            policy=AT_LOOPBACK,
            credentials=Credentials(ca_pem=authority.pem),
        )
        client.records()
        http = client._http

    assert http is not None
    kept = http._tls
    assert kept is not None
    assert kept.get_ca_certs() == context.get_ca_certs()
    assert kept.verify_mode == ssl.CERT_REQUIRED
    assert kept.check_hostname


def test_a_client_certificate_is_shown_to_who_wants_one(authority: Authority) -> None:
    certificate, key = authority.issue("blue-cluster")
    context = authority.server_context(NAME, clients=authority)
    seen: list[bytes | None] = []

    def play(sock: socket.socket, stopping: threading.Event) -> None:
        assert isinstance(sock, ssl.SSLSocket)
        seen.append(sock.getpeercert(binary_form=True))
        sock.sendall(answer(b"[]"))

    with raw_server(play, tls=context) as server:
        client = make_client(
            f"https://{NAME}:{server.port}",
            policy=AT_LOOPBACK,
            credentials=Credentials(
                ca_pem=authority.pem, client_certificate_pem=certificate, client_key_pem=key_pem(key)
            ),
        )
        records = client.records()

    assert records.body == b"[]"
    assert seen == [ssl.PEM_cert_to_DER_cert(certificate)]


def test_a_server_that_wants_a_certificate_and_gets_none_is_a_tls_failure(authority: Authority) -> None:
    with raw_server(answer(b"[]"), tls=authority.server_context(NAME, clients=authority)) as server:
        client = make_client(
            f"https://{NAME}:{server.port}",
            policy=AT_LOOPBACK,
            credentials=Credentials(ca_pem=authority.pem),
        )

        with pytest.raises(ProviderError) as caught:
            client.records()

    assert caught.value.code in ("tls_failed", "unreachable")  # the alert can lose a race with a reset
    assert server.requests == []


def test_the_private_key_is_on_no_disk_once_the_client_is_made(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    certificate, key = authority.issue("blue-cluster")

    build_tls_context(Credentials(client_certificate_pem=certificate, client_key_pem=key_pem(key)))

    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_credentials_that_cannot_be_read_are_refused_without_quoting_them(authority: Authority) -> None:
    certificate, key = authority.issue("blue-cluster")
    other_key = key_pem(authority.issue("green-cluster")[1])
    broken = [
        Credentials(ca_pem="rabbit hole"),
        Credentials(ca_pem="-----BEGIN CERTIFICATE-----\nrabbit\n-----END CERTIFICATE-----\n"),
        Credentials(ca_pem="r\N{LATIN SMALL LETTER A WITH DIAERESIS}bbit"),
        Credentials(client_certificate_pem=certificate, client_key_pem=other_key),
        Credentials(client_certificate_pem=certificate, client_key_pem="rabbit"),
        Credentials(client_certificate_pem=certificate, client_key_pem=key_pem(key, b"rabbit")),
    ]

    for credentials in broken:
        with pytest.raises(InvalidCredentials) as caught:
            make_client("https://dns.example.org", credentials=credentials)

        assert "rabbit" not in str(caught.value)
        assert "PRIVATE KEY" not in str(caught.value)


def test_a_close_delimited_body_cut_by_a_third_party_is_refused(authority: Authority) -> None:
    def cut_without_goodbye(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n[]")
        sock.shutdown(socket.SHUT_RDWR)

    with raw_server(cut_without_goodbye, tls=authority.server_context(NAME)) as server:
        client = make_client(
            f"https://{NAME}:{server.port}",
            policy=AT_LOOPBACK,
            credentials=Credentials(ca_pem=authority.pem),
        )

        with pytest.raises(AnswerTruncated):
            client.records()


def test_a_refused_certificate_means_nothing_was_sent(authority: Authority) -> None:
    with raw_server(answer(status="204 No Content"), tls=authority.server_context(NAME)) as server:
        client = make_client(f"https://{NAME}:{server.port}", policy=AT_LOOPBACK)

        with pytest.raises(NothingSent) as caught:
            client.apply_changes(b"{}")

    assert isinstance(caught.value.reason, TlsFailed)
    assert server.requests == []


def test_a_large_change_set_goes_through_tls_whole(authority: Authority) -> None:
    body = b"x" * 3_000_000
    with raw_server(answer(status="204 No Content"), tls=authority.server_context("127.0.0.1")) as server:
        client = make_client(
            f"https://127.0.0.1:{server.port}", credentials=Credentials(ca_pem=authority.pem)
        )
        client.apply_changes(body)

    assert server.requests[0].endswith(b"\r\n\r\n" + body)
