"""A response with the same elements in another order is the same response."""

import pytest

from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from registry_app.models import Claim, Provider, RecordSet, RegistryProfile, SyncRun
from tests.factories import make_provider
from tests.registry_app.reconcile.serving import serve, serve_body
from tests.registry_app.reconcile.syncing import mirrored

pytestmark = pytest.mark.django_db

_UNCHANGED = SyncRun.Status.UNCHANGED
_ZONE = [
    Endpoint("app.example.org", ("192.0.2.1",), "A"),
    Endpoint("a-app.example.org", ('"heritage=external-dns,external-dns/owner=blue-cluster"',), "TXT"),
    Endpoint("www.example.org", ("192.0.2.2", "192.0.2.3"), "A"),
]


def _was_decoded(run: SyncRun) -> bool:
    """A sync that compares record sets notes how long it stored."""
    return run.store_milliseconds is not None


def test_another_order_is_unchanged_without_decoding_it() -> None:
    provider = make_provider("blue-zone")
    serve(provider, _ZONE)
    before = mirrored(provider)

    run = serve(provider, _ZONE[::-1])

    assert (run.status, _was_decoded(run)) == (_UNCHANGED, False)
    assert (run.seen, run.claims) == (2, 1)
    assert mirrored(provider) == before


def test_every_further_order_is_unchanged_too() -> None:
    provider = make_provider("blue-zone")
    serve(provider, _ZONE)

    runs = [serve(provider, _ZONE[turn:] + _ZONE[:turn]) for turn in (1, 2, 0)]

    assert [(run.status, _was_decoded(run)) for run in runs] == [(_UNCHANGED, False)] * 3


def test_a_change_in_another_order_is_stored() -> None:
    provider = make_provider("blue-zone")
    serve(provider, _ZONE)
    moved = Endpoint("app.example.org", ("192.0.2.9",), "A")

    run = serve(provider, [*_ZONE[1:], moved])

    assert (run.status, run.changed) == (SyncRun.Status.STORED, 1)
    assert RecordSet.objects.get(name="app.example.org").targets == ["192.0.2.9"]


def test_an_element_listed_twice_is_another_response() -> None:
    provider = make_provider("blue-zone")
    serve(provider, _ZONE)

    assert _was_decoded(serve_body(provider, encode_endpoints([*_ZONE, _ZONE[0]])))


def test_where_several_endpoints_are_one_record_set_their_order_counts() -> None:
    provider = make_provider("blue-zone")
    blue, green = (
        Endpoint("a-app.example.org", (f'"heritage=external-dns,external-dns/owner={owner}"',), "TXT")
        for owner in ("blue-cluster", "green-cluster")
    )
    serve_body(provider, encode_endpoints([_ZONE[0], blue, green]))
    owner = RecordSet.objects.get(provider=provider).owner

    run = serve_body(provider, encode_endpoints([_ZONE[0], green, blue]))

    # ExternalDNS goes by the last one, so the owner of every owned record set changed.
    assert owner is not None
    assert owner.owner_id == "green-cluster"
    assert run.status == SyncRun.Status.HELD


def test_another_order_is_read_again_after_a_profile_was_added() -> None:
    provider = make_provider("blue-zone")
    serve(provider, _ZONE)
    RegistryProfile.objects.create(name="prefixed", prefix="claim-")

    assert _was_decoded(serve(provider, _ZONE[::-1]))


def test_another_order_is_read_again_where_a_sync_was_cut_off() -> None:
    provider = make_provider("blue-zone")
    serve(provider, _ZONE)
    Claim.objects.all().delete()
    Provider.objects.update(accepted_digest="")  # as between two transactions of a large difference

    run = serve(provider, _ZONE[::-1])

    assert _was_decoded(run)
    assert Claim.objects.count() == 1
