"""The aws-sd registry as a store: its rows are labels of the provider's own endpoints."""

from collections.abc import Iterable, Sequence

import msgspec

from providers.http.errors import NothingSent
from providers.registries.labels import describe_unreadable_owner, parse_labels
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.registry import (
    ClaimPlace,
    EndpointClaims,
    RecordsClient,
    RegistryKind,
    StoreAccess,
    StoreSettings,
    reading_before_write,
)
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records, encode_change_set

AWS_SD = "aws-sd"
AWS_SD_DESCRIPTION = "aws-sd-description"
_LISTED_TWICE = "The provider lists its record set more than once, so it is not known which one is meant."


def read_description(endpoint: Endpoint) -> str | None:
    """The heritage text an endpoint carries; None where it has none, or the description is another's."""
    text = endpoint.labels.get(AWS_SD_DESCRIPTION, "")
    return text if parse_labels(text) is not None else None


def write_description(endpoint: Endpoint, text: str | None) -> Endpoint:
    """The endpoint as it is, with this heritage text for its description; None: without a description."""
    labels = {key: value for key, value in endpoint.labels.items() if key != AWS_SD_DESCRIPTION}
    if text is not None:
        labels[AWS_SD_DESCRIPTION] = text
    return msgspec.structs.replace(endpoint, labels=labels)


def read_claims(endpoints: Iterable[Endpoint]) -> list[StoredClaim]:
    """The claims that endpoints carry in themselves, each key once."""
    claims: dict[EndpointKey, StoredClaim] = {}
    for endpoint in endpoints:
        text = read_description(endpoint)
        if text is None:
            continue
        try:
            key = endpoint_key(endpoint)
        except InvalidName:
            continue  # what has no name has no owner
        problem = _LISTED_TWICE if key in claims else describe_unreadable_owner(parse_labels(text) or {})
        claims[key] = StoredClaim(key, text, problem)
    return list(claims.values())


class AwsSdStore:
    """Claims in the label `aws-sd-description` of a provider's endpoints.

    A change is an update of the endpoint itself: exactly as read but for that label. `capitalized_keys` is
    the quirk of providers built before May 2025.
    """

    def __init__(self, client: RecordsClient, *, max_items: int, capitalized_keys: bool = False) -> None:
        self._client = client
        self._max_items = max_items
        self._capitalized_keys = capitalized_keys

    def fetch_claims(self) -> Sequence[StoredClaim]:
        """The claims of all endpoints. Raises ProviderError, WireError."""
        return read_claims(self._fetch())

    def write(self, changes: Sequence[StoredClaimChange]) -> None:
        """Update the endpoints whose description still is `old`: all of them, or nothing is sent.

        The protocol has no precondition, so they are read once more just before. Raises NothingSent, and
        OutcomeUnknown, as the client does.
        """
        found = self._fetch_by_key()
        olds = [_find_unchanged(change, found.get(endpoint_key(change.record), [])) for change in changes]
        news = [write_description(old, change.new) for old, change in zip(olds, changes, strict=True)]
        raise_if_alters_more(olds, news)
        change_set = ChangeSet(update_old=tuple(olds), update_new=tuple(news))
        self._client.apply_changes(encode_change_set(change_set, capitalized_keys=self._capitalized_keys))

    def _fetch(self) -> Sequence[Endpoint]:
        return decode_records(self._client.records().body, max_items=self._max_items).endpoints

    def _fetch_by_key(self) -> dict[EndpointKey, list[Endpoint]]:
        found: dict[EndpointKey, list[Endpoint]] = {}
        try:
            with reading_before_write():
                endpoints = self._fetch()
        except WireError as error:
            raise NothingSent(f"The change was not sent: the records cannot be read ({error}).") from error
        for endpoint in endpoints:
            try:
                found.setdefault(endpoint_key(endpoint), []).append(endpoint)
            except InvalidName:
                continue
        return found


def raise_if_alters_more(olds: Sequence[Endpoint], news: Sequence[Endpoint]) -> None:
    """The last guard before an update is sent (I11): nothing but the description is another.

    Raises ValueError; that it never does is what the tests of everything before it show.
    """
    for old, new in zip(olds, news, strict=True):
        if write_description(old, None) != write_description(new, None):
            raise ValueError(f"The update of {old.dns_name} alters more than its description.")


def _find_unchanged(change: StoredClaimChange, found: Sequence[Endpoint]) -> Endpoint:
    """The endpoint as it is now, if it is just as it was when the change was planned."""
    name = f"{change.record.dns_name} {change.record.record_type}"
    if len(found) != 1:
        times = "more than once" if found else "not any more"
        raise NothingSent(f"The change was not sent: {name} is listed {times}.")
    (endpoint,) = found
    if endpoint != change.record or read_description(endpoint) != change.old:
        raise NothingSent(f"The change was not sent: {name} is not as it was read before.")
    if change.old is None and endpoint.labels.get(AWS_SD_DESCRIPTION):
        raise NothingSent(f"The change was not sent: {name} has a description that is not ours to replace.")
    return endpoint


def _open(_settings: StoreSettings, access: StoreAccess) -> AwsSdStore:
    if access.client is None:
        raise ValueError("The claims of an aws-sd registry are only there where its provider's client is.")
    return AwsSdStore(
        access.client, max_items=access.limits.max_items, capitalized_keys=access.capitalized_keys
    )


AWS_SD_REGISTRY = RegistryKind(
    name=AWS_SD,
    label="AWS Service Discovery (descriptions)",
    place=ClaimPlace.ENDPOINTS,
    where="the description of its Cloud Map service",
    open=_open,
    endpoint_claims=EndpointClaims(AWS_SD_DESCRIPTION, read_claims, write_description),
)
