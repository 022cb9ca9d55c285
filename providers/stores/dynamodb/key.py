"""What we show AWS to be let in, and where a region's DynamoDB is."""

import re
from dataclasses import dataclass

import botocore.loaders
import botocore.regions

from providers.http.credentials import HIDDEN
from providers.http.errors import InvalidAddress, InvalidCredentials

_REGION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*+").fullmatch
_MAX_REGION_LENGTH = 40


@dataclass(frozen=True, repr=False)
class AwsKey:
    """An access key; temporary credentials have a session token too."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""

    def __post_init__(self) -> None:
        if not self.access_key_id or not self.secret_access_key:
            raise InvalidCredentials(
                "An AWS access key has an id and a secret; one of the two is missing.",
                hint="Enter both, and the session token too for temporary credentials.",
            )
        for text in (self.access_key_id, self.secret_access_key, self.session_token):
            # Spaces too: the usual cause of a signature that does not match is one copied along.
            if not all("!" <= character <= "~" for character in text) or "/" in self.access_key_id:
                raise InvalidCredentials(
                    "The AWS access key holds a character that no such key has, so it was not used.",
                    hint="A space or line break at the end is the usual cause: enter it again without.",
                )

    def __repr__(self) -> str:
        return f"AwsKey({self.access_key_id!r}, {HIDDEN})"

    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        return tuple(text for text in (self.secret_access_key, self.session_token) if text)


def build_dynamodb_url(region: str) -> str:
    """The service's usual address in a region, also of one that is newer than this program.

    Raises InvalidAddress for what is no region of AWS.
    """
    raise_if_no_region(region)
    data = botocore.loaders.create_loader().load_data("endpoints")
    found = botocore.regions.EndpointResolver(data).construct_endpoint("dynamodb", region)
    # "local" is a region there too, and means a port of this machine.
    if found is None or not found["hostname"].endswith(f".{found['dnsSuffix']}"):
        raise InvalidAddress(
            f"AWS has no region {region!r}.",
            hint="Write it as AWS does, such as eu-central-1, or give the address of the endpoint.",
        )
    return f"https://{found['hostname']}"


def raise_if_no_region(region: str) -> None:
    """Raises InvalidAddress for a text that cannot be in a signature or a host name."""
    if not _REGION(region) or len(region) > _MAX_REGION_LENGTH:
        raise InvalidAddress(
            "The AWS region is not written as one, so nothing was sent.",
            hint="Write it as AWS does, such as eu-central-1.",
        )
