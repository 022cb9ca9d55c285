"""What reading a zone of Route 53 costs: 10,000 record sets, over the bare library's paging.

Against moto's server in a process of its own: the service's time is the same on both sides.
"""

import os
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import boto3

from bench.figures import Figure, Report

_COUNT, _BATCH = 10_000, 500
NAMES = ("route53-read",)
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


def measure_route53_read(report: Report, rounds: int) -> None:
    """Add the figure, `rounds` times."""
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
    for _ in range(rounds):
        started = time.perf_counter()
        backend.records()
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        _page(client, zone_id)
        report.add(Figure("route53-read", seconds, time.perf_counter() - started, 1.3))
    server.terminate()


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
