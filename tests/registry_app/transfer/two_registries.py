"""Two owners with a registry each around one provider, and what can be done between them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from providers.registries.aws_sd_label import read_claims, write_description
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.actor import Actor
from registry_app.models import Provider, Transfer
from registry_app.transfer.request_undo import preview_undo, request_undo
from registry_app.transfer.run_transfer import run_transfer
from tests.reference_server import make_record
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.registries import Registry, open_registry
from tests.registry_app.transfer.world import BLUE, GREEN, World, enter_world, register_owner

KINDS = ["txt", "aws-sd"]
PAIRS = [(source, target) for source in KINDS for target in KINDS]
STORES = [kind for kind in KINDS if kind != "txt"]
CROSSINGS = [(source, target) for source, target in PAIRS if source != target]
RECORDS = [
    make_record("www.example.org"),
    make_record("api.example.org", "CNAME", ("lb.example.net",)),
    make_record("www.example.org", "AAAA", ("2001:db8::1",)),
]


@dataclass(frozen=True)
class Moment:
    """What stood at one instant: the record sets without their claims, and those that have a claim."""

    records: Mapping[EndpointKey, Endpoint]
    claimed: frozenset[EndpointKey]


@dataclass
class Two:
    """Blue's registry and green's, around one provider."""

    world: World
    reference: RecordingProvider
    blue: Registry
    green: Registry

    def claims(self) -> dict[EndpointKey, list[str]]:
        """Every claim there is, wherever it stands."""
        found: dict[EndpointKey, list[str]] = {}
        for registry in {each.kind: each for each in (self.blue, self.green)}.values():
            for key, texts in registry.claims().items():
                found.setdefault(key, []).extend(texts)
        return found

    def moments(self) -> Iterator[Moment]:
        """Every state that provider and stores were in, however briefly."""
        for state in self.reference.recorded.states:
            endpoints = list(state.values())
            claimed = {claim.key for claim in read_claims(endpoints)}
            claimed |= {record.key for record in pair(endpoints, []).records if record.owner_id}
            records = {key: write_description(each, None) for key, each in state.items()}
            yield Moment(
                {key: each for key, each in records.items() if key.record_type != "TXT"}, frozenset(claimed)
            )

    def let_blue_use_the_other(self) -> None:
        """Blue's instance was given the registry that green's has."""
        register_owner(BLUE, registry_profile=self.green.profile(self.world.provider))

    def clear_faults(self) -> None:
        self.reference.faults.clear()

    def contents(self) -> tuple[object, object, object]:
        return self.reference.zone_bytes(), self.blue.claims(), self.green.claims()


@contextmanager
def open_two(
    source: str,
    target: str,
    *,
    is_claimed: bool = True,
    also: str = "",
    name: str = "shared-zone",
    batch_size: int = 2,
) -> Iterator[Two]:
    """Blue has claimed the records in its registry; green has another, or the same. `also` has claimed them
    in green's."""
    with ExitStack() as stack:
        reference = stack.enter_context(RecordingProvider(RECORDS))
        blue = stack.enter_context(open_registry(source, reference))
        green = blue if source == target else stack.enter_context(open_registry(target, reference))
        claims = [(blue, BLUE)] if is_claimed else []
        for registry, owner in [*claims, (green, also)] if also else claims:
            for record in (each for each in reference.endpoints() if each.record_type != "TXT"):
                registry.put(record, owner)

        def register(provider: Provider) -> None:
            register_owner(BLUE, registry_profile=blue.profile(provider))
            register_owner(GREEN, registry_profile=green.profile(provider))

        world = enter_world(reference, name, prepare=register, batch_size=batch_size)
        reference.forget()
        yield Two(world, reference, blue, green)


def undo(alice: Actor, transfer: Transfer) -> Transfer:
    text = preview_undo(alice, transfer.public_id).confirmation_text
    undone = request_undo(alice, transfer.public_id, reason="Back.", confirmation=text)
    run_transfer(undone.pk)
    undone.refresh_from_db()
    return undone
