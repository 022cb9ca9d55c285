"""What a write session reads in part is what a whole reading would show."""

import itertools
import random
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from providers.client.provider_client import ProviderClient
from providers.registries.claim import TxtProfile
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from registry_app.mirror.client import build_client
from registry_app.mirror.element_index import ElementKind
from registry_app.mirror.plausibility import count_endpoints, looks_like_claim
from registry_app.mirror.registries import NO_REGISTRIES, fetch_txt_profiles
from registry_app.mirror.snapshot import Snapshot, build_snapshot, decode_snapshot
from registry_app.mirror.view import AtNames
from registry_app.models import Provider, RegistryProfile
from registry_app.writes.zone_reader import LastZones, ZoneReader, ZoneReading
from tests.depth import PARTIAL_READINGS
from tests.factories import make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.reconcile.serving import serve_body
from tests.registry_app.reconcile.test_any_zone import PROFILES, RECORDS, TXTS

_numbers = itertools.count(1)
_OTHERS = make_zone(count=100)
_ELEMENTS = st.one_of(RECORDS, TXTS)
_EDITS = st.tuples(
    st.lists(_ELEMENTS, max_size=3), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from(["", "", "shuffled"])
)
_TXT_KINDS = (ElementKind.CLAIMS, ElementKind.TEXTS_AND_CLAIMS)


class _Served:
    """A provider, and the reader of a session that reads it. Sessions know the last response of the one
    before where there are `last_zones`."""

    def __init__(
        self,
        provider: Provider,
        reference: ReferenceProvider,
        client: ProviderClient,
        last_zones: LastZones | None = None,
    ) -> None:
        self._provider = provider
        self._reference = reference
        self._client = client
        self._last_zones = last_zones
        self.begin_session()

    def begin_session(self) -> None:
        """Read with another reader from now on."""
        profiles = fetch_txt_profiles(self._provider)
        self._reader = ZoneReader(self._provider, self._client, profiles, self._last_zones)

    def read(
        self, zone: Sequence[Endpoint], names: Collection[str] | None, *, with_changed: bool = False
    ) -> ZoneReading:
        """What the session reads where the provider shows this."""
        self._reference.faults.plan("GET /records", read_faults.body(encode_endpoints(zone)))
        return self._reader.read(names, follows_links=True, with_changed=with_changed)


@contextmanager
def _serve(provider: Provider, last_zones: LastZones | None = None) -> Iterator[_Served]:
    with ReferenceProvider() as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        provider.refresh_from_db()
        with build_client(provider) as client:
            yield _Served(provider, reference, client, last_zones)


def _make_provider(zone: Sequence[Endpoint], *, has_index: bool = True) -> Provider:
    provider = make_provider(f"read-in-part-{next(_numbers)}")
    if has_index:
        serve_body(provider, encode_endpoints(zone))
    return provider


def _edit(
    zone: Sequence[Endpoint], fresh: Sequence[Endpoint], gone: float, dice: random.Random
) -> list[Endpoint]:
    edited = [each for each in zone if dice.random() >= gone]
    for each in fresh:
        edited.insert(dice.randrange(len(edited) + 1), each)
    return edited


def _canonical(text: str) -> str:
    try:
        return canonical_name(text)
    except InvalidName:
        return ""


def _list_differing(these: Sequence[Endpoint], those: Sequence[Endpoint]) -> list[Endpoint]:
    return [each for each in (*these, *those) if these.count(each) != those.count(each)]


def _as_snapshot(reading: ZoneReading, profiles: Sequence[TxtProfile]) -> Snapshot:
    view = None if reading.names is None else AtNames(reading.names)
    return build_snapshot(reading.decoded, profiles, NO_REGISTRIES, (), body=b"", body_digest="", view=view)


def _describe_at(snapshot: Snapshot, names: Collection[str]) -> list[object]:
    """All that a snapshot says of the record sets at these names, with their claims."""
    return [
        (
            record.key,
            record.endpoint,
            record.parts,
            record.state,
            record.owner_id,
            record.beliefs,
            [snapshot.claims[number] for number in record.claims],
        )
        for record in snapshot.records
        if record.key.name in names
    ]


@pytest.mark.django_db(transaction=True)
@settings(max_examples=PARTIAL_READINGS, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(_ELEMENTS, max_size=25),
    st.lists(_EDITS, min_size=1, max_size=4),
    st.sets(st.sampled_from(range(len(PROFILES)))),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_after_any_changes_a_part_says_what_the_whole_says(
    zone: list[Endpoint],
    edits: list[tuple[list[Endpoint], float, str]],
    chosen: set[int],
    has_index: bool,
    has_last_zones: bool,
    dice: random.Random,
) -> None:
    RegistryProfile.objects.all().delete()
    for number in sorted(chosen):
        RegistryProfile.objects.create(name=f"profile {number}", **PROFILES[number])
    provider = _make_provider([*zone, *_OTHERS], has_index=has_index)
    profiles, accepted = fetch_txt_profiles(provider), [*zone, *_OTHERS]
    with _serve(provider, LastZones(most_bytes=2**20) if has_last_zones else None) as served:
        for fresh, gone, order in edits:
            if dice.random() < 0.5:
                served.begin_session()
            zone = _edit(zone, fresh, gone, dice)
            if order:
                dice.shuffle(zone)
            shown = [*zone, *_OTHERS]
            known = sorted({_canonical(each.dns_name) for each in (*shown, *accepted)} - {""})
            names = {*dice.sample(known, 3), "free.example.org"}
            with_changed = dice.random() < 0.5

            reading = served.read(shown, names, with_changed=with_changed)

            event(f"in part: {reading.names is not None}")
            whole = decode_snapshot(encode_endpoints(shown), profiles, max_items=1_000)
            part = _as_snapshot(reading, profiles)
            if with_changed and reading.names is not None:
                names |= {_canonical(each.dns_name) for each in _list_differing(shown, accepted)} - {""}
                names &= {*reading.names, *known}
            assert _describe_at(part, names) == _describe_at(whole, names)
            assert part.set_aside_names == whole.set_aside_names
            assert (reading.item_count, reading.shown) == (whole.item_count, whole.shown)
            listed = [each for each in whole.listed.endpoints if each.record_type.upper() == "TXT"]
            claims = sum(any(map(looks_like_claim, each.targets)) for each in listed)
            assert reading.tally.count(*_TXT_KINDS) == claims


@pytest.mark.django_db
def test_a_session_decodes_what_it_asks_for_and_what_changed() -> None:
    provider = _make_provider(_OTHERS)
    other = make_record("app-00050.example.org", targets=("192.0.2.99",))
    changed = [*_OTHERS[:100], other, *_OTHERS[101:]]

    with _serve(provider) as served:
        first = served.read(_OTHERS, {"app-00005.example.org"})
        second = served.read(changed, {"app-00005.example.org"})
        third = served.read(changed, {"app-00005.example.org"})
        with_changed = served.read(changed, set(), with_changed=True)

    own, others = _OTHERS[10:12], changed[100:102]
    assert [each.decoded.endpoints for each in (first, third)] == [own, own]
    assert second.decoded.endpoints == [*own, *others]
    assert with_changed.decoded.endpoints == others
    assert {each.shown for each in (first, second, third)} == {count_endpoints(_OTHERS)}


@pytest.mark.django_db
def test_without_an_accepted_snapshot_the_first_response_is_decoded_whole() -> None:
    provider = _make_provider(_OTHERS, has_index=False)

    with _serve(provider) as served:
        first = served.read(_OTHERS, {"app-00005.example.org"})
        second = served.read(_OTHERS, {"app-00005.example.org"})
        with_changed = served.read(_OTHERS, {"app-00005.example.org"}, with_changed=True)

    assert (first.names, first.decoded.endpoints) == (None, _OTHERS)
    assert second.decoded.endpoints == _OTHERS[10:12]
    # Nobody knows what changed since a snapshot that was never accepted.
    assert with_changed.names is None


@pytest.mark.django_db
def test_a_response_is_decoded_whole_where_most_of_it_is_asked_for_and_is_known_from_then_on() -> None:
    zone = make_zone(count=1_010)
    provider = _make_provider(zone)
    names = {endpoint.dns_name for endpoint in zone}

    with _serve(provider) as served:
        first = served.read(zone, names)
        second = served.read(zone, {zone[0].dns_name})

    assert (first.names, first.decoded.endpoints) == (None, zone)
    assert second.names is not None
    assert zone[0] in second.decoded.endpoints
    assert len(second.decoded.endpoints) <= 4
    assert first.shown == second.shown == count_endpoints(zone)


@pytest.mark.django_db
def test_what_changed_since_another_reading_is_not_known() -> None:
    provider = _make_provider(_OTHERS)
    RegistryProfile.objects.create(name="with prefix", prefix="extdns.")

    with _serve(provider) as served:
        assert served.read(_OTHERS, set(), with_changed=True).names is None
        assert served.read(_OTHERS, {"app-00005.example.org"}).decoded.endpoints == _OTHERS[10:12]


@pytest.mark.django_db
def test_a_name_with_several_endpoints_of_one_identity_counts_once() -> None:
    provider = _make_provider(_OTHERS)
    twice = [make_record(targets=("192.0.2.1",)), *_OTHERS, make_record(targets=("192.0.2.2",))]

    with _serve(provider) as served:
        served.read(_OTHERS, set())
        readings = [served.read(twice, set()) for _ in range(2)]
        once = served.read(twice[:-1], set())

    assert {each.shown for each in readings} == {count_endpoints(twice)}
    assert once.shown == readings[0].shown


@pytest.mark.django_db
def test_a_claim_moved_by_another_writer_is_seen_in_the_part() -> None:
    provider = _make_provider(_OTHERS)
    mine, other = "app-00005.example.org", make_claim("app-00005.example.org", owner="green-cluster")
    stolen = [*_OTHERS[:11], other, *_OTHERS[12:]]

    with _serve(provider) as served:
        served.read(_OTHERS, {mine})
        part = _as_snapshot(served.read(stolen, {mine}), [TxtProfile()])

    assert [(each.key.name, each.owner_id) for each in part.records] == [(mine, "green-cluster")]


@pytest.mark.django_db
@pytest.mark.parametrize("has_index", [True, False])
def test_what_appears_in_an_empty_zone_is_counted(has_index: bool) -> None:
    provider = _make_provider([], has_index=has_index)
    zone = [make_record(), make_claim()]

    with _serve(provider) as served:
        readings = [served.read(each, {"www.example.org"}) for each in ([], zone, zone, [], zone)]

    assert [each.item_count for each in readings] == [0, 2, 2, 0, 2]
    assert readings[-1].shown == count_endpoints(zone)


@pytest.mark.django_db
def test_the_next_session_decodes_what_changed_since_the_last_one() -> None:
    provider = _make_provider(_OTHERS, has_index=False)
    other = make_record("app-00050.example.org", targets=("192.0.2.99",))
    changed = [*_OTHERS[:100], other, *_OTHERS[101:]]

    with _serve(provider, LastZones(most_bytes=2**20)) as served:
        first = served.read(_OTHERS, set())
        served.begin_session()
        second = served.read(changed, set())
        with_changed = served.read(changed, set(), with_changed=True)

    assert first.names is None
    assert second.decoded.endpoints == changed[100:102]
    # It is not known what changed since a snapshot that was accepted.
    assert with_changed.names is None


@pytest.mark.django_db
def test_the_oldest_responses_are_forgotten() -> None:
    last_zones = LastZones(most_bytes=3 * len(encode_endpoints(_OTHERS)) // 2)
    providers = [_make_provider(_OTHERS, has_index=False) for _ in range(2)]
    for provider in providers:
        with _serve(provider, last_zones) as served:
            served.read(_OTHERS, set())

    assert [last_zones.find(each) is not None for each in providers] == [False, True]
