"""Two owners with a registry each around one provider, and what can be done between them."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from providers.registries.pairing import pair
from providers.stores.aws_sd_registry import read_claims, write_description
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.actor import Actor
from registry_app.models import Provider, Transfer
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_record
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.registries import Registry
from tests.registry_app.transfer.stored_registries import open_registry
from tests.registry_app.transfer.world import BLUE, GREEN, World, enter_world, register_owner, undo_reviewed

KINDS = ["txt", "configmap", "crd", "database", "dynamodb", "aws-sd"]
_IN_THE_ZONE = ("txt", "aws-sd")
PAIRS = [(source, target) for source in KINDS for target in KINDS]
STORES = [kind for kind in KINDS if kind != "txt"]
# Those whose own service may fail.
FAILING = [kind for kind in STORES if kind != "database"]
CROSSINGS = [(source, target) for source, target in PAIRS if source != target]
# Each kind once as the source and once as the target, where all crossings would take minutes.
RING = list(zip(KINDS, [*KINDS[1:], KINDS[0]], strict=True))
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
    moments: list[Moment] = field(default_factory=list)

    @property
    def registries(self) -> Collection[Registry]:
        """Blue's and green's, or the one that both use."""
        return {each.kind: each for each in (self.blue, self.green)}.values()

    def claims(self) -> dict[EndpointKey, list[str]]:
        """Every claim there is, wherever it stands."""
        found: dict[EndpointKey, list[str]] = {}
        for registry in self.registries:
            for key, texts in registry.claims().items():
                found.setdefault(key, []).extend(texts)
        return found

    def watch(self) -> None:
        """From now on keep every state that provider and stores are in, however briefly."""
        self.note()
        self.reference.recorded.watchers.append(self.note)
        for registry in self.registries:
            registry.watch(self.note)

    def note(self) -> None:
        """Keep the state of now."""
        state = self.reference.recorded.states[-1]
        endpoints = list(state.values())
        claimed = {claim.key for claim in read_claims(endpoints)}
        claimed |= {record.key for record in pair(endpoints, []).records if record.owner_id}
        for registry in self.registries:
            if registry.kind not in _IN_THE_ZONE:
                claimed |= registry.claims().keys()
        records = {key: write_description(each, None) for key, each in state.items()}
        shown = {key: each for key, each in records.items() if key.record_type != "TXT"}
        self.moments.append(Moment(shown, frozenset(claimed)))

    def let_blue_use_the_other(self) -> None:
        """Blue's instance was given the registry that green's has."""
        register_owner(BLUE, registry_profile=self.green.profile(self.world.provider))

    def clear_faults(self) -> None:
        for registry in self.registries:
            registry.clear_faults()

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
        two = Two(world, reference, blue, green)
        two.watch()
        yield two


def undo(alice: Actor, transfer: Transfer) -> Transfer:
    text = preview_undo(alice, transfer.public_id).confirmation_text
    undone = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
    run_transfer(undone.pk)
    undone.refresh_from_db()
    return undone
