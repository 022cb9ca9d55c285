"""A record set with one claim, which one profile obeys, is decided at once: as the whole rule decides it."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import DEFAULT_PROFILE, OwnershipState, Pairing, TxtProfile
from providers.registries.claim_reading import NameResolver, RecordIndex
from providers.registries.find_owner import OwnerFinder, ProfileView
from providers.registries.gather import gather
from providers.registries.pairing import _ClaimsByRecord, _draft_claims, pair
from providers.wire.endpoint import Endpoint
from tests.depth import examples
from tests.providers.registries.test_pairing_is_total import PROFILES
from tests.providers.registries.zone import BLUE, GREEN, make_record, make_txt

_NAME = st.sampled_from(["www", "a-www", "cname-www", "extdns.a-www", "*", "a-*", "any", "api", "a-api"])
_TARGETS = st.sampled_from(
    [(BLUE,), (GREEN,), (BLUE, GREEN), ("v=spf1 -all", BLUE), ('"heritage=external-dns"',)]
)
_RECORD = st.builds(make_record, _NAME, st.sampled_from(["A", "AAAA", "CNAME"]), is_alias=st.booleans())
_TXT = st.builds(lambda name, targets: make_txt(name, *targets), _NAME, _TARGETS)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(_RECORD | _TXT, max_size=10), st.lists(st.sampled_from(PROFILES), max_size=3))
def test_any_zone_is_paired_as_by_the_whole_rule(zone: list[Endpoint], profiles: list[TxtProfile]) -> None:
    assert pair(zone, profiles) == _pair_by_the_whole_rule(zone, profiles)


def test_a_plain_zone_is_paired_as_by_the_whole_rule() -> None:
    zone = [make_record("www"), make_txt("a-www", BLUE), make_record("api"), make_txt("a-api", GREEN)]

    pairing = pair(zone, [DEFAULT_PROFILE])

    assert {record.state for record in pairing.records} == {OwnershipState.OWNED}
    assert pairing == _pair_by_the_whole_rule(zone, [DEFAULT_PROFILE])


def _pair_by_the_whole_rule(zone: list[Endpoint], profiles: Sequence[TxtProfile]) -> Pairing:
    gathered = gather(zone)
    resolver = NameResolver(profiles, RecordIndex(gathered.records))
    drafts = _draft_claims(gathered, resolver, profiles)
    by_record = _ClaimsByRecord(drafts)
    finder = OwnerFinder(drafts, [ProfileView(profile, drafts) for profile in resolver.tried])
    records = [
        finder.decide(record, by_record.list_of(record), finder.collect(record))
        for record in gathered.records.values()
    ]
    records.sort(key=lambda record: record.key)
    return Pairing(records=tuple(records), claims=tuple(draft.to_claim() for draft in drafts))
