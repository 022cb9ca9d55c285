"""Which TXT record claims which record set: the names, both ways."""

from collections.abc import Iterator
from typing import NamedTuple

from providers.registries.claim import ClaimFormat, TxtProfile
from providers.registries.errors import TxtNameTooLong
from providers.wire.canonical_name import canonical_name

RECORD_TYPE_TEMPLATE = "%{record_type}"
# In the order ExternalDNS tries them in a template: where two fit, the first one wins.
CLAIMABLE_TYPES = ("A", "AAAA", "CNAME", "NS", "MX", "PTR", "SRV", "NAPTR", "TXT", "DNAME")
_TYPE_BY_LABEL = {record_type.lower(): record_type for record_type in CLAIMABLE_TYPES}
_MAX_LABEL = 63
_MAX_NAME = 253


class TxtNameReading(NamedTuple):
    """The record set that a TXT name is for. `record_type` is empty in the legacy format."""

    record_name: str
    record_type: str
    format: ClaimFormat


class _Affix(NamedTuple):
    prefix: str
    suffix: str
    record_type: str  # empty: the type is in the name, or nowhere


class TxtNameReader:
    """Reads TXT names under one profile; made once, for any number of names."""

    def __init__(self, profile: TxtProfile) -> None:
        prefix, suffix = profile.prefix.lower(), profile.suffix.lower()
        self._suffix_labels = suffix.count(".")
        self._has_suffix = bool(suffix)
        self._affixes = _affixes(prefix, suffix)

    def read(self, name: str) -> TxtNameReading | None:
        """The record set that a TXT of this lower-case name is for; None if the profile does not fit."""
        if not self._has_suffix:
            for prefix, _, record_type in self._affixes:
                if name.startswith(prefix):
                    return _read(name[len(prefix) :], "", record_type)
            return None
        head, tail = self._split(name)
        for prefix, suffix, record_type in self._affixes:
            end = len(head) - len(suffix)
            if head.endswith(suffix) and head.startswith(prefix, 0, max(end, 0)):
                return _read(head[len(prefix) : end], tail, record_type)
        return None

    def list_txt_names(self, record_name: str) -> Iterator[str]:
        """Every name, in lower case, that `read` may read as a claim for `record_name`; and maybe others. For
        profiles with a prefix or a suffix, not with both."""
        first, dot, rest = record_name.partition(".")
        typed = [f"{label}-{first}" for label in _TYPE_BY_LABEL]
        for prefix, suffix, record_type in self._affixes:
            for head in (first,) if record_type else (first, *typed):
                yield f"{prefix}{head}{suffix}{dot}{rest}"

    def _split(self, name: str) -> tuple[str, str]:
        """The first label with the labels the suffix brings along, and what follows, its dot included."""
        labels = name.split(".", self._suffix_labels + 1)
        if len(labels) <= self._suffix_labels + 1:
            return name, ""
        return ".".join(labels[:-1]), f".{labels[-1]}"


def lower_as_go(name: str) -> str:
    """A name in lower case as ExternalDNS makes it so: letter by letter, without regard to its neighbours."""
    if name.isascii():
        return name.lower()
    return "".join(letter.lower()[:1] for letter in name)


def format_txt_name(record_name: str, record_type: str, profile: TxtProfile) -> str:
    """The name of the TXT record that ExternalDNS writes for this record under this profile.

    The record's own spelling is kept: ExternalDNS joins the two by comparing letters.
    Raises TxtNameTooLong, or InvalidName for a name beyond ASCII that has no DNS form.
    """
    first, dot, rest = record_name.removesuffix(".").partition(".")
    type_label = record_type.lower()
    if first == "*" and profile.wildcard_replacement:
        first = profile.wildcard_replacement.lower()
    prefix, suffix = profile.prefix.lower(), profile.suffix.lower()
    if RECORD_TYPE_TEMPLATE not in prefix + suffix:
        first = f"{type_label}-{first}"
    prefix = prefix.replace(RECORD_TYPE_TEMPLATE, type_label)
    suffix = suffix.replace(RECORD_TYPE_TEMPLATE, type_label)
    txt_name = f"{prefix}{first}{suffix}{dot}{rest}"
    _raise_if_too_long(txt_name, record_name)
    return txt_name


def format_legacy_txt_name(record_name: str, profile: TxtProfile) -> str:
    """The name of the TXT record without a type that ExternalDNS wrote, beside the other one, before 0.16.

    Raises as `format_txt_name`.
    """
    first, dot, rest = record_name.removesuffix(".").partition(".")
    if first == "*" and profile.wildcard_replacement:
        first = profile.wildcard_replacement.lower()
    prefix, suffix = (
        affix.lower().replace(RECORD_TYPE_TEMPLATE, "") for affix in (profile.prefix, profile.suffix)
    )
    txt_name = f"{prefix}{first}{suffix}{dot}{rest}"
    _raise_if_too_long(txt_name, record_name)
    return txt_name


def parse_txt_name(txt_name: str, profile: TxtProfile) -> TxtNameReading | None:
    """The record set that a TXT of this name is for under this profile; None if the profile does not fit.

    The name alone proves nothing: any name at all reads as a legacy claim without prefix. The wildcard
    replacement is not undone here, since only the records of the zone can tell which name is meant.
    """
    return TxtNameReader(profile).read(txt_name.lower().removesuffix("."))


def list_names_meant(record_name: str, wildcard_replacement: str) -> list[str]:
    """The names a claim for `record_name` may mean: it and, where its first label is the profile's
    wildcard replacement (in lower case), the wildcard."""
    first, dot, rest = record_name.partition(".")
    if wildcard_replacement and first == wildcard_replacement:
        return [record_name, f"*{dot}{rest}"]
    return [record_name]


def _affixes(prefix: str, suffix: str) -> tuple[_Affix, ...]:
    if RECORD_TYPE_TEMPLATE not in prefix + suffix:
        return (_Affix(prefix, suffix, ""),)
    typed = tuple(
        _Affix(
            prefix.replace(RECORD_TYPE_TEMPLATE, label),
            suffix.replace(RECORD_TYPE_TEMPLATE, label),
            record_type,
        )
        for label, record_type in _TYPE_BY_LABEL.items()
    )
    untyped = _Affix(prefix.replace(RECORD_TYPE_TEMPLATE, ""), suffix.replace(RECORD_TYPE_TEMPLATE, ""), "")
    return (*typed, untyped)


def _read(head: str, tail: str, record_type: str) -> TxtNameReading | None:
    """The reading of a name without its affix; the type, unless the affix gave it, is in the head."""
    if record_type:
        return _reading(head + tail, record_type)
    label, dash, rest = head.partition("-")
    type_in_name = _TYPE_BY_LABEL.get(label, "")
    return _reading((rest if type_in_name and dash else head) + tail, type_in_name)


def _reading(name: str, record_type: str) -> TxtNameReading | None:
    # `a-.example.org` would be for a name with an empty first label: there is none.
    if not name or name.startswith("."):
        return None
    return TxtNameReading(name, record_type, ClaimFormat.NEW if record_type else ClaimFormat.LEGACY)


def _raise_if_too_long(txt_name: str, record_name: str) -> None:
    on_the_wire = txt_name if txt_name.isascii() else canonical_name(txt_name)
    if len(on_the_wire) > _MAX_NAME:
        raise TxtNameTooLong(
            f"The claim of {record_name} needs a TXT record of {len(on_the_wire)} characters; "
            f"a name has {_MAX_NAME} at most. A shorter prefix or suffix is needed."
        )
    longest = max(on_the_wire.split("."), key=len)
    if len(longest) > _MAX_LABEL:
        raise TxtNameTooLong(
            f"The claim of {record_name} needs a TXT record with the label {longest!r} of {len(longest)} "
            f"characters; a label has {_MAX_LABEL} at most. A shorter prefix or suffix is needed."
        )
