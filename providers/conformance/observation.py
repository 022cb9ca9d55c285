"""What a conformance run saw: observations, and the report they make."""

from collections import Counter
from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """What an observation means for whoever runs ExternalDNS or dnsadmin against this provider."""

    PASSED = "passed"  # as the protocol has it
    NOTED = "noted"  # allowed, and good to know: a quirk, a limit, something it does not hold
    FAILED = "failed"  # against the protocol: clients stop, or believe what is not so
    SKIPPED = "skipped"  # could not be asked


class Observation(msgspec.Struct, frozen=True):
    """One thing that was looked at. `advice` is what to do about it, or which setting fits it."""

    area: str
    title: str
    verdict: Verdict
    detail: str = ""
    advice: str = ""


class Report(msgspec.Struct, frozen=True):
    """All observations of one run, in the order in which they were made."""

    origin: str
    protocol: str
    wrote: bool
    seconds: float
    observations: tuple[Observation, ...]

    @property
    def is_conformant(self) -> bool:
        """Whether nothing failed."""
        return not any(each.verdict is Verdict.FAILED for each in self.observations)

    def counts(self) -> dict[str, int]:
        """How many observations there are of each verdict."""
        found = Counter(each.verdict.value for each in self.observations)
        return {verdict.value: found[verdict.value] for verdict in Verdict}
