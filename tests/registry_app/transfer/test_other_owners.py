"""Whom ExternalDNS believes beside the owner: the label of the provider, and claims that it does not obey."""

from dataclasses import replace

import msgspec
import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.errors import RefusedBySafety
from registry_app.models import Owner, RegistryProfile, Transfer, TransferItem
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import set_instance
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_alice,
    open_world,
    plan,
    request,
)

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

_WWW = "www.example.org"
_NAMED = Selection(names=(_WWW,), record_types=("A",))


def _labelled(owner: str) -> Endpoint:
    return msgspec.structs.replace(make_record(), labels={"owner": owner, "resource": "ingress/shop/www"})


def _run(transfer: Transfer) -> Transfer:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


def test_a_transfer_of_what_only_a_label_owns_writes_a_claim_that_wins() -> None:
    alice = make_alice()
    with open_world([_labelled(BLUE)]) as world:
        found = plan(alice, ask(selection=_NAMED))
        assert world.owner_of(_WWW) == BLUE

        transfer = _run(request(alice, ask(selection=_NAMED, confirmation=found.confirmation_text)))

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert f"label owner={BLUE}, which dnsadmin cannot change. The new claim takes precedence" in (
            found.items[0].verdict_reason
        )
        assert found.source_owner == Owner.objects.get(owner_id=BLUE)
        text = f'"heritage=external-dns,external-dns/owner={GREEN},external-dns/resource=ingress/shop/www"'
        assert world.claim_text(f"a-{_WWW}") == text
        assert world.owner_of(_WWW) == GREEN


def test_what_only_a_label_owns_has_no_claim_to_release_or_to_adopt() -> None:
    alice = make_alice()
    with open_world([_labelled(BLUE)]):
        for kind, code in (("release", "owner_in_labels"), ("adopt", "not_unmanaged")):
            (item,) = plan(alice, ask(kind, _NAMED)).items
            assert item.problem_code == code


def test_an_instance_of_the_labels_owner_that_does_not_read_the_new_claim_makes_the_verdict_unknown() -> None:
    alice = make_alice()
    with open_world([_labelled(BLUE), make_claim(owner=BLUE)]):
        prefix = RegistryProfile.objects.create(name="prefix", prefix="x.")
        set_instance(GREEN, registry_profile=prefix)

        (item,) = plan(alice, ask(selection=_NAMED)).items

        assert item.verdict == TransferItem.Verdict.UNKNOWN
        assert f"an instance of {BLUE} does not read the new claim" in item.verdict_reason


@pytest.mark.deep
def test_a_release_says_whose_it_is_by_the_label_it_cannot_take_away() -> None:
    alice = make_alice()
    with open_world([_labelled("red-cluster"), make_claim(owner=BLUE)]) as world:
        found = plan(alice, ask("release", _NAMED))
        assert found.items[0].verdict == TransferItem.Verdict.UNKNOWN
        assert "so red-cluster owns it afterwards" in found.items[0].verdict_reason

        transfer = _run(request(alice, ask("release", _NAMED, confirmation=found.confirmation_text)))

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert world.owner_of(_WWW) == "red-cluster"


@pytest.mark.deep
@pytest.mark.parametrize("new", [{"prefix": "x."}, {"encryption_key": "0123456789abcdef0123456789abcdef"}])
@pytest.mark.parametrize("kind", ["transfer", "reformat", "release"])
def test_a_claim_behind_which_another_waits_stays_until_that_one_is_cleaned_up(
    kind: str, new: dict[str, str]
) -> None:
    alice = make_alice()
    legacy = make_record(_WWW, "TXT", make_claim(owner="red-cluster").targets)
    with open_world([make_record(), make_claim(owner=BLUE), legacy]) as world:
        profile = RegistryProfile.objects.create(name="new", **new)
        for owner in (BLUE, GREEN):
            set_instance(owner, registry_profile=profile)

        (item,) = plan(alice, ask(kind, _NAMED)).items

        assert item.problem_code == "another_claim_takes_over"
        assert f"another one, in the TXT record {_WWW}, names red-cluster" in item.problem
        with pytest.raises(RefusedBySafety, match="Clean that claim up first"):
            request(alice, ask(kind, _NAMED))
        clean_up = ask("clean_up", Selection(names=(_WWW,)))
        text = plan(alice, clean_up).confirmation_text
        assert _run(request(alice, replace(clean_up, confirmation=text))).status == Transfer.Status.VERIFIED
        text = plan(alice, ask(kind, _NAMED)).confirmation_text
        transfer = _run(request(alice, ask(kind, _NAMED, confirmation=text)))
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert world.owner_of(_WWW) == {"transfer": GREEN, "reformat": BLUE, "release": "unmanaged"}[kind]


@pytest.mark.deep
def test_a_transfer_that_replaces_the_used_claim_leaves_the_other_one_ignored() -> None:
    alice = make_alice()
    legacy = make_record(_WWW, "TXT", make_claim(owner="red-cluster").targets)
    with open_world([make_record(), make_claim(owner=BLUE), legacy]) as world:
        transfer = _run(request(alice, ask(selection=_NAMED)))

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert world.owner_of(_WWW) == GREEN


def test_another_label_since_the_review_makes_it_stale() -> None:
    alice = make_alice()
    with open_world([_labelled(BLUE)]) as world:
        text = plan(alice, ask(selection=_NAMED)).confirmation_text
        transfer = request(alice, ask(selection=_NAMED, confirmation=text))
        world.reference.backend.apply(
            ChangeSet(update_old=(_labelled(BLUE),), update_new=(_labelled("red-cluster"),))
        )

        _run(transfer)

        assert transfer.status == Transfer.Status.STALE
        assert "another label owner" in transfer.status_reason
        assert world.change_sets() == []


def test_an_ignored_claim_at_the_place_of_the_new_one_is_not_replaced() -> None:
    alice = make_alice()
    dotted = msgspec.structs.replace(make_claim(owner="red-cluster"), dns_name=f"a-{_WWW}.")
    with open_world([_labelled(BLUE), dotted]):
        (item,) = plan(alice, ask(selection=_NAMED)).items

        assert item.problem_code == "txt_name_taken"
