"""The changes of one step, as values and as the bytes that are stored and sent. Pure but for fresh nonces.

`old` is always what was read. What stays at its place is updated; what is new is created in a first step,
and what it replaces is deleted in a later one, so that no record set is ever without a claim.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.canonical_name import endpoint_key
from providers.wire.change_set import ChangeSet, build_change_set
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.models import TransferStep
from registry_app.transfer.plan.claim_key import (
    ZONE,
    ClaimKey,
    EndpointDict,
    build_row,
    build_row_key,
    describe_place,
    endpoint_key_of,
    parse_endpoint,
)
from registry_app.transfer.send.item_plan import ItemPlan, StepTarget
from registry_app.transfer.send.live_zone import LiveZone, Unsendable, describe_difference, is_as_reviewed
from registry_app.writes.allowed_changes import Allowed
from registry_app.writes.read_back import Change, changes_in, is_as_written

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(tuple[StoredClaimChange, ...])


@dataclass(frozen=True)
class Earlier:
    """What a transfer sent before, for one batch.

    `sent` is what it wrote, or may have written, at each place (None: it removed what was there);
    `verified` are the places at which that was read back.
    """

    sent: Mapping[ClaimKey, Endpoint | None] = field(default_factory=dict)
    verified: frozenset[ClaimKey] = frozenset()


@dataclass
class ChangeBuilder:
    """Collects the changes of one step against one reading of the zone and the stores.

    `profiles` have the keys of what is to be encrypted; what was encrypted once keeps its bytes.
    """

    zone: LiveZone
    profiles: Mapping[str, TxtProfile]
    step_target: StepTarget
    earlier: Earlier = field(default_factory=Earlier)
    changes: dict[ClaimKey, Change] = field(default_factory=dict)

    def add(self, plan: ItemPlan, *, is_under_way: bool = False) -> None:
        """The item's changes of this step, all or none. What is as wanted already is left alone.

        `is_under_way`: an earlier step of the item was verified; what was verified is never sent again,
        not even where it was reverted since. Raises Unsendable.
        """
        if self.step_target.phase == TransferStep.Phase.REMOVE:
            self._raise_if_claimless(plan)
        built: dict[ClaimKey, Change] = {}
        for key in plan.keys(self.step_target):
            change = self.changes.get(key) or self._build(plan, key)
            if change is None:
                continue
            if is_under_way and key in self.earlier.verified:
                place = describe_place(key, self.zone.stores)
                raise Unsendable(f"What was written to {place} was read back, and is not there any more.")
            built[key] = change
        self.changes.update(built)

    def change_set(self) -> ChangeSet:
        """The change set for the zone's provider."""
        return build_change_set(((each.old, each.new) for each in self.changes.values()), self.zone.parts)

    def _build(self, plan: ItemPlan, key: ClaimKey) -> Change | None:
        if self.step_target.phase == TransferStep.Phase.REMOVE:
            return self._build_removed(plan, key)
        return self._build_written(plan, key)

    def _build_written(self, plan: ItemPlan, key: ClaimKey) -> Change | None:
        live, wanted, earlier = self._find_live(key), plan.after[key], self.earlier.sent.get(key)
        if live is not None and earlier is not None and is_as_written(live, earlier):
            return None
        reviewed = plan.before.get(key)
        if not is_as_reviewed(live, reviewed):
            raise Unsendable(describe_difference(key, live, reviewed, self.zone.stores))
        targets = self._encrypt(wanted, reviewed, earlier)
        if live is not None:
            return Change(live, _updated(live, targets, plan, key))
        return Change(None, self._created(plan, key, targets))

    def _build_removed(self, plan: ItemPlan, key: ClaimKey) -> Change | None:
        live, wanted = self._find_live(key), plan.after.get(key)
        if live is None if wanted is None else is_as_reviewed(live, wanted):
            return None
        reviewed = plan.before[key]
        if live is None or not is_as_reviewed(live, reviewed):
            raise Unsendable(describe_difference(key, live, reviewed, self.zone.stores))
        return Change(live, _updated(live, tuple(wanted["targets"]), plan, key) if wanted else None)

    def _raise_if_claimless(self, plan: ItemPlan) -> None:
        """Nothing is removed unless every claim that is to stay exists (I10)."""
        for key, wanted in plan.after.items():
            if key in plan.removed:
                continue
            live, sent = self._find_live(key), self.earlier.sent.get(key)
            exists = is_as_written(live, sent) if sent is not None else is_as_reviewed(live, wanted)
            if not exists:
                raise Unsendable(describe_difference(key, live, wanted, self.zone.stores))

    def _find_live(self, key: ClaimKey) -> Endpoint | None:
        if key in self.zone.unreliable:
            place = describe_place(key, self.zone.stores)
            raise Unsendable(f"The response for {place} is not reliable: {self.zone.unreliable[key]}")
        return self.zone.find(key)

    def _created(self, plan: ItemPlan, key: ClaimKey, targets: tuple[str, ...]) -> Endpoint:
        if key.store:
            return build_row(key, targets)
        wanted = msgspec.structs.replace(parse_endpoint(plan.after[key]), targets=targets)
        likes = (self.zone.find(each) for each in plan.before if each.store == ZONE)
        like = next((each for each in likes if each is not None), None)
        if plan.is_exact or like is None:
            return wanted
        return msgspec.structs.replace(
            like, dns_name=wanted.dns_name, targets=targets, set_identifier=wanted.set_identifier
        )

    def _encrypt(
        self, wanted: EndpointDict, reviewed: EndpointDict | None, earlier: Endpoint | None
    ) -> tuple[str, ...]:
        """The targets as they are sent, encrypted with fresh nonces where they are to be."""
        encryption: dict[str, str] = wanted.get("encrypt", {})
        if not encryption:
            return tuple(wanted["targets"])
        if earlier is not None and len(earlier.targets) == len(wanted["targets"]):
            return earlier.targets
        return tuple(
            self._encrypt_target(text, encryption[str(place)]) if str(place) in encryption else text
            for place, text in enumerate(wanted["targets"])
        )

    def _encrypt_target(self, text: str, reference: str) -> str:
        profile = self.profiles.get(reference)
        if profile is None or profile.encryption_key is None:
            raise RegistryError(
                "The registry profile whose key encrypts the claim is gone, or has no key any more."
            )
        body = text.strip('"')
        return text.replace(body, encrypt_labels_text(body, profile.encryption_key), 1)


def zone_changes_in(change_set: ChangeSet) -> dict[ClaimKey, Change]:
    """The changes of a stored change set, by where they are made."""
    return {ClaimKey(ZONE, *key): change for key, change in changes_in(change_set).items()}


def _updated(live: Endpoint, targets: tuple[str, ...], plan: ItemPlan, key: ClaimKey) -> Endpoint:
    """The endpoint as read, with the wanted targets in the places of those they replace."""
    if plan.is_exact:
        return msgspec.structs.replace(live, targets=targets)
    reviewed = plan.before[key]["targets"]
    if len(reviewed) == len(targets):
        by_place = dict(zip(reviewed, targets, strict=True))
        return msgspec.structs.replace(live, targets=tuple(by_place[target] for target in live.targets))
    kept = [target for target in live.targets if target in targets]
    added = [target for target in targets if target not in kept]
    return msgspec.structs.replace(live, targets=(*kept, *added))


def list_allowed_claims(plans: Iterable[ItemPlan]) -> dict[ClaimKey, Allowed]:
    """What may happen at each place that these plans change."""
    return {
        key: Allowed(
            removable=set(plan.before.get(key, {}).get("targets", ())) - _kept_targets(plan.after.get(key)),
            stays=key in plan.after,
            keeps_rest=True,
            is_text=key.store == ZONE,
        )
        for plan in plans
        for key in plan.changed
    }


def _kept_targets(wanted: EndpointDict | None) -> set[str]:
    """The targets that stay as they are: not those that are encrypted again under the same text."""
    if wanted is None:
        return set()
    encryption = wanted.get("encrypt", {})
    return {text for place, text in enumerate(wanted["targets"]) if str(place) not in encryption}


def encode_store_changes(changes: Mapping[ClaimKey, Change], zone: LiveZone, heir: str = "") -> bytes:
    """The body of a step for one store; `heir` is the next owner of the record sets whose rows are removed.

    A row that stays beside one that changes is in it too, from itself to itself: the body has all
    that is at its places, before and after.
    """
    return _ENCODER.encode(
        [each for key, change in changes.items() for each in _split(key, change, zone, heir)]
    )


def list_changes_to_make(body: bytes) -> list[StoredClaimChange]:
    """The changes to make in a store."""
    return [each for each in _DECODER.decode(body) if each.old != each.new]


def store_changes_in(body: bytes, store: str) -> dict[ClaimKey, Change]:
    """The changes of a stored body, by where they are made."""
    rows: dict[EndpointKey, tuple[list[str], list[str]]] = {}
    for each in _DECODER.decode(body):
        olds, news = rows.setdefault(endpoint_key(each.record), ([], []))
        olds += [each.old] if each.old is not None else []
        news += [each.new] if each.new is not None else []
    return {
        (place := build_row_key(store, key)): Change(_row_of(place, olds), _row_of(place, news))
        for key, (olds, news) in rows.items()
    }


def _split(key: ClaimKey, change: Change, zone: LiveZone, heir: str) -> Iterator[StoredClaimChange]:
    record = zone.endpoints.get(endpoint_key_of(key), build_row(key, ()))
    olds = change.old.targets if change.old else ()
    news = change.new.targets if change.new else ()
    for text in olds:
        if text in news:
            yield StoredClaimChange(record, text, text)
    going = [text for text in olds if text not in news]
    coming = [text for text in news if text not in olds]
    for old, new in zip_longest(going, coming):
        yield StoredClaimChange(record, old, new, heir="" if new else heir)


def _row_of(key: ClaimKey, texts: list[str]) -> Endpoint | None:
    return build_row(key, texts) if texts else None
