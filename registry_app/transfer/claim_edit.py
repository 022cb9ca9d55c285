"""The ownership TXT records of one item, before and after, while its plan is being built. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text
from providers.registries.errors import RegistryError
from providers.wire.canonical_name import canonical_name
from providers.wire.endpoint import Endpoint
from registry_app.transfer.provider_plan import EndpointDict
from registry_app.transfer.subjects import ClaimFacts, TxtKey


class UnusableClaim(RegistryError):
    """A claim that cannot be rewritten; `code` says why, for programs."""

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
            f"Its claim at {claim.txt.name} is encrypted, and no registry profile has the key that opens it.",
        )
    return claim.raw.replace(claim.raw.strip('"'), decrypted.plain, 1)


class ClaimEdit:
    """Collects changes to the TXT records an item touches; `before()` and `after()` are the result.

    `contents` gives all targets of each TXT record of the mirror, those that are no claims included.
    """

    def __init__(self, contents: Mapping[TxtKey, tuple[str, ...]]) -> None:
        self._contents = contents
        self._before: dict[TxtKey, tuple[str, ...]] = {}
        self._after: dict[TxtKey, list[_Target]] = {}
        self._created: dict[TxtKey, EndpointDict] = {}

    def replace(self, claim: ClaimFacts, text: str, encrypt_with: str) -> None:
        """Put `text` where the claim's target stands; the endpoint's other targets stay, in their order."""
        self._open(claim.txt)
        new = _Target(text, encrypt_with)
        replaced = [new if target.text == claim.raw else target for target in self._after[claim.txt]]
        # Claims that disagreed may now say the same, and a provider refuses a target twice.
        self._after[claim.txt] = list(dict.fromkeys(replaced))

    def remove(self, claim: ClaimFacts) -> None:
        """Take the claim's target out of its TXT record."""
        self._open(claim.txt)
        self._after[claim.txt] = [target for target in self._after[claim.txt] if target.text != claim.raw]

    def add(self, endpoint: Endpoint, encrypt_with: str) -> None:
        """A TXT record that does not stand there yet."""
        values: EndpointDict = msgspec.to_builtins(endpoint)
        if encrypt_with:
            values["encrypt"] = {"0": encrypt_with}
        self._created[TxtKey(endpoint.dns_name.lower(), endpoint.set_identifier)] = values

    def touches(self, key: TxtKey) -> bool:
        return key in self._before or key in self._created

    def before(self) -> list[EndpointDict]:
        return [build_txt_dict(key, targets) for key, targets in self._before.items()]

    def after(self) -> list[EndpointDict]:
        kept = [
            build_txt_dict(
                key,
                [target.text for target in targets],
                {
                    str(place): target.encrypt_with
                    for place, target in enumerate(targets)
                    if target.encrypt_with
                },
            )
            for key, targets in self._after.items()
            if targets
        ]
        return kept + list(self._created.values())

    def _open(self, key: TxtKey) -> None:
        if key not in self._before:
            self._before[key] = self._contents[key]
            self._after[key] = [_Target(text) for text in self._contents[key]]


def build_txt_dict(
    key: TxtKey, targets: Sequence[str], encrypt: Mapping[str, str] | None = None
) -> EndpointDict:
    """A TXT endpoint as it stands in a plan."""
    values: EndpointDict = {"dnsName": key.name, "targets": list(targets), "recordType": "TXT"}
    if key.set_identifier:
        values["setIdentifier"] = key.set_identifier
    if encrypt:
        values["encrypt"] = dict(encrypt)
    return values


def txt_key_of(endpoint: EndpointDict) -> TxtKey:
    """Where a TXT endpoint of a plan stands, whatever spelling its provider gave it."""
    return TxtKey(canonical_name(str(endpoint["dnsName"])), str(endpoint.get("setIdentifier", "")))
