"""Two clusters with other flags keep their claims in the database: each sees what is the other's."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.registries.claim import TxtProfile
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.models import DatabaseClaim, GuardDecision, GuardEndpoint, GuardStep
from tests.depth import SEED, examples
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.reading import read_owners
from tests.external_dns.recordings import KEY
from tests.external_dns.settings import Settings
from tests.factories import make_instance, make_owner
from tests.providers.planning.planned import wanted
from tests.reference_server import make_record
from tests.registry_app.guard.keeping import LIMITS, keep_in_database, kept
from tests.registry_app.guard.serving import Guarded

pytestmark = [pytest.mark.django_db(transaction=True)]
BLUE, GREEN = "blue-cluster", "green-cluster"
_BLUES = TxtProfile(prefix="b.", wildcard_replacement="any")
_GREENS = TxtProfile(suffix="-green", encryption_key=KEY)
_NAMES = [f"app-{number}.example.org" for number in range(12)] + ["*.wild.example.org"]
_TARGETS = {
    "A": ["192.0.2.1", "192.0.2.2"],
    "AAAA": ["2001:db8::1"],
    "CNAME": ["one.example.net", "two.example.net"],
}
_SHAPES = [(), (), ("A",), ("A",), ("A", "AAAA"), ("CNAME",)]


@contextmanager
def _share(folder: Path, **values: Any) -> Iterator[tuple[Guarded, list[Instance]]]:
    """A zone with nothing but a record set of nobody's, and two instances with a format each."""
    with ExitStack() as stack:
        zone = [make_record("nobody.example.org")]
        guard = stack.enter_context(
            kept(
                folder,
                zone,
                prefix=_BLUES.prefix,
                wildcard_replacement=_BLUES.wildcard_replacement,
                **values,
            )
        )
        green = GuardEndpoint.objects.create(
            provider=guard.endpoint.provider,
            instance=make_instance(make_owner(GREEN)),
            slug="green",
            first_changes_at=fetch_now(),
            **LIMITS,
        )
        keep_in_database(green, suffix=_GREENS.suffix, encryption_key=KEY.decode(), **values)
        flags = [
            Settings(guard.url, BLUE, txt_prefix=_BLUES.prefix, wildcard_replacement="any"),
            Settings(f"{guard.guard_url}/green", GREEN, txt_suffix=_GREENS.suffix, encryption_key=KEY),
        ]
        yield guard, [stack.enter_context(Instance(each)) for each in flags]


def _owners_as_seen(instance: Instance) -> dict[tuple[str, str], str]:
    """Whose each record set is to an instance."""
    endpoints = list(instance._connection.fetch_records())
    owners = read_owners(endpoints, instance.settings.profile)
    return {
        (each.dns_name, each.record_type): owner
        for each, owner in zip(endpoints, owners, strict=True)
        if owner is not None
    }


def _rows() -> dict[tuple[str, str], str]:
    rows = DatabaseClaim.objects.filter(meant_targets__isnull=True)
    return {(name, kind): owner for name, kind, owner in rows.values_list("name", "record_type", "owner_id")}


def _of_others(guard: Guarded, owner_id: str) -> dict[tuple[str, str], tuple[Endpoint, str]]:
    rows = _rows()
    found = (each for each in guard.reference.backend.records() if each.record_type != "TXT")
    zone = {(each.dns_name, each.record_type): each for each in found}
    return {key: (each, rows.get(key, "")) for key, each in zone.items() if rows.get(key) != owner_id}


def _wish(chance: random.Random) -> list[Endpoint]:
    return [
        wanted(name, kind, [chance.choice(_TARGETS[kind])])
        for name in _NAMES
        for kind in chance.choice(_SHAPES)
    ]


def _copies(guard: Guarded) -> dict[tuple[str, str], str]:
    """Whose each record set is by the TXT records of the zone alone, read by the two instances' flags."""
    pairing = pair(guard.reference.backend.records(), [_BLUES, _GREENS])
    owned = (each for each in pairing.records if each.owner_id)
    return {(each.key.name, each.key.record_type): each.owner_id for each in owned}


@pytest.mark.random
@pytest.mark.parametrize("keeps_txt", [False, True])
def test_after_any_rounds_each_sees_whose_everything_is(tmp_path: Path, *, keeps_txt: bool) -> None:
    chance = random.Random(SEED)
    with _share(tmp_path, keeps_txt=keeps_txt) as (guard, instances):
        for _ in range(examples(200)):
            instance = chance.choice(instances)
            before = _of_others(guard, instance.settings.owner_id)
            instance.desired = _wish(chance)

            outcomes = [instance.run_once().outcome for _ in range(2)]

            assert outcomes[0] in (Outcome.CHANGED, Outcome.QUIET), instance.last_result
            assert outcomes[1] is Outcome.QUIET, instance.last_result
            assert _of_others(guard, instance.settings.owner_id) == before
            seen = [_owners_as_seen(each) for each in instances]
            assert seen[0] == seen[1]
            assert {key: owner for key, owner in seen[0].items() if owner} == _rows()
            assert _copies(guard) == (_rows() if keeps_txt else {})
        held = GuardDecision.objects.filter(outcome="held").exclude(rule__in=("delete_all", "empty_set"))
        refused = GuardDecision.objects.filter(outcome="refused")

        assert (list(held), list(refused)) == ([], [])
    assert set(GuardStep.objects.values_list("status", flat=True)) == {GuardStep.Status.VERIFIED}


def test_an_instance_that_signs_with_another_id_gets_no_row(tmp_path: Path) -> None:
    with _share(tmp_path) as (guard, (blue, green)):
        green.desired = [wanted("green.example.org")]
        green.run_once()
        before, rows = guard.reference.zone_bytes(), _rows()
        flags = Settings(blue.settings.base_url, GREEN, txt_prefix="b.", wildcard_replacement="any")
        with Instance(flags, [wanted("new.example.org")]) as stray:
            outcome = stray.run_once().outcome

        assert outcome is Outcome.CHANGED
        assert guard.reference.zone_bytes() == before
        assert _rows() == rows
    rules = dict(GuardDecision.objects.values_list("name", "rule"))
    assert rules == {"new.example.org": "claim", "green.example.org": "not_owner"}
