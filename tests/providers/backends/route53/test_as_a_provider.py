"""The reference of the first texts: the AWS provider, served over HTTP by one command."""

import json
import os
import signal
import subprocess
import sys

import pytest
import requests

from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_change_set
from tests.reference_server import make_claim, make_record
from tests.strict_route53 import CREDENTIALS, strict_route53

pytestmark = pytest.mark.deep


@pytest.mark.parametrize(
    ("options", "protocol", "applied"),
    [
        ((), "webhook", 204),
        (("--protocol", "webhook"), "webhook", 204),
        (("--protocol", "plugin"), "plugin", 200),
    ],
)
def test_one_command_makes_it_a_provider(options: tuple[str, ...], protocol: str, applied: int) -> None:
    media_type = f"application/external.dns.{protocol}+json;version=1"
    headers = {"Accept": media_type, "Content-Type": media_type}
    pair = ChangeSet(create=(make_record(), make_claim()))
    with strict_route53() as service:
        zone_id = service.create_zone("example.org")
        command = [sys.executable, "-m", "providers.servers", "route53", *options, "--port", "0"]
        environment = {**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": service.url}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            negotiated = requests.get(url, headers=headers, timeout=30)
            answer = requests.post(f"{url}/records", encode_change_set(pair), headers=headers, timeout=30)
            shown = requests.get(f"{url}/records", headers=headers, timeout=30)
            process.send_signal(signal.SIGTERM)
        held = service.held(zone_id)

    assert url.startswith("http://127.0.0.1:")
    assert (negotiated.status_code, negotiated.headers["Content-Type"]) == (200, media_type)
    assert answer.status_code == applied
    assert ("www.example.org", "A", "") in held
    assert {each["dnsName"] for each in shown.json()} == {
        "example.org",
        "www.example.org",
        "a-www.example.org",
    }
