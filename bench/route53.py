"""What reading a zone of Route 53 costs: 10,000 record sets, over the bare library's paging.

Against moto's server in a process of its own: the service's time is the same on both sides. Bar: 1.3.
"""

import json
import os
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import boto3

_COUNT, _BATCH = 10_000, 500
_RUNS = 3
_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def _serve(said: Connection) -> None:
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    said.send(server.get_host_and_port()[1])
    time.sleep(600)


def measure_route53_read() -> None:
    """Print one line of JSON: the best of three readings, the floor, the ratio."""
    from providers.backends.route53 import Route53Backend
    from providers.backends.route53_api import Route53Api

    context = get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(there,), daemon=True)
    server.start()
    os.environ |= {**_SETTINGS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{here.recv()}"}
    client = boto3.client("route53")
    zone_id = _fill(client)
    backend = Route53Backend(Route53Api(seconds=120.0))
    seconds, floor = [], []
    found = 0
    for _ in range(_RUNS):
        started = time.perf_counter()
        found = len(backend.records())
        seconds.append(time.perf_counter() - started)
        started = time.perf_counter()
        _page(client, zone_id)
        floor.append(time.perf_counter() - started)
    server.terminate()
    line = {"route53-read": found, "seconds": round(min(seconds), 2), "floor_seconds": round(min(floor), 2)}
    sys.stdout.write(json.dumps({**line, "ratio": round(min(seconds) / min(floor), 2), "bar": 1.3}) + "\n")
    sys.stdout.flush()


def _fill(client: Any) -> str:
    made = client.create_hosted_zone(Name="example.org", CallerReference="bench")
    zone_id: str = made["HostedZone"]["Id"]
    for start in range(0, _COUNT, _BATCH):
        changes = [_create(number) for number in range(start, start + _BATCH)]
        client.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch={"Changes": changes})
    return zone_id


def _create(number: int) -> dict[str, Any]:
    value = [{"Value": f"192.0.2.{number % 250 + 1}"}]
    record_set = {"Name": f"app-{number:05d}.example.org", "Type": "A", "TTL": 300, "ResourceRecords": value}
    return {"Action": "CREATE", "ResourceRecordSet": record_set}


def _page(client: Any, zone_id: str) -> int:
    count = 0
    for page in client.get_paginator("list_hosted_zones").paginate():
        count += len(page["HostedZones"])
    pages = client.get_paginator("list_resource_record_sets").paginate(
        HostedZoneId=zone_id, PaginationConfig={"PageSize": 300}
    )
    return count + sum(len(page["ResourceRecordSets"]) for page in pages)
