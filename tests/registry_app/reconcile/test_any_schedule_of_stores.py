"""Whatever a provider and the registry store beside it do: a sync stores what both hold, or nothing."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.backends.memory import ApplyMode
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.models import Claim, HeldSnapshot, Provider, SyncRun
from registry_app.queries.mirror_invariants import MIRROR_INVARIANTS
from registry_app.queries.registry_invariants import REGISTRY_INVARIANTS
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot
from registry_app.reconcile.sync import sync_provider
from tests.depth import STORE_SCHEDULES
from tests.factories import make_provider
from tests.faults import write_faults
from tests.faults.catalogue import REFUSED_READS
from tests.faults.fault import Fault
from tests.reference_server import make_claim, make_record
from tests.registry_app.reconcile.syncing import mirrored
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.stored_registries import DynamoDbRegistry, KubernetesRegistry, open_registry

pytestmark = pytest.mark.one_database

Stored = DynamoDbRegistry | KubernetesRegistry
# The name of a record set, and whose it is: an owner id, or the state of one that has no single owner.
Owners = dict[str, str]

KINDS = ["configmap", "crd", "dynamodb"]
_WAITING = {"silence", "headers_only", "slow_headers", "slow_drip", "never_ends"}
FAULTS = {name: make for name, make in REFUSED_READS.items() if name not in _WAITING}
RECORDS = [make_record(f"app-{number:02}.example.org") for number in range(14)]
OWNERS = ["blue-cluster", "green-cluster", "red-cluster"]
IN_ZONE = "in the zone"
_numbers = itertools.count(1)

_which = st.integers(0, len(RECORDS) - 1)
_row = st.tuples(
    st.sampled_from(["row", "row", "row", "drop", "record", "claim"]), _which, st.sampled_from(OWNERS)
)
_act = st.one_of(
    st.tuples(st.just("sync"), st.just(()), st.none()),
    st.tuples(st.just("provider fails"), st.just(()), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.just("store fails"), st.just(()), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.just("store changes while it is read"), st.lists(_row, max_size=2).map(tuple), st.none()),
    st.tuples(st.just("store is emptied"), st.just(()), st.none()),
    st.tuples(st.just("a person decides"), st.just(()), st.sampled_from(["yes", "no"])),
    st.tuples(st.just("rows change"), st.lists(_row, max_size=5).map(tuple), st.none()),
    st.tuples(st.just("rows change"), st.lists(_row, min_size=1, max_size=1).map(tuple), st.none()),
)
SCHEDULES = st.lists(_act, min_size=3, max_size=12)
# By whom each record set is claimed in the store, or by green in the zone; most of them here, or most there.
CLAIMED = st.sampled_from([[*OWNERS, "", IN_ZONE], ["blue-cluster", "", *[IN_ZONE] * 8]]).flatmap(
    lambda words: st.lists(st.sampled_from(words), min_size=len(RECORDS), max_size=len(RECORDS))
)


@pytest.mark.random
@pytest.mark.django_db
@pytest.mark.parametrize("kind", KINDS)
def test_a_sync_stores_what_provider_and_store_hold_or_nothing(kind: str) -> None:
    with RecordingProvider() as reference, open_registry(kind, reference) as registry:
        assert isinstance(registry, DynamoDbRegistry | KubernetesRegistry)

        @settings(
            max_examples=max(1, STORE_SCHEDULES // len(KINDS)),
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(CLAIMED, SCHEDULES)
        def check(
            claimed: list[str], schedule: list[tuple[str, tuple[tuple[str, int, str], ...], str | None]]
        ) -> None:
            world = _World(reference, registry, claimed)
            for act, rows, detail in schedule:
                world.play(act, rows, detail or "")
            world.stop_faults()

        check()


@dataclass
class _World:
    """One provider with a store beside it, whatever the examples before left."""

    reference: RecordingProvider
    registry: Stored
    claimed: list[str]
    provider: Provider = field(init=False)

    def __post_init__(self) -> None:
        self.registry.clear_faults()
        self.registry.lose_all()
        self.reference.restart(RECORDS, mode=ApplyMode.ATOMIC)
        self.provider = make_provider(f"zone-{next(_numbers)}", url=self.reference.url, deadline_seconds=2)
        # The examples before are synced no more: none of them is late for it (I20), however long this takes.
        Provider.objects.exclude(pk=self.provider.pk).update(is_enabled=False)
        self.registry.profile(self.provider)
        for record, owner in zip(RECORDS, self.claimed, strict=True):
            if owner == IN_ZONE:
                self._toggle(make_claim(record.dns_name, owner="green-cluster"))
            elif owner:
                self.registry.put(record, owner)

    def play(self, act: str, rows: tuple[tuple[str, int, str], ...], detail: str) -> None:
        acts: dict[str, Callable[[], object]] = {
            "sync": self.sync,
            "provider fails": lambda: self._fail(FAULTS[detail](), at_store=False),
            "store fails": lambda: self._fail(FAULTS[detail](), at_store=True),
            "store changes while it is read": lambda: self._change_meanwhile(rows),
            "store is emptied": self._sync_emptied,
            "a person decides": lambda: self._decide(detail),
            "rows change": lambda: self._change(rows),
        }
        acts[act]()

    def sync(self) -> SyncRun:
        """A sync whose outcome is one of two: the mirror as before, or exactly what both hold now."""
        before = self.mirror()
        run = sync_provider(self.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
        assert run is not None
        if run.status in (SyncRun.Status.STORED, SyncRun.Status.UNCHANGED):
            assert self.mirror() == self.truth()
            stored = Claim.objects.filter(provider=self.provider, txt_name="").count()
            assert stored == sum(map(len, self.registry.claims().values()))
        else:
            assert self.mirror() == before
        return run

    def stop_faults(self) -> None:
        """All goes well from now on, and people answer: the next syncs store the truth (I20)."""
        self.reference.faults.clear()
        self.registry.clear_faults()
        run = self.sync()
        if run.status == SyncRun.Status.HELD:
            self._decide("yes", among=("open", "rejected"))  # who said no may think better of it
            run = self.sync()
        assert run.status in (SyncRun.Status.STORED, SyncRun.Status.UNCHANGED), run.error
        assert self.sync().status == SyncRun.Status.UNCHANGED
        assert [each.id for each in (*MIRROR_INVARIANTS, *REGISTRY_INVARIANTS) if each.find()] == []

    def mirror(self) -> Owners:
        return {row[0]: row[5] or row[4] for row in mirrored(self.provider) if row[1] == "A" and not row[-1]}

    def truth(self) -> Owners:
        """Whose each record set is, from nothing but the texts that stand."""
        texts: dict[str, list[str]] = {key.name: found for key, found in self.registry.claims().items()}
        zone = self.reference.endpoints()
        said = {name: {_owner_in(text) for text in found} for name, found in texts.items()}
        for each in zone:
            if each.record_type == "TXT":
                said.setdefault(each.dns_name.removeprefix("a-"), set()).add(_owner_in(each.targets[0]))
        return {
            each.dns_name: _one_of(said.get(each.dns_name, set())) for each in zone if each.record_type == "A"
        }

    def _fail(self, fault: Fault, *, at_store: bool) -> None:
        if at_store:
            self.registry.plan_read(fault)
        else:
            self.reference.faults.plan("GET /records", fault)
        before = self.mirror()

        run = sync_provider(self.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)

        assert run is not None
        assert run.status in (SyncRun.Status.FAILED, SyncRun.Status.HELD), fault.name
        assert self.mirror() == before
        self.reference.faults.clear()
        self.registry.clear_faults()

    def _change_meanwhile(self, rows: tuple[tuple[str, int, str], ...]) -> None:
        stored = tuple(row for row in rows if row[0] in ("row", "drop"))
        self.registry.plan_read(write_faults.meanwhile(lambda: self._change(stored)))
        self.sync()
        self.registry.clear_faults()

    def _sync_emptied(self) -> None:
        """What stood is gone for one sync; where only a row spoke for what still stands, it stays known."""
        kept = {
            key.name: [_owner_in(text) for text in found] for key, found in self.registry.claims().items()
        }
        is_accepted = HeldSnapshot.objects.filter(provider=self.provider, status="accepted").exists()
        self.registry.lose_all()
        is_lost = self._is_owner_lost()
        run = self.sync()
        if is_lost and not is_accepted:
            assert run.status == SyncRun.Status.HELD, run.error
        for record in RECORDS:
            for owner in kept.get(record.dns_name, ()):
                self.registry.put(record, owner)

    def _is_owner_lost(self) -> bool:
        """Whether a record set that stands would have one owner less for the sake of a row that is gone."""
        known, truth = self.mirror(), self.truth()
        rows = Claim.objects.filter(provider=self.provider, txt_name="", record_name__in=list(truth))
        return any(
            known.get(name, "unmanaged") != "unmanaged"
            and (
                truth[name] == "unmanaged"
                or (known[name] == "conflict" and truth[name] not in ("conflict", owner))
            )
            for name, owner in rows.values_list("record_name", "owner__owner_id")
        )

    def _decide(self, word: str, among: tuple[str, ...] = ("open",)) -> None:
        held = HeldSnapshot.objects.filter(provider=self.provider, status__in=among).first()
        if held is not None:
            decide = accept_held_snapshot if word == "yes" else reject_held_snapshot
            decide(SYSTEM, held.pk, reason="So it looks.")

    def _change(self, rows: tuple[tuple[str, int, str], ...]) -> None:
        for what, which, owner in rows:
            record = RECORDS[which]
            is_claimed = any(key.name == record.dns_name for key in self.registry.claims())
            if what == "row":
                (self.registry.rewrite if is_claimed else self.registry.put)(record, owner)
            elif what == "drop" and is_claimed:
                self.registry.remove(record)
            elif what == "record":
                self._toggle(record)
            elif what == "claim":
                self._toggle(make_claim(record.dns_name, owner=owner))

    def _toggle(self, endpoint: Endpoint) -> None:
        held = {each.dns_name: each for each in self.reference.endpoints()}.get(endpoint.dns_name)
        change = ChangeSet(delete=(held,)) if held else ChangeSet(create=(endpoint,))
        self.reference.backend.apply(change)


def _owner_in(text: str) -> str:
    return text.split("owner=")[1].split(",", maxsplit=1)[0].strip('"')


def _one_of(owners: set[str]) -> str:
    return "unmanaged" if not owners else "conflict" if len(owners) > 1 else next(iter(owners))
