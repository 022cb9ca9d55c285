"""Whatever goes wrong, in whatever order: when it stops, the mirror is what the provider holds (I20).

The seed is in the name of the test that fails; DNSADMIN_TEST_SEED sets the first.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import DateTimeField, F, Model
from django.utils import timezone

from registry_app.actor import SYSTEM
from registry_app.audit import verify_audit
from registry_app.models import (
    Claim,
    Finding,
    HeldSnapshot,
    Owner,
    Provider,
    RecordEvent,
    RecordSet,
    RegistryProfile,
    SyncRun,
)
from registry_app.queries.mirror_invariants import MIRROR_INVARIANTS
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot
from registry_app.reconcile.lease import take_lease
from registry_app.reconcile.request_sync import request_sync
from registry_app.reconcile.sweep import mark_abandoned_runs, note_silent_providers
from registry_app.reconcile.sync import sync_provider
from registry_app.reconcile.sync_run import begin_scheduled_run, open_run
from tests.depth import SEED, SYNC_SCHEDULES
from tests.factories import make_provider
from tests.faults.catalogue import POISONED_READS, READABLE_READS, REFUSED_READS
from tests.faults.fault import Fault
from tests.reference_server import ReferenceProvider
from tests.registry_app.reconcile.changing_zone import BLUE, GREEN, KEY, PREFIX, RED, Found, Known, Zone, show
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.reconcile.syncing import mirrored, sync_by_schedule

SEEDS = range(SEED, SEED + SYNC_SCHEDULES)
OPERATIONS = 30
# Each of these lasts until the deadline, a second at least: they are played now and then.
WAITING = ("silence", "headers_only", "slow_headers", "slow_drip", "never_ends")
FAULTS = {**REFUSED_READS, **POISONED_READS, **READABLE_READS}
QUICK_FAULTS = sorted(FAULTS.keys() - set(WAITING))
# What an hour that passes moves into the past.
_MOMENTS: tuple[tuple[type[Model], tuple[str, ...]], ...] = (
    (Provider, ("next_sync_at", "last_sync_at", "accepted_at", "lease_until", "sync_started_at")),
    (RecordSet, ("missing_since",)),
    (RecordEvent, ("at",)),
    (Finding, ("first_seen_at", "last_seen_at")),
    (SyncRun, ("started_at", "repeated_until")),
)


@pytest.mark.random
@pytest.mark.django_db
@pytest.mark.parametrize("seed", SEEDS)
def test_when_faults_stop_the_mirror_is_what_the_provider_holds(seed: int) -> None:
    dice = random.Random(seed)
    with ReferenceProvider() as reference:
        schedule = Schedule(dice, reference)
        for _ in range(OPERATIONS):
            schedule.play_one()

        schedule.stop_faults()

        schedule.check_all()


class Schedule:
    """One provider, its zone, what people told of it, and everything that happens to them."""

    def __init__(self, dice: random.Random, reference: ReferenceProvider) -> None:
        self.dice, self.reference = dice, reference
        self.zone, self.known = Zone(dice), Known()
        self.provider = make_provider(url=reference.url, deadline_seconds=1)
        self.zone.grow(dice.choice([0, 3, 12, 30, 120]))
        self._show()

    def play_one(self) -> None:
        """Something happens, a sync most of the time."""
        happen: list[tuple[int, Callable[[], None]]] = [
            (8, self._sync_with_fault),
            (8, self._sync),
            (5, self._edit),
            (2, self._flap),
            (1, self._lose_most),
            (1, self._lose_all),
            (2, self._sync_and_lose_the_lease),
            (2, self._die_in_a_sync),
            (3, self._let_hours_pass),
            (4, self._decide),
            (2, self._change_a_profile),
            (2, self._change_an_owner),
            (1, self._change_a_setting),
            (1, self._sweep),
        ]
        weights, acts = zip(*happen, strict=True)
        self.dice.choices(acts, weights)[0]()

    def stop_faults(self) -> None:
        """From now on all goes well, and people answer when they are asked."""
        self.reference.faults.clear()
        Provider.objects.filter(pk=self.provider.pk).update(max_items=200_000)
        self._let_lease_pass()
        mark_abandoned_runs()
        self._sync()
        for _ in range(2):
            if HeldSnapshot.objects.filter(provider=self.provider).exists() and self._is_held():
                accept_held_snapshot(SYSTEM, HeldSnapshot.objects.latest("pk").pk, reason="It is so.")
                self._sync()
        # What ends by time alone, flapping, ends now.
        self._let_time_pass(timedelta(hours=3))
        self._sync()

    def check_all(self) -> None:
        self.provider.refresh_from_db()
        present = [row for row in mirrored(self.provider) if not row[-1]]
        claims = Claim.objects.filter(provider=self.provider).count()
        assert self.provider.status == Provider.Status.OK, self.provider.last_error
        assert present == self.zone.record_sets(self.known)
        assert (self.provider.record_set_count, self.provider.claim_count) == (len(present), claims)
        assert claims == self.zone.claim_count()
        assert self._open_findings() == self.zone.findings(self.known)
        self._check_suggestions()
        assert verify_audit() is None
        assert not SyncRun.objects.filter(status=SyncRun.Status.RUNNING).exists()
        assert not HeldSnapshot.objects.filter(status__in=["open", "accepted"]).exists()
        assert [each.id for each in MIRROR_INVARIANTS if each.find() is not None] == []

    def _open_findings(self) -> set[Found]:
        rows = Finding.objects.exclude(state=Finding.State.RESOLVED).select_related("owner")
        found = [
            (row.kind, row.name or (row.owner.owner_id if row.owner else ""), row.record_type) for row in rows
        ]
        assert len(set(found)) == len(found)
        return set(found)

    def _check_suggestions(self) -> None:
        """What is suggested can be done, and an orphan is not cleaned up before its owner is known."""
        identities = {bytes(identity).hex() for identity in Claim.objects.values_list("identity", flat=True)}
        for row in Finding.objects.exclude(state=Finding.State.RESOLVED).select_related("owner"):
            kind, selection = row.suggestion.get("kind"), row.suggestion.get("selection", {})
            assert identities.issuperset(selection.get("claim_refs", []))
            if row.kind == Finding.Kind.ORPHAN_CLAIM:
                is_known = row.owner is not None and row.owner.owner_id in self.known.registered
                assert kind == ("clean_up" if is_known else "register_owner")
            if row.kind == Finding.Kind.UNREGISTERED_OWNER:
                owners = [owner for entry in self.zone.entries for owner in entry.owner_ids(self.known)]
                assert row.details["claims"] == owners.count(row.owner.owner_id if row.owner else "")

    def _sync(self) -> None:
        if self.dice.random() < 0.7:
            self._let_lease_pass()  # a worker that died may have it
        before = [row for row in mirrored(self.provider) if not row[-1]]
        if self.dice.random() < 0.5:
            run = sync_by_schedule(self.provider)
        else:
            run = sync_provider(self.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
        if run is not None and run.status != SyncRun.Status.STORED:
            # I2 and I3: only what is believed changes the mirror.
            assert [row for row in mirrored(self.provider) if not row[-1]] == before

    def _sync_with_fault(self) -> None:
        name = self.dice.choice(WAITING if self.dice.random() < 0.01 else QUICK_FAULTS)
        make_fault: Callable[[], Fault] = FAULTS[name]
        negotiates = self.dice.random() < 0.2
        self.reference.faults.plan("GET /" if negotiates else "GET /records", make_fault())
        self._sync()
        self.reference.faults.clear()

    def _edit(self) -> None:
        self.zone.alter(self.dice.randint(0, 4))
        self.zone.grow(self.dice.randint(0, 5))
        self.zone.shrink(self.dice.randint(0, 3))
        self._show()

    def _flap(self) -> None:
        for _ in range(self.dice.randint(1, 4)):
            self.zone.flap()
            self._show()
            self._sync()

    def _lose_most(self) -> None:
        self.zone.shrink(len(self.zone.entries) * self.dice.randint(4, 9) // 10)
        self._show()

    def _lose_all(self) -> None:
        self.zone.entries = []
        self.zone.grow(self.dice.choice([0, 0, 5]))
        self._show()

    def _sync_and_lose_the_lease(self) -> None:
        table = self.dice.choice(["registry_app_recordset", "registry_app_claim", "registry_app_finding"])
        with connection.execute_wrapper(AfterReading(table, self._steal_the_lease)):
            self._sync()

    def _steal_the_lease(self) -> None:
        self._let_lease_pass()
        take_lease(self.provider.pk, f"a thief {self.dice.random()}")

    def _die_in_a_sync(self) -> None:
        lease = take_lease(self.provider.pk, f"a worker that dies {self.dice.random()}")
        if lease is not None and self.dice.random() < 0.5:
            open_run(lease, SyncRun.Trigger.SCHEDULE, "", timezone.now())
        elif lease is not None:
            Provider.objects.filter(pk=self.provider.pk).update(next_sync_at=None)
            begin_scheduled_run(lease, Provider.objects.get(pk=self.provider.pk))

    def _let_lease_pass(self) -> None:
        held = Provider.objects.filter(pk=self.provider.pk, lease_until__isnull=False)
        held.update(lease_until=timezone.now() - timedelta(seconds=1))

    def _let_hours_pass(self) -> None:
        self._let_time_pass(timedelta(minutes=self.dice.choice([3, 50, 26 * 60])))

    def _let_time_pass(self, by: timedelta) -> None:
        for model, names in _MOMENTS:
            moved = {
                name: F(name) - by for name in names if isinstance(model._meta.get_field(name), DateTimeField)
            }
            model._default_manager.all().update(**moved)
        provider = Provider.objects.get(pk=self.provider.pk)
        if provider.domain_filter:
            Provider.objects.filter(pk=provider.pk).update(
                domain_filter={**provider.domain_filter, "negotiated_at": ""}
            )

    def _decide(self) -> None:
        held = HeldSnapshot.objects.filter(status=HeldSnapshot.Status.OPEN).first()
        if held is not None:
            decide = self.dice.choice([accept_held_snapshot, reject_held_snapshot])
            decide(SYSTEM, held.pk, reason="So it looks.")

    def _change_a_profile(self) -> None:
        name = self.dice.choice(["prefix", "key"])
        is_there = RegistryProfile.objects.filter(name=name).exists()
        if is_there:
            RegistryProfile.objects.filter(name=name).delete()
        else:
            values = {"prefix": PREFIX} if name == "prefix" else {"encryption_key": KEY}
            RegistryProfile.objects.create(name=name, **values)
        if name == "prefix":
            self.known = replace(self.known, has_prefix=not is_there)
        else:
            self.known = replace(self.known, has_key=not is_there)

    def _change_an_owner(self) -> None:
        owner_id = self.dice.choice([BLUE, GREEN, RED])
        status = self.dice.choice([Owner.Status.REGISTERED, Owner.Status.DECOMMISSIONED])
        patterns = self.dice.choice([[], ["example.org"]]) if owner_id == BLUE else []
        Owner.objects.update_or_create(
            owner_id=owner_id, defaults={"status": status, "name_patterns": patterns}
        )
        registered = self.known.registered - {owner_id}
        if status == Owner.Status.REGISTERED:
            registered |= {owner_id}
        has_pattern = bool(patterns) if owner_id == BLUE else self.known.has_pattern
        self.known = replace(self.known, registered=registered, has_pattern=has_pattern)

    def _change_a_setting(self) -> None:
        name, value = self.dice.choice([("allow_empty", True), ("allow_empty", False), ("max_items", 20)])
        Provider.objects.filter(pk=self.provider.pk).update(**{name: value})

    def _sweep(self) -> None:
        mark_abandoned_runs()
        note_silent_providers()
        request_sync(SYSTEM, self.provider.pk)

    def _is_held(self) -> bool:
        return Provider.objects.filter(pk=self.provider.pk, status=Provider.Status.HELD).exists()

    def _show(self) -> None:
        show(self.reference, self.zone.endpoints())
