"""Reading one TXT endpoint: which of its targets are claims, and which record set they are for."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from providers.registries.claim import DEFAULT_PROFILE, ClaimFormat, TxtProfile
from providers.registries.encryption import decrypt_labels_text, looks_encrypted
from providers.registries.labels import describe_unreadable_owner, parse_labels
from providers.registries.ownership import is_alias
from providers.registries.txt_names import TxtNameReader, TxtNameReading, list_names_meant
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint, EndpointKey


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One target that is, or may be, a claim.

    `is_guess`: it only has the form of an encrypted claim; the zone must tell whether it is one.
    `is_heritage`: it names ExternalDNS, so that an instance that can read it takes it for a claim.
    """

    raw: str
    labels: dict[str, str]
    encryption_key: bytes | None = None
    problem: str = ""
    is_guess: bool = False
    is_heritage: bool = True

    def __repr__(self) -> str:
        # Without the key: it must not reach a log or a traceback.
        return f"Statement(raw={self.raw!r}, problem={self.problem!r}, is_guess={self.is_guess!r})"


class Reference(msgspec.Struct, frozen=True, gc=False):
    """The record set that a TXT name is for: the profile that reads it so, and the names that are meant.

    `record_names` are two where a wildcard replacement may mean `*` and is a name of its own as well.
    """

    profile: TxtProfile
    record_names: tuple[str, ...]
    record_type: str
    format: ClaimFormat
    exists: bool
    is_registered: bool


class _Candidate(NamedTuple):
    profile: TxtProfile
    reader: TxtNameReader
    wildcard_replacement: str
    place: int


class _Rank(NamedTuple):
    """How good a reading is; the smallest wins, down to the profile's place in a fixed order."""

    points_nowhere: bool
    is_unregistered: bool
    key_differs: bool
    is_legacy: bool
    affix_length: int  # negative: the longest is the most specific
    wildcard_misses: bool
    has_idle_key: bool
    place: int


def read_statement(target: str, keys: Sequence[bytes]) -> Statement | None:
    """The claim a TXT target states, or may state, with these keys at hand; None if it is foreign."""
    labels = parse_labels(target)
    if labels is not None:
        return Statement(target, labels, problem=describe_unreadable_owner(labels))
    if not looks_encrypted(target):
        return None
    for key in keys:
        decrypted = decrypt_labels_text(target, key)
        if decrypted is None:
            continue
        labels = parse_labels(decrypted.plain)
        if labels is None:
            problem = "The claim decrypts to a text without heritage."
            return Statement(target, {}, key, problem, is_heritage=False)
        return Statement(target, labels, key, describe_unreadable_owner(labels))
    problem = "It looks encrypted, and no registered profile has a key that decrypts it."
    return Statement(target, {}, problem=problem, is_guess=True, is_heritage=False)


class RecordIndex:
    """The record sets of a provider, to ask whether there is one where a claim points."""

    def __init__(self) -> None:
        self._typed: set[tuple[str, str, str]] = set()
        self._untyped: set[tuple[str, str]] = set()
        self._aliases: set[tuple[str, str]] = set()

    def add(self, records: Iterable[tuple[EndpointKey, Endpoint]]) -> None:
        for key, endpoint in records:
            name, record_type, set_identifier = key
            self._typed.add(key)
            if record_type not in {"AAAA", "TXT"}:
                self._untyped.add((name, set_identifier))
            if endpoint.provider_specific and record_type == "A" and is_alias(endpoint):
                self._aliases.add((name, set_identifier))

    def holds(self, name: str, record_type: str, set_identifier: str, txt_name: str) -> bool:
        """Whether there is a record set that a claim at `txt_name` can be for."""
        if record_type:
            return (name, record_type, set_identifier) in self._typed or (
                record_type == "CNAME" and (name, set_identifier) in self._aliases
            )
        if (name, set_identifier) in self._untyped:
            return True
        # A legacy claim is never for the very TXT record set that it is in.
        return name != txt_name and (name, "TXT", set_identifier) in self._typed


class NameResolver:
    """Finds the record set that a TXT name is for, under several profiles at once.

    The default format is tried last even where it is not registered: heritage text that points to an
    existing record is a claim, whoever wrote it.
    """

    def __init__(self, profiles: Collection[TxtProfile], index: RecordIndex) -> None:
        self._candidates = [
            _Candidate(profile, TxtNameReader(profile), profile.wildcard_replacement.lower(), place)
            for place, profile in enumerate(list_tried(profiles))
        ]
        self._registered = len(set(profiles)) or 1
        self._index = index

    def resolve(self, endpoint: Endpoint, key: EndpointKey, statement: Statement) -> Reference | None:
        """The best reading of this TXT endpoint's name for this statement; None if there is none."""
        best: tuple[_Rank, Reference] | None = None
        for candidate in self._candidates:
            reference = self._refer(endpoint, key, candidate)
            if reference is None:
                continue
            if len(self._candidates) == 1:
                return reference
            rank = _rank(reference, statement, candidate.place)
            if best is None or rank < best[0]:
                best = (rank, reference)
        return best[1] if best else None

    def _refer(self, endpoint: Endpoint, key: EndpointKey, candidate: _Candidate) -> Reference | None:
        reading = _read_name(endpoint, key, candidate.reader)
        if reading is None:
            return None
        name, record_type, claim_format = reading
        names = list_names_meant(name, candidate.wildcard_replacement)
        found = tuple(n for n in names if self._index.holds(n, record_type, key.set_identifier, key.name))
        return Reference(
            profile=candidate.profile,
            record_names=found or (name,),
            record_type=record_type,
            format=claim_format,
            exists=bool(found),
            is_registered=candidate.place < self._registered,
        )


def list_tried(profiles: Collection[TxtProfile]) -> list[TxtProfile]:
    """The profiles that a zone is read under, each once, in a fixed order.

    The default format comes last even where it is not registered, unless a registered profile has neither
    prefix nor suffix: then it is known how claims are written there.
    """
    registered = sorted(set(profiles), key=_profile_order) or [DEFAULT_PROFILE]
    has_plain = any(not profile.prefix and not profile.suffix for profile in registered)
    return registered if has_plain else [*registered, DEFAULT_PROFILE]


def _read_name(endpoint: Endpoint, key: EndpointKey, reader: TxtNameReader) -> TxtNameReading | None:
    if endpoint.dns_name.isascii():
        return reader.read(key.name)
    # The A-labels of `a-münchen` and `münchen` have nothing in common: the type comes off first.
    reading = reader.read(endpoint.dns_name.lower().removesuffix("."))
    if reading is None:
        return None
    try:
        return reading._replace(record_name=canonical_name(reading.record_name))
    except InvalidName:
        return None


def _profile_order(profile: TxtProfile) -> tuple[str, str, str, str, bytes]:
    key = profile.encryption_key or b""
    return (profile.reference, profile.prefix, profile.suffix, profile.wildcard_replacement, key)


def _rank(reference: Reference, statement: Statement, place: int) -> _Rank:
    profile = reference.profile
    return _Rank(
        points_nowhere=not reference.exists,
        is_unregistered=not reference.is_registered,
        key_differs=bool(statement.encryption_key) and profile.encryption_key != statement.encryption_key,
        is_legacy=reference.format is ClaimFormat.LEGACY,
        affix_length=-len(profile.prefix) - len(profile.suffix),
        wildcard_misses=not reference.record_names[-1].startswith("*"),
        has_idle_key=statement.encryption_key is None and profile.encryption_key is not None,
        place=place,
    )
