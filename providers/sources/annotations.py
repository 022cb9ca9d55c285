"""The annotations of an Ingress or a Service that ExternalDNS reads. Pure.

ExternalDNS logs an annotation that it cannot read and goes on without it: under policy sync, records go or
lose their TTL. Here the manifest is refused.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from providers.sources.errors import InvalidManifest, Place
from providers.sources.manifest_fields import ManifestObject
from providers.wire.endpoint import ProviderSpecificProperty

# Since v0.22 the second one; manifests have both.
_PREFIXES = ("external-dns.alpha.kubernetes.io/", "external-dns.kubernetes.io/")
# What an instance does not skip. Other values stand for other programs.
_OUR_CONTROLLER = "dns-controller"
_WEBHOOK = "webhook-"
_LONGEST_TTL = 2**31 - 1
_PART_OF_A_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1), "ms": Fraction(1, 10**3)}
_SECONDS |= {"us": Fraction(1, 10**6), "µs": Fraction(1, 10**6), "μs": Fraction(1, 10**6)}
_SECONDS |= {"ns": Fraction(1, 10**9)}


@dataclass(frozen=True)
class Annotations:
    """ExternalDNS's annotations of one object, by their names without the prefix."""

    texts: dict[str, str]
    places: dict[str, Place]

    @property
    def is_for_others(self) -> bool:
        """Whether another controller is named, so that ExternalDNS skips the object."""
        return self.texts.get("controller", _OUR_CONTROLLER) != _OUR_CONTROLLER

    def place(self, name: str) -> Place:
        """The place of an annotation that is there."""
        return self.places[name]

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names with commas between them; empty where the annotation is missing or empty."""
        text = self.texts.get(name, "").replace(" ", "").strip()
        found = tuple(text.split(",")) if text else ()
        if not all(found):
            reason = "a comma has no name beside it; remove it."
            raise InvalidManifest(reason, self.places[name])
        return found

    def targets(self) -> tuple[str, ...]:
        """The targets that are given instead of those of the load balancer."""
        return tuple(each.removesuffix(".") for each in self.names("target"))

    def ttl(self) -> int:
        """The TTL in seconds, given as such or as a duration such as `10m`; 0 where none is given."""
        text = self.texts.get("ttl")
        if text is None:
            return 0
        seconds = _parse_ttl(text)
        if seconds is None or not 1 <= seconds <= _LONGEST_TTL:
            reason = (
                f'it is no TTL; write seconds (1 to {_LONGEST_TTL}) or a duration, such as "300" or "5m".'
            )
            raise InvalidManifest(reason, self.places["ttl"])
        return seconds

    def set_identifier(self) -> str:
        return self.texts.get("set-identifier", "")

    def properties(self) -> tuple[ProviderSpecificProperty, ...]:
        """What a webhook provider is given: `alias`, and `webhook/NAME` for each `webhook-NAME`."""
        found = {"alias": "true"} if self.texts.get("alias") == "true" else {}
        for name, text in self.texts.items():
            if name.startswith(_WEBHOOK):
                found[f"webhook/{name.removeprefix(_WEBHOOK)}"] = text
        return tuple(ProviderSpecificProperty(name, found[name]) for name in sorted(found))


def read_annotations(metadata: ManifestObject) -> Annotations:
    """ExternalDNS's annotations under either of its prefixes. Raises InvalidManifest where both differ."""
    texts: dict[str, str] = {}
    places: dict[str, Place] = {}
    place = metadata.place.field("annotations")
    for key, text in metadata.text_map("annotations").items():
        prefix = next((each for each in _PREFIXES if key.startswith(each)), None)
        if prefix is None:
            continue
        name = key.removeprefix(prefix)
        if texts.setdefault(name, text) != text:
            reason = f"{places[name].path} says something else; keep one of them."
            raise InvalidManifest(reason, place.field(key))
        places.setdefault(name, place.field(key))
    return Annotations(texts, places)


def _parse_ttl(text: str) -> int | None:
    """Seconds, a duration's fraction cut off, as Go reads both; None for anything else."""
    digits = text.removeprefix("+")
    if digits.isascii() and digits.isdigit():
        return int(digits) if len(digits) <= len(str(_LONGEST_TTL)) else None
    seconds, place = Fraction(0), 0
    while place < len(digits):
        part = _PART_OF_A_DURATION.match(digits, place)
        if part is None:
            return None
        seconds += Fraction(_complete(part[1])) * _SECONDS[part[2]]
        place = part.end()
    return int(seconds) if digits else None


def _complete(number: str) -> str:
    """`.5` and `5.` as `fractions` reads them."""
    return f"0{number}" if number.startswith(".") else number.removesuffix(".")
