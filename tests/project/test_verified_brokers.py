"""The certificate of a broker at rediss:// is verified, for its host, wherever REDIS_URL is used."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import pytest
from django.core.cache.backends.redis import RedisCache
from kombu import Connection
from kombu.exceptions import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from dnsadmin.env import BadSetting, fetch_redis_tls
from dnsadmin.free_port import find_free_port
from tests.providers.client.certificates import Authority, key_pem
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(which("redis-server") is None, reason="needs redis-server"),
    pytest.mark.one_database,
]
CACHE_OPTIONS = "OPTIONS"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Path:
    path = tmp_path_factory.mktemp("tls")
    (path / "authority.pem").write_text(authority.pem)
    (path / "stranger.pem").write_text(Authority("stranger").pem)
    return path


def _serve(folder: Path, authority: Authority, host: str) -> Iterator[int]:
    certificate, key = authority.issue(host)
    (folder / f"{host}.pem").write_text(certificate)
    (folder / f"{host}.key").write_text(key_pem(key))
    port = find_free_port()
    command = ["redis-server", "--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", "--save", ""]
    command += ["--tls-cert-file", str(folder / f"{host}.pem"), "--tls-key-file", str(folder / f"{host}.key")]
    command += ["--tls-ca-cert-file", str(folder / "authority.pem"), "--tls-auth-clients", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    try:
        wait_until(lambda: _listens(port), "the broker")
        yield port
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def port(folder: Path, authority: Authority) -> Iterator[int]:
    yield from _serve(folder, authority, "127.0.0.1")


@pytest.fixture(scope="module")
def port_of_another_host(folder: Path, authority: Authority) -> Iterator[int]:
    yield from _serve(folder, authority, "broker.example.org")


def _use_cache(url: str) -> None:
    RedisCache(url, {CACHE_OPTIONS: fetch_redis_tls("REDIS_URL", url)}).set("key", "value")


def _use_broker(url: str) -> None:
    with Connection(url, ssl=fetch_redis_tls("REDIS_URL", url)) as connection:
        connection.connect()


@pytest.mark.parametrize("use", [_use_cache, _use_broker])
def test_a_broker_whose_authority_is_trusted_is_used(
    folder: Path, port: int, use: Callable[[str], None]
) -> None:
    use(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={folder / 'authority.pem'}")


@pytest.mark.parametrize("use", [_use_cache, _use_broker])
@pytest.mark.parametrize("trusted", ["", "stranger.pem"])
def test_one_that_nobody_vouches_for_is_not_spoken_to(
    folder: Path, port: int, use: Callable[[str], None], trusted: str
) -> None:
    query = f"?ssl_ca_certs={folder / trusted}" if trusted else ""

    with pytest.raises((RedisConnectionError, OperationalError)):
        use(f"rediss://127.0.0.1:{port}/0{query}")


@pytest.mark.parametrize("use", [_use_cache, _use_broker])
def test_a_certificate_of_another_host_is_not_believed(
    folder: Path, port_of_another_host: int, use: Callable[[str], None]
) -> None:
    with pytest.raises((RedisConnectionError, OperationalError)):
        use(f"rediss://127.0.0.1:{port_of_another_host}/0?ssl_ca_certs={folder / 'authority.pem'}")


@pytest.mark.parametrize(
    "said", ["ssl_cert_reqs=none", "ssl_check_hostname=false", "ssl_cert_reqs=CERT_NONE"]
)
def test_an_address_that_switches_the_check_off_is_refused(said: str) -> None:
    with pytest.raises(BadSetting) as refused:
        fetch_redis_tls("REDIS_URL", f"rediss://:s3cr3t@broker.example.org/0?{said}")

    assert "REDIS_URL cannot be used" in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
