"""The webhook protocol over TLS."""

import datetime as dt
import ipaddress
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from providers.backends.memory import MemoryBackend
from providers.servers.granian_server import GranianServer, TlsFiles
from providers.servers.provider_application import WebhookApplication
from tests.providers.servers.calls import ACCEPT, fetch_endpoints, raw_get
from tests.providers.servers.serving import serve
from tests.reference_server import make_record


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
def server(certificate: Path) -> Iterator[GranianServer]:
    application = WebhookApplication(MemoryBackend([make_record()]))
    with serve(application, tls=TlsFiles(certificate, certificate)) as server:
        yield server


def _fetch(server: GranianServer, certificate: Path) -> requests.Response:
    return requests.get(f"{server.url}/records", headers=ACCEPT, timeout=5, verify=str(certificate))


def test_records_are_served_over_tls(server: GranianServer, certificate: Path) -> None:
    answer = _fetch(server, certificate)

    assert server.url.startswith("https://")
    assert answer.status_code == 200
    assert len(answer.json()) == 1


def test_a_client_that_does_not_know_the_certificate_stays_away(server: GranianServer) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        fetch_endpoints(server.url)


@pytest.mark.parametrize(
    ("version", "is_taken"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_speaks_tls_from_version_1_2_on(
    server: GranianServer, certificate: Path, version: ssl.TLSVersion, *, is_taken: bool
) -> None:
    context = ssl.create_default_context(cafile=certificate)
    context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        try:
            context.wrap_socket(connection, server_hostname="127.0.0.1").close()
            was_taken = True
        except OSError:
            was_taken = False

    assert was_taken is is_taken


def test_a_client_that_does_not_speak_tls_blocks_nobody(server: GranianServer, certificate: Path) -> None:
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as silent,
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain,
    ):
        plain.sendall(raw_get())

        answer = _fetch(server, certificate)

        assert answer.status_code == 200
        assert silent.fileno() >= 0


def test_an_encrypted_key_is_refused(certificate: Path, tmp_path: Path) -> None:
    key = serialization.load_pem_private_key(certificate.read_bytes(), None)
    encrypted = tmp_path / "key.pem"
    encrypted.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"a passphrase"),
        )
    )
    options = ["--port", "0", "--tls-certificate", str(certificate), "--tls-key", str(encrypted)]

    done = subprocess.run(
        [sys.executable, "-m", "providers.servers", "memory", *options],
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.returncode == 1
    assert (
        done.stderr == "The server cannot start: The key of --tls-key is encrypted. Give one that is not.\n"
    )
