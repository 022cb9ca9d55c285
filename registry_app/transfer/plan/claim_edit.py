"""The claims of one item, before and after, while its plan is being built. Pure."""

from collections.abc import Collection, Mapping

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text
from providers.registries.errors import RegistryError
from providers.wire.endpoint import Endpoint
from registry_app.transfer.plan.claim_key import (
    ClaimKey,
    EndpointDict,
    build_claim_dict,
    build_row,
    claim_key_of,
    format_endpoint,
)
from registry_app.transfer.plan.subjects import ClaimFacts


class UnusableClaim(RegistryError):
    """A claim that cannot be rewritten; `code` is the reason, for programs."""

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class _Target(msgspec.Struct, frozen=True):
    text: str
    encrypt_with: str = ""


def read_plain_text(claim: ClaimFacts, profiles: Mapping[str, TxtProfile]) -> str:
    """The heritage text of a claim, in quotes if its target is. Raises UnusableClaim."""
    if not claim.is_encrypted:
        return claim.raw
    profile = profiles.get(claim.profile_reference)
    key = profile.encryption_key if profile else None
    decrypted = decrypt_labels_text(claim.raw, key) if key else None
    if decrypted is None:
        raise UnusableClaim(
            "encryption_key_missing",
            f"Its claim at {claim.place.name} is encrypted, and no registry profile has the key that "
            "decrypts it.",
        )
    return claim.raw.replace(claim.raw.strip('"'), decrypted.plain, 1)


class ClaimEdit:
    """Collects changes at the places an item touches; `before()` and `after()` are the result.

    `contents` gives all targets of each place of the mirror, those that are no claims included.
    """

    def __init__(self, contents: Mapping[ClaimKey, tuple[str, ...]]) -> None:
        self._contents = contents
        self._before: dict[ClaimKey, tuple[str, ...]] = {}
        self._after: dict[ClaimKey, list[_Target]] = {}
        self._created: dict[ClaimKey, EndpointDict] = {}

    def replace(self, claim: ClaimFacts, text: str, encrypt_with: str = "") -> None:
        """Put `text` in the place of the claim's target; the other targets stay, in their order."""
        self._open(claim.place)
        new = _Target(text, encrypt_with)
        replaced = [new if target.text == claim.raw else target for target in self._after[claim.place]]
        # Claims that disagreed may now be the same, and a provider refuses a target twice.
        self._after[claim.place] = list(dict.fromkeys(replaced))

    def remove(self, claim: ClaimFacts) -> None:
        """Take the claim's target from its place."""
        self._open(claim.place)
        stay = [target for target in self._after[claim.place] if target.text != claim.raw]
        self._after[claim.place] = stay

    def add(self, endpoint: Endpoint, encrypt_with: str = "") -> None:
        """Add a TXT record that does not exist yet."""
        values: EndpointDict = msgspec.to_builtins(endpoint)
        if encrypt_with:
            values["encrypt"] = {"0": encrypt_with}
        self._created[claim_key_of(values)] = values

    def add_row(self, key: ClaimKey, text: str) -> None:
        """Add a row of a registry store that does not exist yet."""
        self._created[key] = format_endpoint(build_row(key, (text,)), key.store)

    def find_removed_place(self, claims: Collection[ClaimFacts]) -> ClaimKey | None:
        """The first place where a reader of one of `claims` finds neither a kept nor a new one, if any.

        Only those who have the key read what is encrypted."""
        for key, targets in self._after.items():
            existing = {claim.raw: _find_encryption(claim) for claim in claims if claim.place == key}
            others = set(self._contents[key]) - existing.keys()
            ours = [target for target in targets if target.text not in others]
            kept = {target.encrypt_with or existing.get(target.text, "") for target in ours}
            if any(kept.isdisjoint({"", reference}) for reference in existing.values()):
                return key
        return None

    def before(self) -> list[EndpointDict]:
        return [build_claim_dict(key, targets) for key, targets in self._before.items()]

    def after(self) -> list[EndpointDict]:
        kept = [_format(key, targets) for key, targets in self._after.items() if targets]
        return kept + list(self._created.values())

    def _open(self, key: ClaimKey) -> None:
        if key not in self._before:
            self._before[key] = self._contents[key]
            self._after[key] = [_Target(text) for text in self._contents[key]]


def _find_encryption(claim: ClaimFacts) -> str:
    return claim.profile_reference if claim.is_encrypted else ""


def _format(key: ClaimKey, targets: list[_Target]) -> EndpointDict:
    encryption = {str(place): each.encrypt_with for place, each in enumerate(targets) if each.encrypt_with}
    return build_claim_dict(key, [each.text for each in targets], encryption)
