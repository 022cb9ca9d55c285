"""Two ExternalDNS with owner ids of their own over one provider server of ours, round after round."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.backends.backend import Backend
from providers.backends.memory import ApplyMode, MemoryBackend
from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.registries.encryption import decrypt_labels_text
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from tests.depth import examples
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.reading import read_owners
from tests.external_dns.recordings import KEY
from tests.external_dns.settings import Settings
from tests.faults.fault import FaultPlan
from tests.faults.read_faults import status
from tests.providers.planning.planned import wanted
from tests.reference_server import make_record
from tests.servers.provider_server import WebhookServer

BLUE, GREEN = "blue-cluster", "green-cluster"
BACKENDS = ("memory", "zone_file")
# Nobody's: it must still be there in the end, as it was.
_UNMANAGED = make_record("nobody.example.org")

# The flags of blue and of green: they can read each other's claims, or cannot.
_FLAGS: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = (
    ({}, {}),
    ({"txt_prefix": "x."}, {"txt_suffix": "-own"}),
    ({"wildcard_replacement": "any"}, {"wildcard_replacement": "any"}),
    ({"encryption_key": KEY}, {"encryption_key": KEY}),
    ({"encryption_key": KEY}, {}),
    ({"txt_prefix": "%{record_type}-of-"}, {"txt_prefix": "%{record_type}-of-"}),
)
_NAMES = ("www.example.org", "*.wild.example.org", "api.example.org", "deep.api.example.org")
_TARGETS = {
    "A": ("192.0.2.1", "192.0.2.2"),
    "AAAA": ("2001:db8::1", "2001:db8::2"),
    "CNAME": ("one.example.net", "two.example.net"),
}
# What is wanted at one name: its types, which target, and the TTL.
_SHAPES = st.tuples(
    st.sampled_from([(), ("A",), ("AAAA",), ("A", "AAAA"), ("CNAME",)]),
    st.integers(0, 1),
    st.sampled_from([0, 60]),
)
_Wishes = tuple[tuple[tuple[str, ...], int, int], ...]
# Whose turn it is, and what it wants at each name from then on.
_ROUNDS = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.tuples(*(_SHAPES for _ in _NAMES))), min_size=1, max_size=8
)


class Shared:
    """One zone, its server, and the two instances."""

    def __init__(self, backend: Backend, faults: FaultPlan, instances: tuple[Instance, Instance]) -> None:
        self.backend = backend
        self.faults = faults
        self.instances = instances

    def read(self) -> set[bytes]:
        """All that is in the zone."""
        return {_format(each) for each in self.backend.records()}

    def held_by(self, instance: Instance) -> dict[str, set[bytes]]:
        """The record sets that an instance finds to be its own, by name."""
        held: dict[str, set[bytes]] = {}
        endpoints = list(self.backend.records())
        owners = read_owners(endpoints, instance.settings.profile)
        for endpoint, owner in zip(endpoints, owners, strict=True):
            if owner == instance.settings.owner_id:
                held.setdefault(endpoint.dns_name, set()).add(_format(endpoint))
        return held

    def claims_of(self, instance: Instance) -> set[bytes]:
        """The claims that name an instance, in plain text or under the key."""
        token = f"external-dns/owner={instance.settings.owner_id}"
        texts = [each for each in self.backend.records() if each.record_type == "TXT"]
        return {_format(each) for each in texts if token in _open(each.targets[0])}

    def run(self, instance: Instance) -> Outcome:
        """One loop, which must leave all of the other instance as it is."""
        (other,) = (each for each in self.instances if each is not instance)
        before = self.held_by(other), self.claims_of(other)

        outcome = instance.run_once().outcome

        assert (self.held_by(other), self.claims_of(other)) == before
        return outcome


def _format(endpoint: Endpoint) -> bytes:
    """All of it but the labels, which no DNS service keeps."""
    return encode_endpoints([msgspec.structs.replace(endpoint, labels={})])


def _open(text: str) -> str:
    decrypted = decrypt_labels_text(text, KEY)
    return decrypted.plain if decrypted is not None else text


@contextmanager
def _share(backend_name: str, *flags: Mapping[str, Any]) -> Iterator[Shared]:
    """An empty zone but for what nobody owns, and both instances running, the flags of blue first."""
    with ExitStack() as stack:
        backend: Backend = MemoryBackend(mode=ApplyMode.EACH, encryption_keys=[KEY])
        if backend_name == "zone_file":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            write_new_zone(folder / "example.org.zone", "example.org")
            backend = ZoneFileBackend(folder, encryption_keys=[KEY])
        backend.apply(ChangeSet(create=(_UNMANAGED,)))
        faults = FaultPlan()
        server = WebhookServer(backend, faults=faults)
        server.start()
        stack.callback(server.stop)
        blue, green = (
            stack.enter_context(Instance(Settings(server.url, owner_id, **values)))
            for owner_id, values in zip((BLUE, GREEN), flags or ({}, {}), strict=True)
        )
        yield Shared(backend, faults, (blue, green))


@pytest.mark.parametrize("backend_name", BACKENDS)
@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(_FLAGS), _ROUNDS)
def test_neither_ever_changes_what_the_other_owns(
    backend_name: str, flags: tuple[Mapping[str, Any], Mapping[str, Any]], rounds: list[tuple[int, _Wishes]]
) -> None:
    with _share(backend_name, *flags) as shared:
        first = shared.read()
        for number, wishes in rounds:
            instance, other = shared.instances[number], shared.instances[1 - number]
            taken = shared.held_by(other)
            instance.desired = list(_list_desired(wishes))

            outcome = shared.run(instance)

            assert outcome in (Outcome.CHANGED, Outcome.QUIET), instance.last_result
            free = [each for each in instance.desired if each.dns_name not in taken]
            held = shared.held_by(instance)
            assert held.keys() == {each.dns_name for each in free}
            for name, found in held.items():
                assert len(found) == sum(each.dns_name == name for each in free)
            _raise_if_not_quiet(shared, instance)

        for instance in shared.instances:
            instance.desired = []
            shared.run(instance)
        assert shared.read() == first


def _raise_if_not_quiet(shared: Shared, instance: Instance) -> None:
    """What is wanted is there, and the next loop sends nothing."""
    before = shared.read()
    assert shared.run(instance) is Outcome.QUIET
    assert instance.last_result is not None
    assert instance.last_result.sent.is_empty()
    assert shared.read() == before


def _list_desired(wishes: _Wishes) -> Iterator[Endpoint]:
    for name, (types, place, ttl) in zip(_NAMES, wishes, strict=True):
        for kind in types:
            yield wanted(name, kind, [_TARGETS[kind][place]], ttl=ttl, resource="ingress/shop/web")


@pytest.mark.parametrize("backend_name", BACKENDS)
def test_a_cname_becomes_an_a_and_back_again(backend_name: str) -> None:
    cname = wanted("www.example.org", "CNAME", ["one.example.net"])
    address = wanted("www.example.org", "A", ["192.0.2.1"])
    with _share(backend_name) as shared:
        blue, _ = shared.instances
        for desired in (cname, address, cname):
            blue.desired = [desired]

            assert shared.run(blue) is Outcome.CHANGED
            _raise_if_not_quiet(shared, blue)
            there = {
                each.record_type for each in shared.backend.records() if each.dns_name == "www.example.org"
            }
            assert there == {desired.record_type}
            assert len(shared.claims_of(blue)) == 1


def test_sets_of_two_owners_at_one_name_stay_apart() -> None:
    with _share("memory") as shared:
        for instance, identifier in zip(shared.instances, ("one", "two"), strict=True):
            instance.desired = [wanted("www.example.org", set_identifier=identifier)]
            assert shared.run(instance) is Outcome.CHANGED
        before = shared.read()
        assert [shared.run(each) for each in shared.instances] == [Outcome.QUIET, Outcome.QUIET]
        assert shared.read() == before

        blue, green = shared.instances
        blue.desired = [wanted("www.example.org", targets=["192.0.2.9"], set_identifier="one")]
        assert shared.run(blue) is Outcome.CHANGED
        blue.desired = []
        assert shared.run(blue) is Outcome.CHANGED

        assert not shared.claims_of(blue)
        assert shared.held_by(green).keys() == {"www.example.org"}


@pytest.mark.parametrize("backend_name", BACKENDS)
def test_an_encrypted_claim_of_a_wildcard_is_updated_under_a_fresh_nonce_and_deleted(
    backend_name: str,
) -> None:
    flags = {"encryption_key": KEY, "wildcard_replacement": "any"}
    with _share(backend_name, flags, flags) as shared:
        first = shared.read()
        blue, _ = shared.instances
        seen: set[bytes] = set()
        for target in ("192.0.2.1", "192.0.2.2"):
            blue.desired = [wanted("*.wild.example.org", targets=[target])]
            assert shared.run(blue) is Outcome.CHANGED
            _raise_if_not_quiet(shared, blue)
            (claim,) = shared.claims_of(blue)
            assert b"a-any.wild.example.org" in claim
            seen.add(claim)
        assert len(seen) == 2

        blue.desired = []
        assert shared.run(blue) is Outcome.CHANGED
        assert shared.read() == first


@pytest.mark.parametrize("backend_name", BACKENDS)
def test_a_500_is_outlived_and_a_400_is_not(backend_name: str) -> None:
    with _share(backend_name) as shared:
        blue, green = shared.instances
        blue.desired = green.desired = [wanted("www.example.org")]
        shared.faults.plan("POST /records", status(500))
        shared.faults.plan("POST /records", status(400))

        assert blue.run_once().outcome is Outcome.SOFT_ERROR
        assert green.run_once().outcome is Outcome.DEAD

        assert (blue.is_alive, green.is_alive) == (True, False)
        assert shared.run(blue) is Outcome.CHANGED
        green.start()
        assert shared.run(green) is Outcome.QUIET
        assert not shared.claims_of(green)
