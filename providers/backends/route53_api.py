"""Route 53's own API: zones and record sets listed, batches changed. Throttling is waited out, bounded."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import boto3.session
import botocore.exceptions
from botocore.config import Config

from providers.backends.errors import BackendError, ChangeRefused, PartRefused, Reason
from providers.http.pause import compute_pause
from providers.wire.endpoint import EndpointKey

if TYPE_CHECKING:
    from mypy_boto3_route53 import Route53Client

_T = TypeVar("_T")
_THROTTLED = {
    "Throttling",
    "ThrottlingException",
    "RequestLimitExceeded",
    "PriorRequestNotComplete",
    "TooManyRequestsException",
}
_KEYS_REFUSED = {
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "AuthFailure",
}
# Of a health check that is not there the batch is not to blame as a whole: its parts may do.
_BATCH_REFUSED = {"InvalidChangeBatch", "InvalidInput", "NoSuchHealthCheck"}
_FAILED_INSIDE = 500
_PAGE = 300
_FIRST_PAUSE, _LONGEST_PAUSE, _SPREAD = 0.2, 5.0, (0.5, 1.0)

# Of one batch: the service's own limits (1,000 ResourceRecord elements, 32,000 characters), with room.
_MOST_ELEMENTS = 900
_MOST_CHARACTERS = 30_000


@dataclass(frozen=True)
class HostedZone:
    """One zone. `name` has no final dot."""

    id: str
    name: str
    is_private: bool


class Route53Api:
    """The calls a backend needs. `seconds` is the deadline of one call, throttling included.

    Credentials, region and another endpoint come from where AWS's tools take them: environment or files.
    """

    def __init__(self, *, seconds: float = 60.0) -> None:
        self._seconds = seconds
        config = Config(connect_timeout=5, read_timeout=min(30.0, seconds), retries={"total_max_attempts": 1})
        try:
            # A session of its own: the one boto3 shares remembers the credentials of whoever came first.
            self._client: Route53Client = boto3.session.Session().client("route53", config=config)
        except (botocore.exceptions.BotoCoreError, ValueError) as error:
            raise BackendError(f"AWS's settings cannot be used: {_say(error)}") from error

    def fetch_zones(self) -> list[HostedZone]:
        """All hosted zones. Raises BackendError."""
        zones: list[HostedZone] = []
        for page in self._pages("list_hosted_zones", {}):
            for each in page["HostedZones"]:
                is_private = bool(each.get("Config", {}).get("PrivateZone"))
                zones.append(
                    HostedZone(each["Id"].rpartition("/")[2], each["Name"].removesuffix("."), is_private)
                )
        return zones

    def fetch_record_sets(self, zone_id: str) -> Iterator[dict[str, Any]]:
        """All record sets of a zone, page after page. Raises BackendError."""
        for page in self._pages("list_resource_record_sets", {"HostedZoneId": zone_id}):
            yield from page["ResourceRecordSets"]

    def change(self, zone_id: str, changes: Sequence[dict[str, Any]]) -> None:
        """One batch, all or nothing. Raises PartRefused where the service will not take it."""
        batch: Any = {"Changes": list(changes)}
        self._call(
            lambda: self._client.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch=batch),
            writes=True,
        )

    def _pages(self, operation: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        call: Callable[..., dict[str, Any]] = getattr(self._client, operation)
        following: dict[str, Any] = {}
        while True:
            page = self._call(partial(call, MaxItems=str(_PAGE), **arguments, **following))
            yield page
            if not page.get("IsTruncated"):
                return
            last, following = following, _build_following(page)
            if following == last:
                raise BackendError("Route 53 returns the same page again and again. Nothing of it was used.")

    def _call(self, call: Callable[[], _T], *, writes: bool = False) -> _T:
        ends_at, throttled = time.monotonic() + self._seconds, 0
        while True:
            try:
                return call()
            except botocore.exceptions.ClientError as error:
                code = str(error.response.get("Error", {}).get("Code", ""))
                throttled += 1
                wait = compute_pause(throttled, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=_SPREAD)
                if code not in _THROTTLED or time.monotonic() + wait >= ends_at:
                    raise _translate(code, error, writes=writes) from error
                # Throttled means that it was not looked at: asking again is not sending twice.
                time.sleep(wait)
            except botocore.exceptions.NoCredentialsError as error:
                raise BackendError(
                    "No AWS credentials are given. Nothing was changed. Set AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role gives them."
                ) from error
            except botocore.exceptions.BotoCoreError as error:
                unknown = (
                    "It may have been applied: read the records again." if writes else "Nothing was read."
                )
                raise BackendError(f"Route 53 did not respond: {_say(error)}. {unknown}") from error


def _build_following(page: dict[str, Any]) -> dict[str, Any]:
    if "NextMarker" in page:
        return {"Marker": page["NextMarker"]}
    names = {
        "NextRecordName": "StartRecordName",
        "NextRecordType": "StartRecordType",
        "NextRecordIdentifier": "StartRecordIdentifier",
    }
    return {ours: page[theirs] for theirs, ours in names.items() if page.get(theirs)}


def _translate(code: str, error: botocore.exceptions.ClientError, *, writes: bool) -> BackendError:
    text = str(error.response.get("Error", {}).get("Message", ""))[:500]
    if code in _BATCH_REFUSED:
        return PartRefused(f"Route 53 does not take the batch: {text}", reason=Reason.SERVICE)
    if code in _KEYS_REFUSED:
        return BackendError(f"AWS does not accept the credentials ({code}). Nothing was changed.")
    if code in {"AccessDenied", "AccessDeniedException"}:
        return BackendError(
            "The credentials may not do this in Route 53. Nothing was changed. They need ListHostedZones, "
            "ListResourceRecordSets and ChangeResourceRecordSets."
        )
    if code == "NoSuchHostedZone":
        return ChangeRefused("The hosted zone is gone. Nothing was changed there.", reason=Reason.SERVICE)
    if code in _THROTTLED:
        return BackendError(f"Route 53 throttles ({code}), also after waiting. Nothing was changed.")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    is_unknown = writes and status >= _FAILED_INSIDE
    true_now = "It may have been applied: read the records again." if is_unknown else "Nothing was changed."
    return BackendError(f"Route 53 responded with {code}: {text} {true_now}")


def _say(error: Exception) -> str:
    return str(error)[:300].removesuffix(".")


@dataclass
class Part:
    """Changes that are never apart: those of a record set and of the claims for it."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    keys: list[EndpointKey] = field(default_factory=list)

    @property
    def elements(self) -> int:
        """What the service counts: every value, and an alias as one."""
        return sum(max(1, len(_values_of(change))) for change in self.changes)

    @property
    def characters(self) -> int:
        return sum(len(each["Value"]) for change in self.changes for each in _values_of(change))


def build_part(key: EndpointKey, held: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None) -> Part:
    """A DELETE of exactly what was read, since the service deletes nothing that differs in a letter, and a
    CREATE."""
    changes = []
    if held is not None:
        changes.append({"Action": "DELETE", "ResourceRecordSet": held})
    if wanted is not None:
        changes.append({"Action": "CREATE", "ResourceRecordSet": wanted})
    return Part(changes, [key])


def join_parts(made: Sequence[tuple[str, Part]]) -> dict[str, Part]:
    """One part for each zone out of those of a group."""
    joined: dict[str, Part] = {}
    for zone_id, part in made:
        whole = joined.setdefault(zone_id, Part())
        whole.changes += part.changes
        whole.keys += part.keys
    return joined


def split_parts(parts: Sequence[Part]) -> list[list[Part]]:
    """Parts in batches within the limits, in their order. One that is too large itself is alone in its
    batch, and for the service to refuse."""
    batches: list[list[Part]] = []
    elements = characters = 0
    for part in parts:
        elements += part.elements
        characters += part.characters
        if not batches or elements > _MOST_ELEMENTS or characters > _MOST_CHARACTERS:
            batches.append([])
            elements, characters = part.elements, part.characters
        batches[-1].append(part)
    return batches


def _values_of(change: dict[str, Any]) -> Sequence[dict[str, str]]:
    values: Sequence[dict[str, str]] = change["ResourceRecordSet"].get("ResourceRecords", ())
    return values
