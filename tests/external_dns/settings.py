"""The flags of one ExternalDNS."""

from dataclasses import dataclass, field
from enum import StrEnum

from providers.planning.planned_changes import Policy
from providers.registries.claim import TxtProfile
from providers.wire.domain_filter import DomainFilter


class Version(StrEnum):
    """The versions that were recorded."""

    CURRENT = "v0.22"
    OLDER = "v0.15.1"  # capitalized keys, and a legacy claim beside each new one


@dataclass(frozen=True)
class Settings:
    """What the process is started with. `base_url` may hold user-info.

    `encryption_key` is of 32 bytes and also means --txt-encrypt-enabled. `is_dry_run` changes nothing:
    through a webhook provider ExternalDNS writes all the same.
    """

    base_url: str
    owner_id: str
    policy: Policy = Policy.SYNC
    txt_prefix: str = ""
    txt_suffix: str = ""
    wildcard_replacement: str = ""
    encryption_key: bytes | None = None
    managed_types: tuple[str, ...] = ("A", "AAAA", "CNAME")
    domain_filter: DomainFilter = field(default_factory=DomainFilter)
    txt_cache_seconds: float = 0.0
    timeout_seconds: float = 15.0
    max_body_bytes: int = 32 * 2**20
    is_dry_run: bool = False
    version: Version = Version.CURRENT

    def __post_init__(self) -> None:
        if not self.owner_id:
            raise ValueError("ExternalDNS does not start without --txt-owner-id.")
        if self.txt_prefix and self.txt_suffix:
            raise ValueError("ExternalDNS does not start with both --txt-prefix and --txt-suffix.")
        if self.encryption_key is not None and len(self.encryption_key) != 32:
            raise ValueError(
                "ExternalDNS does not start with a --txt-encrypt-aes-key that is not of 32 bytes."
            )

    @property
    def profile(self) -> TxtProfile:
        """The settings of the registry alone."""
        return TxtProfile(
            prefix=self.txt_prefix,
            suffix=self.txt_suffix,
            wildcard_replacement=self.wildcard_replacement,
            encryption_key=self.encryption_key,
        )
