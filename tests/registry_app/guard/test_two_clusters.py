"""Two clusters share a zone behind the guard, and whatever happens neither touches what is the other's."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.registries.claim import DEFAULT_PROFILE
from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.models import GuardDecision, GuardEndpoint, GuardRule, GuardStep
from tests.depth import SEED, examples
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.reading import read_owners
from tests.external_dns.settings import Settings
from tests.factories import make_instance, make_owner
from tests.providers.planning.planned import wanted
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.serving import Guarded, guarded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
BLUE, GREEN = "blue-cluster", "green-cluster"
_NAMES = [f"app-{number}.example.org" for number in range(12)] + ["*.wild.example.org"]
_TARGETS = {
    "A": ["192.0.2.1", "192.0.2.2"],
    "AAAA": ["2001:db8::1"],
    "CNAME": ["one.example.net", "two.example.net"],
}
_SHAPES = [(), (), ("A",), ("A",), ("A", "AAAA"), ("CNAME",)]


@contextmanager
def _share(folder: Path, **values: Any) -> Iterator[tuple[Guarded, list[Instance]]]:
    """A zone with nothing but a record set of nobody's, and two guarded instances of one provider."""
    with ExitStack() as stack:
        zone = [make_record("nobody.example.org")]
        limits: dict[str, Any] = {
            "delete_percent": 100,
            "most_deletes": 100_000,
            "first_changes_at": fetch_now(),
        }
        settings: dict[str, Any] = {"mode": GuardEndpoint.Mode.ENFORCE, **limits, **values}
        guard = stack.enter_context(guarded(folder, zone, value_exact=False, **settings))
        green = GuardEndpoint.objects.create(
            provider=guard.endpoint.provider,
            instance=make_instance(make_owner(GREEN)),
            slug="green",
            **settings,
        )
        urls = {BLUE: guard.url, GREEN: f"{guard.guard_url}/{green.slug}"}
        yield guard, [stack.enter_context(Instance(Settings(url, owner))) for owner, url in urls.items()]


def _of_others(guard: Guarded, owner_id: str) -> list[Endpoint]:
    """The record sets that are not the owner's, with their claims."""
    zone = sorted(guard.reference.backend.records(), key=lambda each: (each.dns_name, each.record_type))
    owners = read_owners(zone, DEFAULT_PROFILE)
    token = f"external-dns/owner={owner_id}"
    return [
        each
        for each, owner in zip(zone, owners, strict=True)
        if owner != owner_id and not any(token in target for target in each.targets)
    ]


def _wish(chance: random.Random) -> list[Endpoint]:
    return [
        wanted(name, kind, [chance.choice(_TARGETS[kind])])
        for name in _NAMES
        for kind in chance.choice(_SHAPES)
    ]


@pytest.mark.random
def test_after_any_rounds_each_has_what_it_wants_as_far_as_it_is_free(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    with _share(tmp_path) as (guard, instances):
        for _ in range(examples(200)):
            instance = chance.choice(instances)
            before = _of_others(guard, instance.settings.owner_id)
            instance.desired = _wish(chance)

            outcomes = [instance.run_once().outcome for _ in range(2)]

            assert outcomes[0] in (Outcome.CHANGED, Outcome.QUIET), instance.last_result
            assert outcomes[1] is Outcome.QUIET, instance.last_result
            assert _of_others(guard, instance.settings.owner_id) == before
        held = GuardDecision.objects.filter(outcome="held").exclude(rule__in=("delete_all", "empty_set"))
        refused = GuardDecision.objects.filter(outcome="refused")

        assert (list(held), list(refused)) == ([], [])
    assert set(GuardStep.objects.values_list("status", flat=True)) == {GuardStep.Status.VERIFIED}


def test_an_instance_that_signs_with_another_id_writes_nothing(tmp_path: Path) -> None:
    with _share(tmp_path) as (guard, (blue, green)):
        green.desired = [wanted("green.example.org")]
        green.run_once()
        before = guard.reference.zone_bytes()
        with Instance(Settings(blue.settings.base_url, GREEN), [wanted("new.example.org")]) as stray:
            outcome = stray.run_once().outcome

        assert outcome is Outcome.CHANGED
        assert guard.reference.zone_bytes() == before
    rules = dict(GuardDecision.objects.values_list("name", "rule"))
    assert rules == {"new.example.org": GuardRule.CLAIM, "green.example.org": GuardRule.NOT_OWNER}


def test_the_migration_flag_moves_nothing(tmp_path: Path) -> None:
    """As `--migrate-from-txt-owner` asks: any create, and all that the old owner has, signed anew."""
    names = [f"old-{number}.example.org" for number in range(5)]
    with _share(tmp_path) as (guard, (_, green)):
        green.desired = [wanted(name) for name in names]
        green.run_once()
        before = _of_others(guard, BLUE)
        records = [each for each in before if each.dns_name in names]
        answer = guard.apply(
            create=(make_record("new.example.org"), make_claim("new.example.org")),
            update_old=(*records, *(make_claim(name) for name in names)),
            update_new=(*records, *(make_claim(name) for name in names)),
        )

        assert answer.status_code == 204
        assert _of_others(guard, BLUE) == before
        assert "new.example.org" in {each.dns_name for each in guard.reference.backend.records()}
    assert set(GuardDecision.objects.values_list("rule", flat=True)) == {GuardRule.NOT_OWNER}
    assert GuardDecision.objects.count() == len(names)


def test_two_requests_at_once_are_both_made(tmp_path: Path) -> None:
    with _share(tmp_path) as (guard, instances):
        for instance in instances:
            owner = instance.settings.owner_id
            instance.desired = [wanted(f"{owner}-{number}.example.org") for number in range(5)]
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(lambda each: each.run_once().outcome, instances))
        owners = read_owners(list(guard.reference.backend.records()), DEFAULT_PROFILE)

    assert outcomes == [Outcome.CHANGED, Outcome.CHANGED]
    assert (owners.count(BLUE), owners.count(GREEN)) == (5, 5)
