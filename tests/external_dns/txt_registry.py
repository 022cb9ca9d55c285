"""ExternalDNS's TXT registry: whose each record set is, the claims beside each change, and the cache."""

from collections.abc import Callable, Sequence

from providers.registries.labels import OWNER
from providers.wire.endpoint import Endpoint
from tests.external_dns.claims import build_claims
from tests.external_dns.plan import Changes
from tests.external_dns.reading import ZoneReading, read_zone
from tests.external_dns.record import Record, are_same_targets
from tests.external_dns.settings import Settings

_FORCE_UPDATE = "txt/force-update"


class TxtRegistry:
    """What one process knows of its zone. `clock` says how old the cache is."""

    def __init__(
        self, settings: Settings, fetch: Callable[[], Sequence[Endpoint]], clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._fetch = fetch
        self._clock = clock
        self._cache: list[Record] | None = None
        self._cached_at = 0.0
        self._claim_places: frozenset[tuple[str, str]] = frozenset()

    def fetch_records(self) -> list[Record]:
        """All record sets with the labels that are believed; out of the cache where it is young enough."""
        lifetime = self._settings.txt_cache_seconds
        if self._cache is not None and self._clock() - self._cached_at < lifetime:
            return list(self._cache)
        endpoints = self._fetch()
        reading = read_zone(endpoints, self._settings.profile)
        self._claim_places = reading.claim_places
        records = [
            self._read_record(endpoint, labels, reading)
            for endpoint, labels in zip(endpoints, reading.labels, strict=True)
            if labels is not None
        ]
        if lifetime > 0:
            self._cache, self._cached_at = records, self._clock()
        return list(records)

    def add_claims(self, changes: Changes) -> Changes:
        """The changes as they are sent. With a cache they are believed from here on, whatever is answered."""
        for record in changes.create:
            record.labels[OWNER] = self._settings.owner_id
        claims = self._build_claims(changes.create)
        added = [each for each in claims if (each.dns_name, each.set_identifier) not in self._claim_places]
        sent = Changes(
            [*changes.create, *added],
            [*changes.update_old, *self._build_claims(changes.update_old)],
            [*changes.update_new, *self._build_claims(changes.update_new)],
            [*changes.delete, *self._build_claims(changes.delete)],
        )
        self._believe(changes)
        return sent

    def _read_record(self, endpoint: Endpoint, labels: dict[str, str], reading: ZoneReading) -> Record:
        record = Record.of(endpoint)
        record.labels = dict(labels)
        is_ours = record.is_owned_by(self._settings.owner_id)
        if reading.claim_names and is_ours and record.record_type in self._settings.managed_types:
            # Rendering them puts a nonce among the labels, where there is none.
            for claim in build_claims(record, self._settings):
                if claim.dns_name not in reading.claim_names:
                    record.set_property(_FORCE_UPDATE, "true")
        return record

    def _build_claims(self, records: Sequence[Record]) -> list[Record]:
        return [claim for record in records for claim in build_claims(record, self._settings)]

    def _believe(self, changes: Changes) -> None:
        if self._cache is None:
            return
        self._cache += changes.create
        for gone in (*changes.delete, *changes.update_old):
            self._forget(self._cache, gone)
        self._cache += changes.update_new

    @staticmethod
    def _forget(cache: list[Record], gone: Record) -> None:
        for place, record in enumerate(cache):
            if record.key == gone.key and are_same_targets(record.targets, gone.targets):
                del cache[place]
                return
