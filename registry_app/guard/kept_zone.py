"""A zone as an instance is shown it whose claims are kept in the database, and what becomes of its changes.

They are judged on what it is shown, like those of any other instance. What passes is split: record sets go
to the provider, claims become rows. Where the registry profile keeps the TXT records too, claims also go to
the provider, as copies. Then the zone and the rows that would result are looked at. Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from providers.registries.claim import Claim, ClaimFormat, PairedEndpoint, Pairing
from providers.registries.join_stores import join_stores
from providers.registries.labels import OWNER, format_labels, parse_labels
from providers.registries.linked_names import NameLinks
from providers.registries.stored_claim import StoreContents, StoredClaim
from providers.registries.txt_copies import list_copy_names
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.database_claims import RowChange
from registry_app.guard.asked import AskedChange, is_unchanged, with_targets
from registry_app.guard.judge import Judge
from registry_app.guard.kept_claims import KeptClaims
from registry_app.guard.shown_claims import show_claims, strip_claims
from registry_app.guard.unit import Judged, Refusal, UnitKey
from registry_app.guard.zone import Edits, Zone, find_touched, is_owned_by, list_claims
from registry_app.models import GuardRule

_TXT = "TXT"
_NO_LEGACY = frozenset({"AAAA", _TXT})


@dataclass(frozen=True)
class Split:
    """What changes at the provider, and in the rows: `now`, before anything is sent, and `later`, when the
    provider shows that a record set is gone. A row to be made before its record set is an intent."""

    edits: Mapping[EndpointKey, Endpoint | None]
    now: Mapping[EndpointKey, RowChange]
    later: Mapping[EndpointKey, RowChange]


class KeptZone:
    """`zone` is what the provider and the registries have; `shown` what the instance of `owner_id` reads of
    it. `legacy`: see `show_claims`."""

    def __init__(self, zone: Zone, kept: KeptClaims, owner_id: str, legacy: Collection[EndpointKey]) -> None:
        self._zone = zone
        self._kept = kept
        self._owner_id = owner_id
        self._legacy = legacy
        snapshot = zone.snapshot
        stripped = strip_claims(zone.endpoints, snapshot)
        claims = show_claims(snapshot, kept.format, owner_id, legacy)
        endpoints = (*(each for each in stripped if each is not None), *claims)
        self.shown = Zone(endpoints, (kept.format,), zone.records, snapshot, zone.unreadable)

    def split(self, edits: Edits) -> Split:
        """What becomes of changes of what is shown."""
        after = self.shown.predict(edits)
        claims = list_claims(after)
        real: dict[EndpointKey, Endpoint | None] = {}
        touched: dict[EndpointKey, None] = {}
        for key, new in edits.items():
            if key.record_type != _TXT:
                real[key] = new
                touched[key] = None
                continue
            now = claims.get(key, ())
            split = self._copy_text if self._keeps_txt else self._split_text
            change = split(key, new, {claim.raw for claim in now})
            if change is not None:
                real[key] = change[0]
                touched[key] = None
            for claim in (*self.shown.claims_at.get(key, ()), *now):
                touched.update(dict.fromkeys(self._list_claimed(claim, after)))
        return self._with_rows(real, touched, after)

    def check(self, judge: Judge, judged: Judged) -> Judged:
        """The third look: at the zone and the rows that would result. All that is written must be the
        instance's then, or nobody's, and nobody else's record set or claim may differ (I12)."""
        after = self._predict(self.split(judge.build_edits(judged, judged.passing)))
        others = judge.list_not_owned(judged, after)
        if others:
            reason = "With the claims of all registries, its owner would be another one."
            judged = _refuse(judged, others, reason)
            after = self._predict(self.split(judge.build_edits(judged, judged.passing)))
        asked = {change.key for key in judged.passing for change in judged.units[key].changes}
        before = join_stores(self._zone.pairing, self._zone.snapshot.contents, self._zone.profiles)
        touched = find_touched(before, after, self._owner_id, asked, self._own_copies)
        if not touched:
            return judged
        reason = f"Together, these changes would change {touched[0]}, which is not the instance's."
        return _refuse(judged, judged.passing, reason)

    def find_settled(self, key: EndpointKey) -> str | None:
        """The claim in the row of a record set; None where there is none, or an intent."""
        row = self._rows.get(key)
        return row.text if row is not None and row.is_settled else None

    def _split_text(
        self, key: EndpointKey, new: Endpoint | None, claims: Collection[str]
    ) -> tuple[Endpoint | None] | None:
        """What a TXT record set of the provider becomes: what is a claim there stays, the rest is as asked.
        None: it stays as it is."""
        live = self._zone.find(key)
        staying = {claim.raw for claim in self._zone.claims_at.get(key, ())}
        before, after = _without(live, staying), _without(new, claims)
        if is_unchanged(before, after):
            return None
        stays = tuple(target for target in live.targets if target in staying) if live else ()
        base = live if stays else after
        rest = after.targets if after else ()
        return (with_targets(base, (*stays, *rest)),) if base is not None and (stays or rest) else (None,)

    def _copy_text(
        self, key: EndpointKey, new: Endpoint | None, claims: Collection[str]
    ) -> tuple[Endpoint | None] | None:
        """As `_split_text`, where the zone has copies of claims: it becomes what is asked for, and claims of
        others stay. Only at the place of a copy of the instance's own claim, nothing else does."""
        live = self._zone.find(key)
        staying = {
            claim.raw
            for claim in self._zone.claims_at.get(key, ())
            if key not in self._own_copies and claim.owner_id != self._owner_id
        }
        stays = tuple(target for target in live.targets if target in staying) if live else ()
        coming = new.targets if new else ()
        targets = (*stays, *(target for target in coming if target not in stays))
        base = live if stays else new
        after = with_targets(base, targets) if base is not None and targets else None
        return None if is_unchanged(live, after) else (after,)

    def _list_claimed(self, claim: Claim, after: Pairing) -> Iterator[EndpointKey]:
        """The record sets a claim is for, before or after."""
        if claim.record_type:
            yield EndpointKey(claim.record_name, claim.record_type, claim.set_identifier)
            if claim.record_type == "CNAME":
                yield EndpointKey(claim.record_name, "A", claim.set_identifier)  # of an alias
            return
        for record in (*self.shown.pairing.records, *after.records):
            key = record.key
            is_meant = key.name == claim.record_name and key.set_identifier == claim.set_identifier
            if is_meant and key.record_type not in _NO_LEGACY:
                yield key

    def _with_rows(
        self,
        real: dict[EndpointKey, Endpoint | None],
        touched: Collection[EndpointKey],
        after: Pairing,
    ) -> Split:
        records = {record.key: record for record in after.records}
        claimed = {
            EndpointKey(claim.record_name, claim.record_type, claim.set_identifier) for claim in after.claims
        }
        now: dict[EndpointKey, RowChange] = {}
        later: dict[EndpointKey, RowChange] = {}
        for key in touched:
            record, row = records.get(key), self._rows.get(key)
            is_own = row is not None and _read_owner(row) == self._owner_id
            if record is not None and is_owned_by(record, self._owner_id):
                if change := self._build_row(record, row, after):
                    now[key] = change
            elif record is None and row is not None and is_own:
                gone = RowChange(key, row.text, None)
                if key in self._zone.records:
                    later[key] = gone
                elif key not in claimed:
                    now[key] = gone
        return Split(real, now, later)

    def _build_row(self, record: PairedEndpoint, row: StoredClaim | None, after: Pairing) -> RowChange | None:
        """The row that a record set of the instance is to have; None: it has it, or has no claim at all."""
        if record.effective_claim is None:
            return None
        if row is not None and row.is_settled and _read_owner(row) != self._owner_id:
            return None  # another owner's is never changed: then the record set is not the instance's
        text = format_labels(after.claims[record.effective_claim].labels, quoted=False)
        claims = [after.claims[each] for each in record.claims]
        legacy = any(each.format is ClaimFormat.LEGACY and each.owner_id == self._owner_id for each in claims)
        is_there = record.key in self._zone.records
        if row is not None and row.is_settled and row.text == text and legacy == (record.key in self._legacy):
            return None
        meant = None if is_there else record.endpoint.targets
        return RowChange(record.key, row.text if row else None, text, meant, legacy)

    @cached_property
    def _rows(self) -> dict[EndpointKey, StoredClaim]:
        return {
            claim.key: claim
            for each in self._zone.snapshot.contents
            if self._is_own(each)
            for claim in each.claims
        }

    @cached_property
    def _keeps_txt(self) -> bool:
        return any(each.reference == str(self._kept.profile_id) for each in self._zone.profiles)

    @cached_property
    def _own_copies(self) -> set[EndpointKey]:
        """Where the copies of the rows of the instance's record sets are in the zone, or would be."""
        if not self._keeps_txt:
            return set()
        return {
            EndpointKey(name, _TXT, key.set_identifier)
            for key, row in self._rows.items()
            if row.is_settled
            and (record := self._zone.records.get(key)) is not None
            and is_owned_by(record, self._owner_id)
            for name in list_copy_names(record.endpoint, self._kept.format)
        }

    def _is_own(self, contents: StoreContents) -> bool:
        return contents.reference == str(self._kept.profile_id)

    def _predict(self, split: Split) -> Pairing:
        """What all registries would say when everything is done."""
        contents = list(self._zone.snapshot.contents)
        rows = dict(self._rows)
        for key, change in {**split.now, **split.later}.items():
            if change.new is None:
                rows.pop(key, None)
            else:
                rows[key] = StoredClaim(key, change.new)
        changed = [
            msgspec.structs.replace(each, claims=tuple(rows.values())) if self._is_own(each) else each
            for each in contents
        ]
        return join_stores(self._zone.predict(split.edits), changed, self._zone.profiles)


def list_names_to_read(changes: Mapping[EndpointKey, AskedChange], kept: KeptClaims | None) -> set[str]:
    """The names that a change set is about: its own, and those that its TXT records claim in the format of an
    instance whose claims are not in the zone."""
    names = {key.name for key in changes}
    if kept is None:
        return names
    links = NameLinks([kept.format])
    for key, change in changes.items():
        for side in change.sides if key.record_type == _TXT else ():
            spelling = side.endpoint.dns_name
            names.update(
                links.list_claimed(key.name if spelling.isascii() else spelling.lower().removesuffix("."))
            )
    return names


def _without(endpoint: Endpoint | None, texts: Collection[str]) -> Endpoint | None:
    """An endpoint without these targets; None where none is left."""
    rest = tuple(target for target in endpoint.targets if target not in texts) if endpoint else ()
    return with_targets(endpoint, rest) if endpoint is not None and rest else None


def _refuse(judged: Judged, units: Collection[UnitKey], reason: str) -> Judged:
    refused = dict.fromkeys(units, Refusal(GuardRule.CLAIM, reason[:500]))
    return Judged(judged.units, {**judged.refusals, **refused})


def _read_owner(row: StoredClaim) -> str:
    return (parse_labels(row.text) or {}).get(OWNER, "")
