"""Our plan beside ExternalDNS's: the same changes, on recorded traffic and on random zones, but for what our
plan leaves alone on purpose, and says so."""

from collections.abc import Iterable, Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.planning.claim_changes import build_change_set
from providers.planning.plan import PlanSettings, compute_plan
from providers.planning.planned_changes import Policy
from providers.registries.encryption import decrypt_labels_text
from providers.registries.pairing import pair
from providers.wire.canonical_name import endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.json_codec import decode_change_set_strict
from tests.depth import examples
from tests.external_dns.plan import Changes, compute_changes
from tests.external_dns.record import Record
from tests.external_dns.recordings import KEY, RECORDINGS, Exchange, read_runs
from tests.external_dns.settings import Settings
from tests.external_dns.txt_registry import TxtRegistry
from tests.providers.planning.planned import BLUE, GREEN, wanted
from tests.reference_server import make_claim, make_record

_FORCE_UPDATE = ProviderSpecificProperty("txt/force-update", "true")
_ENDPOINTS = msgspec.json.Decoder(tuple[Endpoint, ...])

# What of the recordings our plan does otherwise, and why.
_NEW_CLAIM_UNFORCED = "We write no new claim where a legacy one says the same: nothing changes for a reader."
_ONE_CLAIM = (
    "We write no legacy claim beside the new one; of those that stand there all go with the record set."
)
_EXCEPTIONS = {"legacy-claim-only": _NEW_CLAIM_UNFORCED, "older-version": _ONE_CLAIM}


@pytest.mark.parametrize("name", [name for name in RECORDINGS if name not in _EXCEPTIONS])
def test_our_plan_makes_the_changes_that_were_recorded(name: str) -> None:
    for run in read_runs(name):
        ours, recorded = _plan_as_recorded(name, run), _recorded_changes(run)

        for mine, theirs in ((ours.create, recorded.create), (ours.update_new, recorded.update_new)):
            records = [each for each in mine if each.record_type != "TXT"]
            assert _values(records) == _values(each for each in theirs if each.record_type != "TXT")
        # A claim that stays as it is stays out of our change set.
        assert _claims(ours.create) == _claims(recorded.create)
        assert _claims(ours.update_new) == set()
        assert _claims(recorded.update_new) <= _claims(recorded.update_old)
        assert {endpoint_key(each) for each in ours.delete} == {
            endpoint_key(each) for each in recorded.delete
        }


def test_our_plan_on_a_legacy_claim_writes_no_new_one() -> None:
    first, second, third, *_, last = read_runs("legacy-claim-only")

    for run in (first, second):
        assert _plan_as_recorded("legacy-claim-only", run).is_empty(), _NEW_CLAIM_UNFORCED
    changed, gone = (_plan_as_recorded("legacy-claim-only", run) for run in (third, last))
    assert [(each.dns_name, each.record_type) for each in changed.update_new] == [("www.ex.test", "A")]
    assert {each.record_type for each in gone.delete} == {"A", "TXT"}
    assert {each.dns_name for each in gone.delete} == {"www.ex.test"}


def test_our_plan_beside_an_older_version_writes_one_claim_and_deletes_all() -> None:
    for run in read_runs("older-version"):
        ours, recorded = _plan_as_recorded("older-version", run), _recorded_changes(run)

        legacy = {key for key in _claims(recorded.create) if not key[0].startswith(("a-", "aaaa-", "cname-"))}
        assert _claims(ours.create) == _claims(recorded.create) - legacy, _ONE_CLAIM
        assert {endpoint_key(each) for each in ours.delete} == {
            endpoint_key(each) for each in recorded.delete
        }


def _plan_as_recorded(name: str, run: Sequence[Exchange]) -> ChangeSet:
    flags = {key: value for key, value in RECORDINGS[name].items() if key != "version"}
    profile = Settings("http://127.0.0.1", "a", **flags).profile
    read = next(each.response for each in run if each.path == "/records")
    posted = next(each.response for each in run if each.path == "/adjustendpoints")
    current = pair(_ENDPOINTS.decode(read), [profile])
    mine = PlanSettings(owner_id="a")
    planned = compute_plan(_ENDPOINTS.decode(posted), current, mine)
    return build_change_set(planned, current, profile, mine).change_set


def _recorded_changes(run: Sequence[Exchange]) -> ChangeSet:
    last = run[-1]
    is_change_set = (last.method, last.path) == ("POST", "/records")
    return decode_change_set_strict(last.request.encode(), max_items=100) if is_change_set else ChangeSet()


def _values(endpoints: Iterable[Endpoint]) -> set[tuple[EndpointKey, frozenset[str], int, frozenset[object]]]:
    return {
        (endpoint_key(each), frozenset(each.targets), each.record_ttl, frozenset(each.provider_specific))
        for each in endpoints
    }


def _claims(endpoints: Iterable[Endpoint]) -> set[tuple[str, str]]:
    """Where the claims are, and what they say."""
    found = set()
    for each in endpoints:
        if each.record_type == "TXT":
            decrypted = decrypt_labels_text(each.targets[0], KEY)
            found.add((each.dns_name, f'"{decrypted.plain}"' if decrypted else each.targets[0]))
    return found


_TARGETS = {
    "A": ("192.0.2.1", "192.0.2.2"),
    "AAAA": ("2001:db8::1", "2001:db8::2"),
    "CNAME": ("one.example.net", "two.example.net"),
}
_NAMES = ("www.example.org", "*.example.org", "api.example.org")
_IDENTIFIERS = ("", "", "", "one", "two")
_OWNERS = (BLUE, BLUE, GREEN, None)


@st.composite
def _zones(draw: st.DrawFn) -> list[Endpoint]:
    """Valid zones: at each name one CNAME alone or addresses, as one set or two."""
    zone: list[Endpoint] = []
    for name in _NAMES:
        for identifier in draw(st.sampled_from([(), ("",), ("",), ("one",), ("one", "two")])):
            for kind in draw(st.sampled_from([("A",), ("AAAA",), ("A", "AAAA"), ("CNAME",)])):
                targets = draw(
                    st.lists(st.sampled_from(_TARGETS[kind]), min_size=1, max_size=1 + (kind != "CNAME"))
                )
                record = make_record(name, kind, dict.fromkeys(targets), set_identifier=identifier)
                labels = draw(st.sampled_from(({}, {}, {"resource": "ingress/b/b"}, {"owner": BLUE})))
                zone.append(msgspec.structs.replace(record, labels=labels))
                owner = draw(st.sampled_from(_OWNERS))
                if owner:
                    resource = draw(st.sampled_from(("", "ingress/a/a", "ingress/b/b")))
                    zone.append(make_claim(name, kind, owner, resource=resource, set_identifier=identifier))
    return zone


_WANTED = st.lists(
    st.builds(
        lambda name, kind, place, ttl, identifier, resource: wanted(
            name, kind, [_TARGETS[kind][place]], ttl=ttl, set_identifier=identifier, resource=resource
        ),
        st.sampled_from(_NAMES),
        st.sampled_from(sorted(_TARGETS)),
        st.integers(0, 1),
        st.sampled_from([0, 300, 60]),
        st.sampled_from(_IDENTIFIERS),
        st.sampled_from(("", "ingress/a/a", "ingress/b/b")),
    ),
    max_size=6,
    # Of candidates with equal targets ExternalDNS takes the first, whatever order the sources came in; ours
    # takes the same one in any order.
    unique_by=lambda each: (each.dns_name, each.record_type, each.set_identifier, each.targets),
)


@settings(max_examples=examples(1_000), deadline=None)
@given(_zones(), _WANTED, st.sampled_from(Policy))
def test_on_any_zone_our_plan_is_theirs_without_what_it_leaves_alone(
    zone: list[Endpoint], desired: list[Endpoint], policy: Policy
) -> None:
    flags = Settings("http://127.0.0.1", BLUE, policy)
    current = TxtRegistry(flags, lambda: zone, lambda: 0.0).fetch_records()
    theirs = compute_changes(current, [Record.of(each) for each in desired], flags, lambda _name: True)
    ours = compute_plan(desired, pair(zone, [flags.profile]), PlanSettings(BLUE, policy))

    left = {each.key: each.reason for each in ours.left_alone}
    mine = {endpoint_key(each) for each in ours.creates}
    not_mine = _keys(theirs.create) - mine
    assert mine <= _keys(theirs.create)
    # Stricter, as providers.planning.plan says: a provider would refuse it, or it would join another owner.
    for key in not_mine:
        assert left[key].startswith(("A CNAME cannot exist", "There is a CNAME", "Another owner has")), left[
            key
        ]
    assert {record.key for record in ours.deletes} == _keys(theirs.delete)
    updates = {update.current.key: frozenset(update.wanted.targets) for update in ours.updates}
    wanted_by_them = _list_targets(theirs)
    assert updates.items() <= wanted_by_them.items()
    # Where the provider's label alone names the owner, they would write the claim: see _NEW_CLAIM_UNFORCED.
    forced = _keys(each for each in theirs.update_old if _FORCE_UPDATE in each.properties)
    assert wanted_by_them.keys() - updates.keys() <= forced


def _keys(records: Iterable[Record]) -> set[EndpointKey]:
    return {endpoint_key(each.to_endpoint()) for each in records}


def _list_targets(changes: Changes) -> dict[EndpointKey, frozenset[str]]:
    return {endpoint_key(each.to_endpoint()): frozenset(each.targets) for each in changes.update_new}
