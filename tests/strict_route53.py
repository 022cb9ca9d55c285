"""Route 53 in the tests: moto's server, behind a layer that refuses what moto is lax about.

moto takes a CREATE over what exists, deletes whatever the value, holds addresses that are none, and knows no
limits. The layer asks moto what stands there, refuses as the service does, and passes on what it may.
"""

import ipaddress
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.moto_server import empty_moto, find_moto_url, open_client, pass_on

_NAMESPACE = "https://route53.amazonaws.com/doc/2013-04-01/"
_MOST_ELEMENTS, _MOST_CHARACTERS = 1000, 32_000
_ERROR = (
    '<?xml version="1.0"?><ErrorResponse xmlns="{namespace}"><Error><Type>Sender</Type><Code>{code}</Code>'
    "<Message>{message}</Message></Error><RequestId>1</RequestId></ErrorResponse>"
)
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass
class StrictRoute53:
    """The service. `throttle` of the next requests are throttled; `batches` are all that were sent. Of health
    checks it has those in `health_checks`. `fail_after` batches it answers 500, and that one it applies."""

    moto_url: str
    url: str = ""
    throttle: int = 0
    refuse_keys: bool = False
    health_checks: set[str] = field(default_factory=set)
    fail_after: int = -1
    batches: list[list[tuple[str, str, str]]] = field(default_factory=list)

    @property
    def client(self) -> Any:
        """A client of moto itself, for what the tests prepare and look at."""
        return open_client("route53", self.moto_url, region="us-east-1", key_id="testing", secret="testing")

    def create_zone(self, name: str, *, is_private: bool = False) -> str:
        """A new, empty hosted zone; its id."""
        config = {"Comment": "", "PrivateZone": is_private}
        more = {"VPC": {"VPCRegion": "us-east-1", "VPCId": "vpc-1"}} if is_private else {}
        made = self.client.create_hosted_zone(
            Name=name, CallerReference=f"{name}-{is_private}", HostedZoneConfig=config, **more
        )
        zone_id: str = made["HostedZone"]["Id"].rpartition("/")[2]
        return zone_id

    def held(self, zone_id: str) -> dict[tuple[str, str, str], dict[str, Any]]:
        """What moto holds, by name, type and set identifier."""
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        for page in self.client.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone_id):
            for each in page["ResourceRecordSets"]:
                found[_plain(each["Name"]), each["Type"], each.get("SetIdentifier", "")] = each
        return found

    def find_refusal(self, path: str, body: bytes) -> tuple[int, str, str] | None:
        """Status, code and message the service would answer with; None where it would not."""
        if self.throttle > 0:
            self.throttle -= 1
            return 400, "Throttling", "Rate exceeded"
        if self.refuse_keys:
            return 403, "InvalidClientTokenId", "The security token included in the request is invalid."
        if not body or not path.rstrip("/").endswith("/rrset"):
            return None
        zone_id = path.rstrip("/").split("/")[-2]
        changes = [_read_change(each) for each in ET.fromstring(body).iter(f"{{{_NAMESPACE}}}Change")]
        self.batches.append([(each.action, each.name, each.record_type) for each in changes])
        missing = {change.health_check for change in changes} - self.health_checks - {""}
        if missing:
            return 400, "NoSuchHealthCheck", f"No health check found with id: {min(missing)}"
        problem = _find_problem(changes, self.held(zone_id))
        return (400, "InvalidChangeBatch", problem) if problem else None


@dataclass
class _Change:
    action: str
    name: str
    record_type: str
    set_identifier: str
    ttl: str
    values: list[str]
    is_alias: bool
    health_check: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name, self.record_type, self.set_identifier


def _find_problem(changes: list[_Change], held: dict[tuple[str, str, str], dict[str, Any]]) -> str:
    characters = sum(len(value) for change in changes for value in change.values)
    elements = sum(max(1, len(change.values)) for change in changes)
    if elements > _MOST_ELEMENTS or characters > _MOST_CHARACTERS:
        return "Number of records or characters limit exceeded."
    standing = dict(held)
    for change in changes:
        found = standing.get(change.key)
        what = f"[name='{change.name}.', type='{change.record_type}']"
        if change.action == "UPSERT":
            return f"Tried to upsert {what}, which nothing here may do"
        if change.action == "DELETE":
            if found is None:
                return f"Tried to delete resource record set {what} but it was not found"
            if not change.is_alias and _values_of(found) != (change.ttl, sorted(change.values)):
                return f"Tried to delete resource record set {what} but the values provided do not match"
            del standing[change.key]
            continue
        problem = _find_bad_create(change, found, standing)
        if problem:
            return f"Tried to create resource record set {what} but {problem}"
        standing[change.key] = {"TTL": change.ttl, "ResourceRecords": [{"Value": v} for v in change.values]}
    return ""


def _find_bad_create(
    change: _Change, found: dict[str, Any] | None, standing: dict[tuple[str, str, str], dict[str, Any]]
) -> str:
    types = {kind for name, kind, _ in standing if name == change.name}
    if found is not None:
        return "it already exists"
    if (change.record_type == "CNAME" and types - {"CNAME"}) or ("CNAME" in types - {change.record_type}):
        return "a CNAME cannot stand beside other types"
    if any(bool(change.set_identifier) != bool(sid) for n, k, sid in standing if (n, k) == change.key[:2]):
        return "it is not permitted beside a simple record set"
    for value in change.values:
        if change.record_type in ("A", "AAAA") and not _is_address(value, change.record_type):
            return "FATAL problem: the value is not a valid address"
        if change.record_type == "TXT" and any(len(text) > 255 for text in value.strip('"').split('" "')):
            return "FATAL problem: CharacterStringTooLong"
    return ""


def _is_address(value: str, record_type: str) -> bool:
    try:
        return ipaddress.ip_address(value).version == (4 if record_type == "A" else 6)
    except ValueError:
        return False


def _values_of(held: dict[str, Any]) -> tuple[str, list[str]]:
    return str(held.get("TTL", "")), sorted(each["Value"] for each in held.get("ResourceRecords", ()))


def _read_change(element: ET.Element) -> _Change:
    def text(path: str) -> str:
        return element.findtext("/".join(f"{{{_NAMESPACE}}}{part}" for part in path.split("/"))) or ""

    record_set = "ResourceRecordSet"
    return _Change(
        text("Action"),
        _plain(text(f"{record_set}/Name")),
        text(f"{record_set}/Type"),
        text(f"{record_set}/SetIdentifier"),
        text(f"{record_set}/TTL"),
        [each.text or "" for each in element.iter(f"{{{_NAMESPACE}}}Value")],
        next(element.iter(f"{{{_NAMESPACE}}}AliasTarget"), None) is not None,
        text(f"{record_set}/HealthCheckId"),
    )


def _plain(name: str) -> str:
    return name.replace("\\052", "*").removesuffix(".").lower()


@contextmanager
def strict_route53() -> Iterator[StrictRoute53]:
    """The service on loopback, without any zone."""
    service = StrictRoute53(find_moto_url())
    empty_moto(service.moto_url)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(service))
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


def _handler_of(service: StrictRoute53) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body go one after the other: otherwise the body waits for 40 ms.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._pass_on(b"")

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

        def _pass_on(self, body: bytes) -> None:
            refusal = service.find_refusal(self.path.partition("?")[0], body)
            if refusal is not None:
                status, code, message = refusal
                self._answer(status, _ERROR.format(namespace=_NAMESPACE, code=code, message=message).encode())
                return
            kept = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            passed = pass_on(service.moto_url + self.path, body, kept, method=self.command)
            if body and service.fail_after == len(service.batches) - 1:
                failed = _ERROR.format(namespace=_NAMESPACE, code="InternalFailure", message="Try later.")
                self._answer(500, failed.encode())
                return
            self._answer(passed.status_code, passed.content)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
            """Say nothing."""

    return Handler
