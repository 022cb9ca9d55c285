"""A zone that changes at random, and what its mirror must say: told by how it was made, not by pairing it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from providers.backends.single_change import key_of
from providers.registries.claim import TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.models import Finding
from tests.reference_server import ReferenceProvider, make_claim, make_record

BLUE, GREEN, RED = "blue-cluster", "green-cluster", "red-cluster"
PREFIX = "extdns."
KEY = "0123456789abcdef0123456789abcdef"
STYLES = (
    *("plain", "plain", "plain", "none", "conflict", "second", "legacy", "both"),
    *("prefixed", "sealed", "orphan"),
)
Found = tuple[str, str, str]  # kind, name (an owner id where it is about an owner), record type
Kind = Finding.Kind


@dataclass(frozen=True)
class Known:
    """What people told dnsadmin: registered profiles, registered owners, and whether blue has a pattern."""

    has_prefix: bool = False
    has_key: bool = False
    registered: frozenset[str] = frozenset()
    has_pattern: bool = False


@dataclass(frozen=True)
class Entry:
    """One record set, and how it is claimed."""

    name: str
    record_type: str
    target: str
    style: str
    owner: str
    sealed: str

    def endpoints(self) -> list[Endpoint]:
        record = make_record(self.name, self.record_type, (self.target,))
        return [*([] if self.style == "orphan" else [record]), *self._claims()]

    def _claims(self) -> list[Endpoint]:
        claim = make_claim(self.name, self.record_type, self.owner)
        legacy = make_record(self.name, "TXT", claim.targets)
        rival = make_claim(self.name, self.record_type, RED)
        prefixed = TxtProfile(prefix=PREFIX)
        return {
            "plain": [claim],
            "orphan": [claim],
            "none": [],
            "legacy": [legacy],
            "both": [claim, legacy],
            # Under two profiles; and two texts in one TXT record set, of which ExternalDNS reads the first.
            "conflict": [claim, make_claim(self.name, self.record_type, RED, prefixed)],
            "second": [make_record(claim.dns_name, "TXT", (*claim.targets, *rival.targets))],
            "prefixed": [make_claim(self.name, self.record_type, self.owner, prefixed)],
            "sealed": [make_record(claim.dns_name, "TXT", (self.sealed,))],
        }[self.style]

    def owner_ids(self, known: Known) -> list[str]:
        """One for each claim that can be read."""
        if self.style == "none" or (self.style == "sealed" and not known.has_key):
            return []
        claimed = {"conflict": [self.owner, RED], "second": [self.owner, RED], "both": [self.owner] * 2}
        return claimed.get(self.style, [self.owner])

    def ownership(self, known: Known) -> tuple[str, str]:
        """State and owner id."""
        if self.style == "conflict" and known.has_prefix:
            return "conflict", ""
        if self.style == "sealed" and not known.has_key:
            return "unknown", ""
        if self.style == "none" or (self.style == "prefixed" and not known.has_prefix):
            return "unmanaged", ""
        return "owned", self.owner

    def findings(self, known: Known) -> set[Found]:
        here = (self.name, self.record_type)
        state, _ = self.ownership(known)
        found: set[Found] = set()
        if self.style in {"prefixed", "conflict"} and not known.has_prefix:
            kind = self.record_type.lower()
            found.add((Kind.ORPHAN_CLAIM, f"{PREFIX}{kind}-{self.name}", ""))
        if self.style == "sealed" and not known.has_key:
            found.add((Kind.UNREADABLE_CLAIM, *here))
        if state == "unmanaged" and known.has_pattern and BLUE in known.registered:
            found.add((Kind.UNMANAGED_IN_PATTERN, *here))
        if state == "conflict":
            found.add((Kind.CONFLICT, *here))
        told: dict[str, Found] = {
            "orphan": (Kind.ORPHAN_CLAIM, *here),
            "second": (Kind.UNHEARD_CLAIM, *here),
            "legacy": (Kind.LEGACY_CLAIM, self.name, ""),
            "both": (Kind.SUPERSEDED_CLAIM, self.name, ""),
        }
        return found | ({told[self.style]} if self.style in told else set())


@dataclass
class Zone:
    """The entries of one provider."""

    dice: random.Random
    entries: list[Entry] = field(default_factory=list)
    made: int = 0

    def grow(self, count: int) -> None:
        self.entries += [self._make() for _ in range(count)]

    def shrink(self, count: int) -> None:
        self.dice.shuffle(self.entries)
        del self.entries[:count]

    def alter(self, count: int) -> None:
        """Other targets, other owners, other ways to be claimed."""
        for place in self.dice.sample(range(len(self.entries)), min(count, len(self.entries))):
            fresh = self._make()
            entry = self.entries[place]
            others = [
                replace(entry, target=self._pick_target(entry.record_type)),
                replace(entry, owner=fresh.owner, sealed=fresh.sealed),
                replace(entry, style=fresh.style),
            ]
            self.entries[place] = self.dice.choice(others)

    def flap(self) -> None:
        """One record set has another value, always the same one."""
        if self.entries:
            first = min(self.entries, key=lambda entry: entry.name)
            place = self.entries.index(first)
            self.entries[place] = replace(first, target=self._pick_target(first.record_type))

    def endpoints(self) -> list[Endpoint]:
        return [endpoint for entry in self.entries for endpoint in entry.endpoints()]

    def record_sets(self, known: Known) -> list[tuple[str, str, str, list[str], str, str | None, bool]]:
        """What `syncing.mirrored` must say."""
        return sorted(
            (entry.name, entry.record_type, "", [entry.target], state, owner or None, False)
            for entry in self.entries
            if entry.style != "orphan"
            for state, owner in [entry.ownership(known)]
        )

    def claim_count(self) -> int:
        return sum(
            {"none": 0, "conflict": 2, "second": 2, "both": 2}.get(entry.style, 1) for entry in self.entries
        )

    def findings(self, known: Known) -> set[Found]:
        owners = {owner for entry in self.entries for owner in entry.owner_ids(known)}
        unregistered = {(str(Kind.UNREGISTERED_OWNER), owner, "") for owner in owners - known.registered}
        return unregistered.union(*(entry.findings(known) for entry in self.entries))

    def _make(self) -> Entry:
        self.made += 1
        number, owner = self.made, self.dice.choice([BLUE, BLUE, GREEN])
        record_type = self.dice.choice(["A", "A", "CNAME"])
        target = self._pick_target(record_type)
        heritage = f"heritage=external-dns,external-dns/owner={owner}"
        sealed = f'"{encrypt_labels_text(heritage, KEY.encode())}"'
        style = self.dice.choice(STYLES)
        return Entry(f"app-{number}.example.org", record_type, target, style, owner, sealed)

    def _pick_target(self, record_type: str) -> str:
        number = self.dice.randint(0, 255)
        return f"192.0.2.{number}" if record_type == "A" else f"lb-{number}.example.net"


def show(reference: ReferenceProvider, endpoints: Sequence[Endpoint]) -> None:
    """Make the zone of a provider just this."""
    now = {key_of(endpoint): endpoint for endpoint in endpoints}
    was = {key_of(endpoint): endpoint for endpoint in reference.backend.contents()}
    both = [key for key in now if key in was and now[key] != was[key]]
    reference.backend.apply(
        ChangeSet(
            create=tuple(now[key] for key in now if key not in was),
            update_old=tuple(was[key] for key in both),
            update_new=tuple(now[key] for key in both),
            delete=tuple(was[key] for key in was if key not in now),
        )
    )
