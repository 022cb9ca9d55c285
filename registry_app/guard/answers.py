"""What the guard answers to each call of one instance."""

from collections.abc import Sequence
from functools import partial

import msgspec

from providers.http.errors import ProviderError
from providers.wire.canonical_name import endpoint_key
from providers.wire.domain_filter import DomainFilter
from providers.wire.elements import cut_elements, join_elements
from providers.wire.errors import WireError
from providers.wire.json_codec import (
    DecodedRecords,
    decode_change_set_strict,
    decode_records,
    encode_endpoints,
)
from registry_app.errors import SecretUnavailable
from registry_app.guard.apply_changes import apply_changes
from registry_app.guard.deadline import Deadline, Unavailable, run_before
from registry_app.guard.desired_set import store_desired_set
from registry_app.guard.given_back import give_back
from registry_app.guard.negotiation import find_domain_filter, find_view
from registry_app.guard.records import RecordsReading
from registry_app.guard.view_readings import ViewReader, raise_if_outside
from registry_app.mirror.client import build_client
from registry_app.models import GuardEndpoint
from registry_app.reconcile.failure import describe_failure

_MODE = GuardEndpoint.Mode


def answer_negotiation(endpoint: GuardEndpoint, deadline: Deadline) -> DomainFilter:
    """The filter of the provider, cut to the view of the endpoint, in every mode: without it the instance
    would not start. Raises Unavailable."""
    return find_domain_filter(endpoint, deadline)


def answer_records(endpoint: GuardEndpoint, reader: ViewReader, deadline: Deadline) -> RecordsReading:
    """All that the provider shows, or what of it is in the endpoint's own view. Raises Unavailable."""
    raise_if_paused(endpoint)
    reading = reader.read(endpoint, deadline)
    if len(reading.body) > endpoint.max_body_bytes:
        raise Unavailable(
            f"The records of {endpoint.provider} have {len(reading.body)} bytes, and the instance takes "
            f"{endpoint.max_body_bytes}: it would end.",
            todo="Raise --webhook-provider-max-body-size of the instance, and then the largest body of its "
            "guard endpoint.",
        )
    return reading


def answer_adjust(endpoint: GuardEndpoint, body: bytes, reader: ViewReader, deadline: Deadline) -> bytes:
    """The desired endpoints in the form the provider would store them; what the instance wants is stored.

    What lies outside of the endpoint's own view is left out: the instance does not read what is there. Where
    the guard enforces, what is frozen or held comes back as it is there. Endpoints that cannot be read
    come back as they are: what is left out and exists would be deleted. Raises Unavailable.
    """
    raise_if_paused(endpoint)
    provider = endpoint.provider
    try:
        decoded = decode_records(body, max_items=provider.max_items)
    except WireError as error:
        raise Unavailable(f"The desired endpoints cannot be read: {error}") from error
    try:
        with build_client(provider, seconds=deadline.left()) as client:
            adjusted = client.adjust_endpoints(decoded.endpoints)
    except (ProviderError, WireError, SecretUnavailable) as error:
        raise Unavailable(f"{provider} did not adjust: {describe_failure(error)[1]}") from error
    answer = encode_endpoints(adjusted)
    _store_desired(endpoint, answer, decoded)
    view = find_view(endpoint)
    if view is not None:
        adjusted = tuple(each for each in adjusted if view.matches(each.dns_name))
        answer = encode_endpoints(adjusted)
    if endpoint.mode == _MODE.ENFORCE:
        answer = encode_endpoints(give_back(endpoint, adjusted, reader, deadline))
    return _with_unread(answer, body, [each.index for each in decoded.set_aside])


def _store_desired(endpoint: GuardEndpoint, adjusted: bytes, posted: DecodedRecords) -> None:
    """As the provider adjusts it: it is with this that the instance plans. What the provider made of it is
    hostile as well. Some drop the labels."""
    found = decode_records(adjusted, max_items=endpoint.provider.max_items)
    labels = {endpoint_key(each): each.labels for each in posted.endpoints}
    desired = [
        each if each.labels else msgspec.structs.replace(each, labels=labels.get(endpoint_key(each), {}))
        for each in found.endpoints
    ]
    store_desired_set(endpoint, desired, len(posted.set_aside) + len(found.set_aside))


def answer_changes(endpoint: GuardEndpoint, body: bytes, deadline: Deadline) -> None:
    """Take a change set: what passes is sent and read back. In a dry run it is judged and nothing is sent,
    and the instance is told that all was applied. Raises Unavailable.

    At the deadline the work goes on, and the instance is told to ask again: its next request waits until the
    work is done, and finds what came of it.
    """
    raise_if_paused(endpoint)
    try:
        change_set = decode_change_set_strict(body, max_items=endpoint.provider.max_items)
    except WireError as error:
        raise Unavailable(f"The change set cannot be read: {error}", now="Nothing was sent.") from error
    if endpoint.mode == _MODE.OBSERVE:
        raise_if_outside(endpoint, change_set)
    run_before(deadline, partial(apply_changes, endpoint, change_set, deadline))


def raise_if_paused(endpoint: GuardEndpoint) -> None:
    """Raise Unavailable for an instance that is to change nothing."""
    if endpoint.mode == _MODE.PAUSED:
        raise Unavailable(
            f"The guard endpoint {endpoint.slug} is paused.",
            now="The instance changes nothing.",
            todo="Set its mode to observe or enforce to go on.",
        )


def _with_unread(adjusted: bytes, body: bytes, indexes: Sequence[int]) -> bytes:
    if not indexes:
        return adjusted
    elements = cut_elements(body, max_items=len(body)) or []
    listed = msgspec.json.decode(adjusted, type=list[msgspec.Raw])
    return join_elements([*listed, *(elements[index] for index in indexes)])
