"""The aws-sd registry: the labels text is the description of a Cloud Map service, carried in a label."""

from collections.abc import Iterable

import msgspec

from providers.registries.labels import describe_unreadable_owner, parse_labels
from providers.registries.stored_claim import StoredClaim
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey

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
            continue  # nobody can be told to own what has no name
        problem = _LISTED_TWICE if key in claims else describe_unreadable_owner(parse_labels(text) or {})
        claims[key] = StoredClaim(key, text, problem)
    return list(claims.values())
