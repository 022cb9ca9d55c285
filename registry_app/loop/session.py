"""The write session of a run: how it reads the provider, and which values it has compared there."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from providers.planning.equal_values import EqualValues
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import ValuePair
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety
from registry_app.loop.claim_rows import decode_rows
from registry_app.mirror.baseline import compare_stores, compare_with_known, raise_if_implausible
from registry_app.mirror.domain_filter import fetch_domain_filter, read_known_filter
from registry_app.mirror.plausibility import NOTHING, Counts
from registry_app.mirror.snapshot import Snapshot
from registry_app.writes.session import WriteSession

# Few values decide anything; a provider that shows more of them would be asked for ever.
_MOST_QUESTIONS = 1_000


@dataclass(kw_only=True)
class LoopSession(WriteSession):
    """The write session of a run.

    `removed` counts what the run `run_id` deleted, or may have: that is not implausible. `asked` are the
    pairs of property values that the provider was asked about.
    """

    run_id: int | None = None
    removed: Counts = NOTHING
    asked: set[ValuePair] = field(default_factory=set)
    _equal: frozenset[ValuePair] = frozenset()

    def parse_rows(self, body: bytes) -> list[StoredClaimChange]:
        return list(decode_rows(body))

    def read(self, names: Collection[str] | None = None, *, with_changed: bool = False) -> Snapshot:
        """What the provider and its registry stores show now. Raises ProviderError, WireError, LeaseLost.

        With canonical `names`, other record sets need not be in the snapshot; with `with_changed`, those that
        changed since the mirror was last true are.
        """
        self.renew()
        has_stores = self.registries.are_any
        # Only a whole reading shows whether a registry store lost claims.
        names = None if has_stores else names
        reading = self.zone_reader.read(names, follows_links=True, with_changed=with_changed)
        snapshot = self.read_stores(reading)
        found = compare_with_known(
            self.provider,
            snapshot.shown,
            snapshot.item_count,
            self.removed,
            compares_claims=not has_stores,
            run_id=self.run_id,
        )
        raise_if_implausible(self.provider, found)
        if has_stores:
            raise_if_implausible(self.provider, compare_stores(self.provider, snapshot))
        return snapshot

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> EqualValues:
        """Which of these property values mean the same to the provider, if its protocol can tell.

        Each pair is asked about once, and a thousand at most: the others are as they are written. Raises
        LeaseLost.
        """
        self.renew()
        self._equal |= self.client.find_equal_values(self._note_asked(pairs))
        return EqualValues(self._equal)

    def _note_asked(self, pairs: Iterable[ValuePair]) -> Iterator[ValuePair]:
        for pair in pairs:
            if pair not in self.asked and len(self.asked) < _MOST_QUESTIONS:
                self.asked.add(pair)
                yield pair

    def negotiate(self) -> DomainFilter:
        """The names the provider manages, as negotiated now.

        Raises ProviderError, LeaseLost, and RefusedBySafety where it negotiated another filter before.
        """
        self.renew()
        known = read_known_filter(self.provider.domain_filter)
        negotiated = fetch_domain_filter(self.client, fetch_now())
        if known is not None and not known.says_the_same(negotiated):
            raise RefusedBySafety(
                f"{self.provider.name} negotiated another domain filter than at its last sync: "
                "another service may respond there, or one with other settings.",
                now="Nothing was planned or sent.",
                todo="Sync the provider, and accept or reject its held snapshot.",
                code="domain_filter_changed",
            )
        return DomainFilter(
            negotiated.include, negotiated.exclude, negotiated.regex_include, negotiated.regex_exclude
        )
