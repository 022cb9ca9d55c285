"""Record sets as of a moment, and what differs between two."""

import random
from datetime import datetime, timedelta
from itertools import combinations

import pytest
from django.conf import settings

from providers.wire.endpoint import EndpointKey
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest
from registry_app.models import Provider, RecordSet
from registry_app.queries.past_record_set import (
    Difference,
    PastFilter,
    iterate_differences,
    iterate_record_sets_at,
)
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.reconcile.changing_zone import Zone, show
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db

ALL = PastFilter()
_Values = tuple[list[str], str, str]


def _mirror(provider: Provider) -> dict[EndpointKey, _Values]:
    rows = RecordSet.objects.filter(provider=provider, missing_since__isnull=True).select_related("owner")
    return {
        EndpointKey(row.name, row.record_type, row.set_identifier): (
            row.targets,
            row.state,
            row.owner.owner_id if row.owner else "",
        )
        for row in rows
    }


def _at(provider: Provider, moment: datetime, wanted: PastFilter = ALL) -> dict[EndpointKey, _Values]:
    found = list(iterate_record_sets_at(provider, moment, wanted))
    assert [each.key for each in found] == sorted(each.key for each in found)
    return {key: (values["targets"], values["state"], values["owner"]) for key, values in found}


@pytest.mark.random
@pytest.mark.parametrize("seed", range(3))
def test_any_zone_is_shown_as_it_was_at_any_moment(seed: int) -> None:
    zone = Zone(random.Random(seed))
    zone.grow(30)
    mirrors: dict[datetime, dict[EndpointKey, _Values]] = {}
    with ReferenceProvider() as reference:
        provider = make_provider(url=reference.url)
        for _ in range(6):
            show(reference, zone.endpoints())
            sync(provider)
            mirrors[fetch_now()] = _mirror(provider)
            zone.dice.choice([zone.alter, zone.grow, zone.shrink])(zone.dice.randint(1, 4))

    assert len({str(mirror) for mirror in mirrors.values()}) > 2
    for moment, mirror in mirrors.items():
        assert _at(provider, moment) == mirror
        blue = {key: values for key, values in mirror.items() if values[2] == "blue-cluster"}
        assert _at(provider, moment, PastFilter(owner_id="blue-cluster")) == blue
    for since, until in combinations(mirrors, 2):
        differences = list(iterate_differences(provider, since, until, ALL))
        was, now = mirrors[since], mirrors[until]
        changed = {key for key in {*was, *now} if was.get(key) != now.get(key)}
        assert [each.key for each in differences] == sorted(changed)
        assert all((each.before is None) == (each.key not in was) for each in differences)
        assert all((each.after is None) == (each.key not in now) for each in differences)


def test_a_difference_says_who_made_it_and_what_was_whose() -> None:
    zone = make_zone("blue-cluster", 20)
    with ReferenceProvider(zone) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        before = fetch_now()
        www, green = make_record("www.green.org"), make_claim("www.green.org", owner="green-cluster")
        show(reference, [*zone[2:], www, green])
        sync(provider)

    (gone, came) = _differences(provider, before, ALL)

    assert (gone.key.name, gone.after, gone.writers) == ("app-00000.example.org", None, ("blue-cluster",))
    assert (came.key.name, came.before, came.writers) == ("www.green.org", None, ("green-cluster",))
    assert came.after is not None
    assert (came.after["owner"], came.after["targets"]) == ("green-cluster", ["192.0.2.1"])
    for wanted, expected in (
        (PastFilter(owner_id="green-cluster"), [came]),
        (PastFilter(writer="blue-cluster"), [gone]),
        (PastFilter(name_suffix="example.org"), [gone]),
        (PastFilter(name="WWW.green.org."), [came]),
        (PastFilter(types=("AAAA",)), []),
    ):
        assert _differences(provider, before, wanted) == expected


def _differences(provider: Provider, since: datetime, wanted: PastFilter) -> list[Difference]:
    return list(iterate_differences(provider, since, fetch_now(), wanted))


def test_a_page_begins_after_a_name() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)

    names = [each.key.name for each in iterate_record_sets_at(provider, fetch_now(), ALL)]
    rest = iterate_record_sets_at(provider, fetch_now(), ALL, after_name=names[2])

    assert [each.key.name for each in rest] == names[3:]


def test_a_moment_that_the_history_does_not_have_is_refused() -> None:
    provider = make_provider()
    now = fetch_now()
    for moment in (now - settings.DNSADMIN_RETENTION_EVENTS - timedelta(days=1), now + timedelta(hours=1)):
        with pytest.raises(InvalidRequest):
            next(iterate_record_sets_at(provider, moment, ALL))
    with pytest.raises(InvalidRequest):
        next(iterate_differences(provider, now, now - timedelta(hours=1), ALL))
