"""Reading one TXT endpoint: which of its targets are claims, and which record set they are for."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from providers.registries.claim import DEFAULT_PROFILE, ClaimFormat, TxtProfile
from providers.registries.encryption import decrypt_labels_text, looks_encrypted
from providers.registries.gather import Key, Record
from providers.registries.labels import describe_unreadable_owner, parse_labels
from providers.registries.ownership import is_alias
from providers.registries.txt_names import TxtNameReader, TxtNameReading, list_names_meant
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import EndpointKey


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One target of a TXT record set that is, or may be, a claim.

    `is_guess`: it only has the form of an encrypted claim; the zone must tell whether it is one.
    `is_heritage`: it names ExternalDNS, so that an instance that can read it takes it for a claim.
    """

    txt: Record
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
    `name_read` is the name before that is considered.
    """

    profile: TxtProfile
    name_read: str
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


def read_statement(txt: Record, target: str, keys: Sequence[bytes]) -> Statement | None:
    """The claim a TXT target states, or may state, with these keys at hand; None if it is foreign."""
    labels = parse_labels(target)
    if labels is not None:
        return Statement(txt, target, labels, None, describe_unreadable_owner(labels))
    if not looks_encrypted(target):
        return None
    for key in keys:
        decrypted = decrypt_labels_text(target, key)
        if decrypted is None:
            continue
        labels = parse_labels(decrypted.plain)
        if labels is None:
            problem = "The claim decrypts to a text without heritage."
            return Statement(txt, target, {}, key, problem, is_heritage=False)
        return Statement(txt, target, labels, key, describe_unreadable_owner(labels))
    problem = "It looks encrypted, and no registered profile has a key that decrypts it."
    return Statement(txt, target, {}, problem=problem, is_guess=True, is_heritage=False)


class RecordIndex:
    """The record sets of a provider, to ask whether there is one where a claim points.

    TXT record sets may be added to `records` later.
    """

    def __init__(self, records: Mapping[Key, Record]) -> None:
        self._records = records

    def find_name(self, name: str, record_type: str, set_identifier: str, txt_name: str) -> str | None:
        """The name of a record set that a claim at `txt_name` can be for, as the record set holds it: the
        text is shared, since there may be a million. None if there is no such record set."""
        if record_type:
            record = self._records.get((name, record_type, set_identifier))
            if record is None and record_type == "CNAME":
                record = self._find_alias(name, set_identifier)
            return None if record is None else record.key.name
        if (name, set_identifier) in self._untyped:
            return name
        # A legacy claim is never for the very TXT record set that it is in.
        return name if name != txt_name and (name, "TXT", set_identifier) in self._records else None

    def _find_alias(self, name: str, set_identifier: str) -> Record | None:
        record = self._records.get((name, "A", set_identifier))
        return record if record is not None and is_alias(record.endpoint) else None

    @cached_property
    def _untyped(self) -> set[tuple[str, str]]:
        """Names and set identifiers of what a legacy claim is for. Many zones have none to ask about."""
        keys = self._records.keys()
        return {(name, identifier) for name, kind, identifier in keys if kind not in {"AAAA", "TXT"}}


class NameResolver:
    """Finds the record set that a TXT name is for, under several profiles at once.

    `tried` are the profiles in the order they are tried. The default format is tried last even where it is
    not registered: heritage text that points to an existing record is a claim, whoever wrote it.
    """

    def __init__(self, profiles: Collection[TxtProfile], index: RecordIndex) -> None:
        self.tried = list_tried(profiles)
        self._candidates = [
            _Candidate(profile, TxtNameReader(profile), profile.wildcard_replacement.lower(), place)
            for place, profile in enumerate(self.tried)
        ]
        self._registered = len(set(profiles)) or 1
        self._index = index

    def resolve(self, statement: Statement) -> Reference | None:
        """The best reading of the TXT name for this statement; None if there is none."""
        best: tuple[_Rank, Reference] | None = None
        for candidate in self._candidates:
            reference = self._refer(statement.txt, candidate)
            if reference is None:
                continue
            if len(self._candidates) == 1:
                return reference
            rank = _rank(reference, statement, candidate.place)
            if best is None or rank < best[0]:
                best = (rank, reference)
        return best[1] if best else None

    def _refer(self, txt: Record, candidate: _Candidate) -> Reference | None:
        reading = _read_name(txt, candidate.reader)
        if reading is None:
            return None
        name, record_type, claim_format = reading
        found = self._find_names(txt.key, name, record_type, candidate.wildcard_replacement)
        if found and found[0] == name:
            name = found[0]  # the text that the record set holds, in place of a second one
        return Reference(
            profile=candidate.profile,
            name_read=name,
            record_names=found or (name,),
            record_type=record_type,
            format=claim_format,
            exists=bool(found),
            is_registered=candidate.place < self._registered,
        )

    def _find_names(
        self, txt_key: EndpointKey, name: str, record_type: str, wildcard_replacement: str
    ) -> tuple[str, ...]:
        found = [
            self._index.find_name(each, record_type, txt_key.set_identifier, txt_key.name)
            for each in list_names_meant(name, wildcard_replacement)
        ]
        return tuple([each for each in found if each is not None])


def list_tried(profiles: Collection[TxtProfile]) -> list[TxtProfile]:
    """The profiles that a zone is read under, each once, in a fixed order.

    The default format comes last even where it is not registered, unless a registered profile has neither
    prefix nor suffix: then it is known how claims are written there.
    """
    registered = sorted(set(profiles), key=_profile_order) or [DEFAULT_PROFILE]
    has_plain = any(not profile.prefix and not profile.suffix for profile in registered)
    return registered if has_plain else [*registered, DEFAULT_PROFILE]


def _read_name(txt: Record, reader: TxtNameReader) -> TxtNameReading | None:
    spelling = txt.endpoint.dns_name
    if spelling.isascii():
        return reader.read(txt.key.name)
    # The A-labels of `a-münchen` and `münchen` have nothing in common: the type comes off first.
    reading = reader.read(spelling.lower().removesuffix("."))
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
