"""What is wanted is planned in the form in which the provider would hold it."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from providers.backends.memory import MemoryBackend
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.models import LoopRun
from tests.reference_server import ReferenceProvider
from tests.registry_app.loop.world import API, PARKED, WWW, open_parking, owned, run, wanted

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status
LB = "lb.example.com"


def _provider(adjust: Callable[[Endpoint], list[Endpoint]]) -> type[ReferenceProvider]:
    class Adjusting(MemoryBackend):
        def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
            return [each for endpoint in endpoints for each in adjust(endpoint)]

    class AdjustingProvider(ReferenceProvider):
        backend_type = Adjusting

    return AdjustingProvider


def _as_aliases(endpoint: Endpoint) -> list[Endpoint]:
    """As Route 53 has it: a CNAME to a load balancer becomes an alias of both families."""
    if endpoint.record_type != "CNAME":
        return [endpoint]
    return [msgspec.structs.replace(endpoint, record_type=kind) for kind in ("A", "AAAA")]


def test_a_cname_that_becomes_an_alias_of_both_families_is_made_as_that() -> None:
    with open_parking(reference_type=_provider(_as_aliases)) as world:
        ended = run(world, [wanted(WWW, LB, record_type="CNAME")])
        again = run(world, [wanted(WWW, LB, record_type="CNAME")])

        assert (ended.status, ended.created, ended.left_alone_count) == (STATUS.VERIFIED, 2, 0), ended.reason
        assert again.status == STATUS.UNCHANGED
        assert {kind for name, kind in world.zone() if name == WWW} == {"A", "AAAA"}
        assert PARKED in world.claim_text(f"aaaa-{WWW}")


def test_a_cname_of_ours_gives_way_to_the_alias_it_becomes() -> None:
    zone = owned(WWW, LB, record_type="CNAME")
    with open_parking(zone, reference_type=_provider(_as_aliases)) as world:
        ended = run(world, [wanted(WWW, LB, record_type="CNAME")])

        assert (ended.status, ended.created, ended.deleted) == (STATUS.VERIFIED, 2, 1), ended.reason
        assert {kind for name, kind in world.zone() if name == WWW} == {"A", "AAAA"}


def test_what_it_leaves_out_is_neither_made_nor_deleted() -> None:
    without_aaaa = _provider(lambda each: [] if each.record_type == "AAAA" else [each])
    zone = [*owned(WWW), *owned(WWW, "2001:db8::1", record_type="AAAA")]
    desired = [
        wanted(WWW),
        wanted(WWW, "2001:db8::2", record_type="AAAA"),
        wanted(API, "2001:db8::2", record_type="AAAA"),
    ]
    with open_parking(zone, reference_type=without_aaaa) as world:
        ended = run(world, desired)

        assert ended.status == STATUS.UNCHANGED
        assert world.zone()[WWW, "AAAA"].targets == ("2001:db8::1",)
        assert (API, "AAAA") not in world.zone()
        reason = "The provider removed it when it adjusted the desired endpoints."
        assert [(each["name"], each["reason"]) for each in ended.left_alone] == [(API, reason), (WWW, reason)]


def test_names_nobody_asked_for_are_not_taken_from_it() -> None:
    with_more = _provider(lambda each: [each, msgspec.structs.replace(each, dns_name=API)])
    with open_parking(reference_type=with_more) as world:
        ended = run(world, [wanted(WWW)])

        assert (ended.status, ended.created) == (STATUS.VERIFIED, 1), ended.reason
        assert (API, "A") not in world.zone()


class _Defaulting(MemoryBackend):
    """Holds what comes without a TTL under its default, and shows none of 600 at all."""

    def apply(self, change_set: ChangeSet) -> None:
        def store(endpoint: Endpoint) -> Endpoint:
            shown = {0: 1800, 600: 0}.get(endpoint.record_ttl, endpoint.record_ttl)
            return msgspec.structs.replace(endpoint, record_ttl=shown)

        super().apply(
            msgspec.structs.replace(
                change_set,
                create=tuple(map(store, change_set.create)),
                update_new=tuple(map(store, change_set.update_new)),
            )
        )


class _DefaultingProvider(ReferenceProvider):
    backend_type = _Defaulting


def test_other_targets_without_a_ttl_get_the_default_of_the_provider() -> None:
    with open_parking(owned(WWW), reference_type=_DefaultingProvider) as world:
        ended = run(world, [wanted(WWW, "192.0.2.9")])
        again = run(world, [wanted(WWW, "192.0.2.9")])

        assert (ended.status, ended.updated) == (STATUS.VERIFIED, 1), ended.reason
        assert again.status == STATUS.UNCHANGED
        (change_set,) = world.change_sets()
        assert [each.record_ttl for each in change_set.update_new] == [0]
        assert world.zone()[WWW, "A"].record_ttl == 1800


def test_a_ttl_that_the_provider_does_not_show_counts_as_written() -> None:
    with open_parking(owned(WWW), reference_type=_DefaultingProvider) as world:
        ended = run(world, [wanted(WWW, "192.0.2.9", ttl=600)])

        assert ended.status == STATUS.VERIFIED, ended.reason
