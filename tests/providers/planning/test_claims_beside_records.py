"""A record and its claim in one change set, whatever the claims look like."""

import msgspec

from providers.registries.claim import OwnershipState, TxtProfile
from providers.registries.pairing import pair
from tests.providers.planning.planned import BLUE, GREEN, apply, batch, wanted
from tests.reference_server import make_claim, make_record

WWW = "www.example.org"
KEY = bytes(range(32))


def test_a_record_set_from_another_resource_says_so_in_its_claim_and_keeps_the_other_labels() -> None:
    labels = f"external-dns/color=red,external-dns/owner={BLUE},external-dns/resource=a/b/c"
    text = f'"heritage=external-dns,{labels}"'
    zone = [make_record(WWW), make_record(f"a-{WWW}", "TXT", (text,))]

    after = apply(zone, [wanted(WWW, targets=["192.0.2.9"], resource="d/e/f")])

    assert after[1].targets == (text.replace("a/b/c", "d/e/f"),)


def test_a_claim_carries_all_labels_of_what_is_wanted_and_the_owner_of_nobody_else() -> None:
    labels = {"owner": GREEN, "resource": "crd/shop/www", "color": "red", "txt-encryption-nonce": "x"}
    endpoint = msgspec.structs.replace(wanted(WWW), labels=labels)

    after = apply([], [endpoint])

    told = f"external-dns/color=red,external-dns/owner={BLUE},external-dns/resource=crd/shop/www"
    assert after[1].targets == (f'"heritage=external-dns,{told}"',)


def test_a_label_that_no_claim_can_hold_keeps_the_record_from_being_made() -> None:
    endpoint = msgspec.structs.replace(wanted(WWW), labels={"color": "red,green"})

    assert apply([], [endpoint]) == []


def test_the_claim_stands_where_the_profile_says_and_is_sealed_with_its_key() -> None:
    profile = TxtProfile(prefix="own-", encryption_key=KEY)

    after = apply([], [wanted(WWW)], profile)

    pairing = pair(after, [profile])
    assert after[1].dns_name == f"own-a-{WWW}"
    assert "heritage" not in after[1].targets[0]
    assert [each.owner_id for each in pairing.records] == [BLUE]


def test_an_orphan_of_ours_in_the_place_of_the_claim_is_told_anew() -> None:
    orphan = make_claim(WWW, resource="ingress/old/www")

    after = apply([orphan], [wanted(WWW, resource="ingress/new/www")])

    assert len(after) == 2
    assert "ingress/new/www" in after[0].targets[0]


def test_a_foreign_text_in_the_place_of_the_claim_keeps_the_record_from_being_made() -> None:
    for text in ('"v=spf1 -all"', make_claim(WWW, owner=GREEN).targets[0]):
        zone = [make_record(f"a-{WWW}", "TXT", (text,))]

        made = batch(zone, [wanted(WWW), wanted("new.example.org")])

        assert [each.dns_name for each in made.change_set.create] == ["new.example.org", "a-new.example.org"]
        assert [each.key.name for each in made.left_alone] == [WWW]


def test_a_type_that_cannot_be_claimed_is_not_made() -> None:
    made = batch([], [wanted(WWW, "CAA", ['0 issue "ca.example.net"'])], managed_types=frozenset({"CAA"}))

    assert made.change_set.is_empty()
    assert "cannot be claimed" in made.left_alone[0].reason


def test_a_legacy_claim_that_speaks_for_what_stays_is_not_taken_away() -> None:
    legacy = make_record(WWW, "TXT", (f'"heritage=external-dns,external-dns/owner={BLUE}"',))
    zone = [make_record(WWW), make_record(WWW, "MX", ("10 mail.example.org",)), legacy]

    after = apply(zone, [])

    assert after == zone[1:]


def test_other_texts_beside_a_claim_stay_when_it_goes() -> None:
    claim = make_claim(WWW)
    mixed = make_record(claim.dns_name, "TXT", (*claim.targets, '"other"'))

    after = apply([make_record(WWW), mixed], [])

    assert [each.targets for each in after] == [('"other"',)]


def test_a_release_and_a_loop_later_nothing_is_ours() -> None:
    zone = [make_record(WWW)]

    after = apply(zone, [wanted(WWW, targets=["192.0.2.9"])])

    assert after == zone
    assert pair(after, [TxtProfile()]).records[0].state is OwnershipState.UNMANAGED
