"""Which changes of an instance pass (rules G1 to G9 of docs/guard.md). Pure.

The unit of every decision is a name with its set identifier: all its types and their claims.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import chain

from providers.registries.claim import Claim, OwnershipState, PairedEndpoint, Pairing
from providers.registries.encryption import decrypt_labels_text
from providers.registries.labels import is_strict_heritage
from providers.wire.canonical_name import canonical_targets
from providers.wire.endpoint import Endpoint, EndpointKey, is_same_ttl
from providers.wire.poison import safe_text
from registry_app.guard.asked import AskedChange, Side, is_unchanged, with_targets
from registry_app.guard.unit import Caller, Judged, Refusal, Unit, UnitKey
from registry_app.guard.zone import Edits, Zone, find_touched, is_owned_by, list_claims
from registry_app.models import CLAIM_OF_ANOTHER, NO_OWNER, GuardRule

_TXT = "TXT"
_ALONE = "CNAME"
_HIDE_WHAT_IS_BELOW = frozenset({"NS", "DNAME", "CNAME"})


class Judge:
    """Judges one change set against one reading of the zone."""

    def __init__(self, zone: Zone, caller: Caller, changes: Mapping[EndpointKey, AskedChange]) -> None:
        self._zone = zone
        self._caller = caller
        self._changes = changes
        self._keys = sorted({each.encryption_key for each in zone.profiles if each.encryption_key})

    def judge(self) -> Judged:
        """Every unit, and the refusals."""
        units = self._build_units()
        refusals = {key: found for key, unit in units.items() if (found := self._judge(unit))}
        return self._check_result(Judged(units, refusals))

    def build_edits(self, judged: Judged, passing: Collection[UnitKey]) -> dict[EndpointKey, Endpoint | None]:
        """What becomes of each place if these units are sent; places that stay as they are not in it."""
        edits: dict[EndpointKey, Endpoint | None] = {}
        written = {(text, claim.raw) for key in passing for text, claim in judged.units[key].claims}
        for key, change in self._changes.items():
            live = self._zone.find(key)
            if change.has_claims:
                new = self._edit_text(change, live, passing, written)
            elif (key.name, key.set_identifier) in passing:
                new = change.new.endpoint if change.new else None
            else:
                continue
            if not is_unchanged(live, new):
                edits[key] = new
        return edits

    def _build_units(self) -> dict[UnitKey, Unit]:
        units: dict[UnitKey, Unit] = {}
        predicted = list_claims(self._zone.predict(self._predict_all()))
        for key, change in self._changes.items():
            if change.is_record:
                _unit_at(units, key.name, key.set_identifier).changes.append(change)
            if not change.has_claims:
                continue
            asked = change.new.claims if change.new else ()
            found = {claim.raw: claim for claim in predicted.get(key, ())}
            for claim in (*self._list_own_claims(key), *(found[raw] for raw in asked if raw in found)):
                unit = _unit_at(units, claim.record_name, key.set_identifier)
                if claim.raw in asked and claim.raw in found:
                    unit.claims.append((key, claim))
                if change.problem and change not in unit.changes:
                    unit.changes.append(change)
            if any(raw not in found for raw in asked):
                unit = _unit_at(units, key.name, key.set_identifier)
                unit.unread = True
        return units

    def _predict_all(self) -> Edits:
        """Everything as it is asked, for what the claims would be about."""
        edits: dict[EndpointKey, Endpoint | None] = {}
        for key, change in self._changes.items():
            live = self._zone.find(key)
            if change.has_claims and live is not None and change.new is not None:
                texts = dict.fromkeys((*live.targets, *change.new.endpoint.targets))
                edits[key] = with_targets(change.new.endpoint, tuple(texts))
            else:
                edits[key] = change.new.endpoint if change.new else None
        return edits

    def _list_own_claims(self, key: EndpointKey) -> list[Claim]:
        found = self._zone.claims_at.get(key, ())
        return [claim for claim in found if claim.owner_id == self._caller.owner_id]

    def _edit_text(
        self,
        change: AskedChange,
        live: Endpoint | None,
        passing: Collection[UnitKey],
        written: Collection[tuple[EndpointKey, str]],
    ) -> Endpoint | None:
        """A TXT record set with claims: those of others stay, as does other text unless it is asked for."""
        key, new = change.key, change.new
        own = {
            claim.raw
            for claim in self._list_own_claims(key)
            if (claim.record_name, key.set_identifier) in passing
        }
        claims = {claim.raw for claim in self._zone.claims_at.get(key, ())}
        takes_rest = change.is_record and (key.name, key.set_identifier) in passing
        adds = tuple(raw for raw in (new.claims if new else ()) if (key, raw) in written)
        if not (own or takes_rest or adds):
            return live
        targets = [
            target
            for target in (live.targets if live else ())
            if target not in own and (target in claims or not takes_rest)
        ]
        stays = bool(targets)
        targets += [*adds, *(new.rest if new and takes_rest else ())]
        # Where something of others stays, all else of it stays as well.
        base = live if stays or new is None else new.endpoint
        return with_targets(base, tuple(dict.fromkeys(targets))) if base is not None and targets else None

    def _judge(self, unit: Unit) -> Refusal | None:
        stop = self._caller.find_stop(unit.name)
        if stop:
            return Refusal(GuardRule.FROZEN, stop)
        if unit.name in self._zone.unreadable:
            return Refusal(GuardRule.FOREIGN_NAME, "A record at this name, or its claim, cannot be read.")
        records = (refusal for change in unit.changes for refusal in self._judge_record(change))
        return next(chain(records, self._judge_types(unit), self._judge_claims(unit)), None)

    def _judge_record(self, change: AskedChange) -> Iterator[Refusal]:
        key = change.key
        if change.problem:
            yield Refusal(GuardRule.AMBIGUOUS, change.problem)
        if not self._caller.is_managed(key.name):
            yield Refusal(GuardRule.OUTSIDE, "The provider does not manage this name.")
        if not self._caller.is_in_patterns(key.name):
            yield Refusal(GuardRule.OUTSIDE, f"{self._caller.owner_id} is not responsible for this name.")
        live, record = self._zone.find(key), self._zone.records.get(key)
        if change.old is None:
            yield from self._judge_create(key, record)
        elif record is None:
            if change.new is not None:
                yield Refusal(GuardRule.CHANGED_SINCE, "It is gone since the instance read it.")
        elif not is_owned_by(record, self._caller.owner_id):
            yield Refusal(GuardRule.NOT_OWNER, f"It is {_describe_owner(record)}.")
        elif live is not None and not _is_as_read(change.old, live):
            yield Refusal(GuardRule.CHANGED_SINCE, _describe_live(live))
        yield from self._judge_properties(change, live)

    def _judge_create(self, key: EndpointKey, record: PairedEndpoint | None) -> Iterator[Refusal]:
        if record is not None:
            if not is_owned_by(record, self._caller.owner_id):
                yield Refusal(GuardRule.FOREIGN_NAME, f"It is there, and it is {_describe_owner(record)}.")
            return
        for other in self._zone.at_name.get(key.name, ()):
            if is_owned_by(other, self._caller.owner_id):
                continue
            said = f"{_describe_key(other.key)} at this name is {_describe_owner(other)}."
            if other.key.set_identifier == key.set_identifier:
                yield Refusal(GuardRule.FOREIGN_NAME, said)
            elif not other.owner_id or not self._caller.may_share(key.name, other.owner_id):
                yield Refusal(GuardRule.FOREIGN_SET, said)
        if _hides(key) and (hidden := self._hidden.get(_find_hiding(key))):
            yield Refusal(GuardRule.SHADOWS, f"{hidden} lies below it and is not the instance's.")

    @cached_property
    def _hidden(self) -> Mapping[tuple[str, bool], str]:
        """What lies below each name of a create that hides it: asked for once for all of them."""
        asked: dict[bool, set[str]] = defaultdict(set)
        for key, change in self._changes.items():
            if change.old is None and _hides(key):
                name, whatever = _find_hiding(key)
                asked[whatever].add(name)
        return {
            (name, whatever): found
            for whatever, names in asked.items()
            for name, found in self._caller.find_hidden(names, whatever=whatever).items()
        }

    def _judge_properties(self, change: AskedChange, live: Endpoint | None) -> Iterator[Refusal]:
        allowed = self._caller.allowed_properties
        if not allowed or change.new is None:
            return
        known = {each.name for each in live.provider_specific} if live else set()
        for each in change.new.endpoint.provider_specific:
            if each.name not in allowed and each.name not in known:
                reason = f"The property {safe_text(each.name)} is not among the provider's allowed ones."
                yield Refusal(GuardRule.PROPERTY, reason)

    def _judge_types(self, unit: Unit) -> Iterator[Refusal]:
        """A CNAME stands alone at its name; TXT beside it is left to the provider."""
        if all(each.new is None for each in unit.changes):
            return
        asked = {each.key: each for each in unit.changes}
        stay = {record.key for record in self._zone.at_name.get(unit.name, ()) if record.key not in asked}
        come = {key for key, each in asked.items() if each.new is not None}
        kinds = {key.record_type for key in stay | come} - {_TXT}
        has_come = {key.record_type for key, each in asked.items() if each.old is None}
        if _ALONE in kinds and len(kinds) > 1 and has_come:
            others = ", ".join(sorted(kinds - {_ALONE}))
            yield Refusal(GuardRule.NAME_IN_USE, f"CNAME and {others} would be at one name.")

    def _judge_claims(self, unit: Unit) -> Iterator[Refusal]:
        if unit.unread:
            yield Refusal(GuardRule.CLAIM, "A claim cannot be read with the known registry profiles.")
        for _, claim in unit.claims:
            if claim.owner_id != self._caller.owner_id:
                said = safe_text(claim.owner_id) if claim.owner_id else NO_OWNER
                yield Refusal(GuardRule.CLAIM, f"{CLAIM_OF_ANOTHER} {said}, not {self._caller.owner_id}.")
            elif not self._is_exact(claim):
                yield Refusal(GuardRule.CLAIM, "Its claim is not written as ExternalDNS writes it.")
            elif not self._has_record(unit):
                yield Refusal(GuardRule.CLAIM, "The claim is for no record set of the instance.")

    def _is_exact(self, claim: Claim) -> bool:
        if not claim.is_encrypted:
            return is_strict_heritage(claim.raw)
        found = (decrypt_labels_text(claim.raw, key) for key in self._keys)
        return any(each is not None and is_strict_heritage(each.plain) for each in found)

    def _has_record(self, unit: Unit) -> bool:
        return any(each.new is not None for each in unit.changes) or any(
            is_owned_by(record, self._caller.owner_id)
            for record in self._zone.at_name.get(unit.name, ())
            if record.key.set_identifier == unit.key[1]
        )

    def _check_result(self, judged: Judged) -> Judged:
        """The second look: what the zone would be. All that is written with a claim must be the instance's,
        and nobody else's record set or claim may differ (I12)."""
        after = self._zone.predict(self.build_edits(judged, judged.passing))
        not_owned = self.list_not_owned(judged, after)
        if not_owned:
            reason = "With the claims that are there, its owner would be another one."
            refused = dict.fromkeys(not_owned, Refusal(GuardRule.CLAIM, reason))
            judged = Judged(judged.units, {**judged.refusals, **refused})
            after = self._zone.predict(self.build_edits(judged, judged.passing))
        passing = judged.passing
        asked = {change.key for key in passing for change in judged.units[key].changes}
        touched = find_touched(self._zone.pairing, after, self._caller.owner_id, asked)
        if not touched:
            return judged
        reason = f"Together, these changes would change {touched[0]}, which is not the instance's."
        refused = dict.fromkeys(passing, Refusal(GuardRule.CLAIM, reason[:500]))
        return Judged(judged.units, {**judged.refusals, **refused})

    def list_not_owned(self, judged: Judged, after: Pairing) -> list[UnitKey]:
        """Units with a record set that would be another owner's, or nobody's in spite of its claim."""
        records = {record.key: record for record in after.records}
        return [
            key
            for key in judged.passing
            for each in judged.units[key].changes
            if each.new is not None
            and not is_owned_by(record := records.get(each.key), self._caller.owner_id)
            and (judged.units[key].claims or not _is_unmanaged(record))
        ]


def _hides(key: EndpointKey) -> bool:
    """Whether a record set hides what is below its name, or answers in its place."""
    return key.record_type in _HIDE_WHAT_IS_BELOW or key.name.startswith("*.")


def _find_hiding(key: EndpointKey) -> tuple[str, bool]:
    """Below which name, and whether whatever is there: a wildcard may stand above what is nobody's."""
    return key.name.removeprefix("*."), key.record_type in _HIDE_WHAT_IS_BELOW


def _is_unmanaged(record: PairedEndpoint | None) -> bool:
    return record is not None and record.state is OwnershipState.UNMANAGED


def _unit_at(units: dict[UnitKey, Unit], name: str, set_identifier: str) -> Unit:
    return units.setdefault((name, set_identifier), Unit((name, set_identifier)))


def _is_as_read(old: Side, live: Endpoint) -> bool:
    """Whether the old value of a change is what is there; claims beside it do not count."""
    if old.claims:
        return set(old.rest) <= set(live.targets)
    return canonical_targets(old.endpoint) == canonical_targets(live) and is_same_ttl(
        old.endpoint.record_ttl, live.record_ttl
    )


def _describe_live(live: Endpoint) -> str:
    shown = ", ".join(safe_text(target) for target in live.targets[:5])
    return f"It changed since the instance read it: it has {shown} now."[:500]


def _describe_owner(record: PairedEndpoint) -> str:
    if record.owner_id:
        return f"owned by {safe_text(record.owner_id)}"
    return {
        OwnershipState.CONFLICT: "in conflict between owners",
        OwnershipState.UNKNOWN: "of an unknown owner",
    }.get(record.state, "nobody's")


def _describe_key(key: EndpointKey) -> str:
    return f"{key.record_type} ({safe_text(key.set_identifier)})" if key.set_identifier else key.record_type
