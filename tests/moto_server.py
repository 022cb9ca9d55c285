"""moto's server: one in each process of a test run, since it takes its time to start and to stop."""

import threading
from functools import cache
from typing import Any

import boto3
import requests

_local = threading.local()


@cache
def find_moto_url() -> str:
    """Where it is; it is started when it is first asked for, and ends with the process."""
    from moto.moto_server.werkzeug_app import MotoRequestHandler  # takes a while, and is needed by few tests
    from moto.server import ThreadedMotoServer

    # It sends the head of a response and the body one after the other: otherwise each waits for 40 ms.
    MotoRequestHandler.disable_nagle_algorithm = True
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    return f"http://{host}:{port}"


def empty_moto(url: str) -> None:
    """Nothing is there any more, of any service."""
    requests.post(f"{url}/moto-api/reset", timeout=30)


@cache
def open_client(service: Any, url: str, *, region: str, key_id: str, secret: str) -> Any:
    """A client of moto itself, for what the tests prepare and look at. A new one takes longer than a test."""
    return boto3.client(
        service,
        endpoint_url=url,
        region_name=region,
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
    )


def pass_on(url: str, body: bytes, headers: dict[str, str], *, method: str = "POST") -> requests.Response:
    """What moto answers."""
    if not hasattr(_local, "session"):
        _local.session = requests.Session()
        # Proxies of the environment are not for loopback, and looking for them takes longer than the request.
        _local.session.trust_env = False
    answer: requests.Response = _local.session.request(method, url, data=body, headers=headers, timeout=60)
    return answer
