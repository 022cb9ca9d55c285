"""The webhook protocol over TLS."""

import datetime as dt
import ipaddress
import socket
import ssl
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.providers.servers.calls import ACCEPT, fetch_endpoints, raw_get
from tests.reference_server import ReferenceProvider, make_record


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, key included."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "provider.example.org")])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return path


@pytest.fixture
def context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_records_are_served_over_tls(certificate: Path, context: ssl.SSLContext) -> None:
    with ReferenceProvider([make_record()], tls=context) as provider:
        answer = requests.get(f"{provider.url}/records", headers=ACCEPT, timeout=5, verify=str(certificate))

    assert provider.url.startswith("https://")
    assert answer.status_code == 200
    assert len(answer.json()) == 1


def test_a_client_that_does_not_know_the_certificate_stays_away(context: ssl.SSLContext) -> None:
    with ReferenceProvider([make_record()], tls=context) as provider:
        with pytest.raises(requests.exceptions.SSLError):
            fetch_endpoints(provider.url)

        assert provider.history.requests() == ()


def test_a_client_that_does_not_speak_tls_blocks_nobody(certificate: Path, context: ssl.SSLContext) -> None:
    with (
        ReferenceProvider([make_record()], tls=context) as provider,
        socket.create_connection(("127.0.0.1", provider.port), timeout=5) as silent,
        socket.create_connection(("127.0.0.1", provider.port), timeout=5) as plain,
    ):
        plain.sendall(raw_get())

        answer = requests.get(f"{provider.url}/records", headers=ACCEPT, timeout=5, verify=str(certificate))

        assert answer.status_code == 200
        assert silent.fileno() >= 0
