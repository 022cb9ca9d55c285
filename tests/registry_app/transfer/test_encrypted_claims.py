"""What is encrypted by a transfer is what ExternalDNS would write, so that its next change is accepted."""

import base64
import os

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text, encrypt_labels_text
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_change_set
from registry_app.models import Finding, RegistryProfile, Transfer
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.providers.client.making import make_client
from tests.reference_server import make_claim_encrypted_otherwise, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    plan,
    register_owner,
    request,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

WWW = "www.example.org"
KEY = "0123456789abcdef0123456789abcdef"
_PLAIN = f"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/shop/www"
_UNSORTED = f"heritage=external-dns,external-dns/resource=ingress/shop/www,external-dns/owner={BLUE}"
# What Go's compress/gzip makes of the same text of green-cluster and of blue-cluster.
_PACKED_BY_EXTERNAL_DNS = {
    GREEN: "1f8b08000000000002ff54cac109c5201004d086be5881c5887f5041d630b3b2293fd7e4f8e00d707aed28b8"
    "1db4bad2dff47b23ef30b0740296da3a72f01b08edc38632ad1352d6d8578e88070000ffff010000ffff913ee03a5d000000",
    BLUE: "1f8b08000000000002ff54c9410a80201404d00b259ec0c3980d2ac8376694dff1dbd6f2f11ad857ae48781668"
    "7984cb747c11a71b98ceb111cad85ae0ff09cdcd82d4ad1252549b7774f7170000ffff010000ffff2102b8ed5c000000",
}


def _seal(compressed: bytes, nonce: bytes) -> str:
    return f'"{base64.b64encode(nonce + AESGCM(KEY.encode()).encrypt(nonce, compressed, None)).decode()}"'


def _zone(target: str) -> list[Endpoint]:
    return [make_record(WWW), make_record(f"a-{WWW}", "TXT", (target,))]


def _rebuild_as_external_dns(world: World, owner_id: str) -> Endpoint:
    """The claim as the instance sends it in `updateOld`: from its labels, under the nonce it read."""
    claim = world.zone()[f"a-{WWW}", "TXT"]
    read = decrypt_labels_text(claim.targets[0], KEY.encode())
    assert read is not None
    target = _seal(bytes.fromhex(_PACKED_BY_EXTERNAL_DNS[owner_id]), read.nonce)
    return msgspec.structs.replace(claim, targets=(target,))


def _update_as_the_instance(world: World, owner_id: str) -> None:
    old = _rebuild_as_external_dns(world, owner_id)
    record = world.zone()[WWW, "A"]
    moved = msgspec.structs.replace(record, targets=("198.51.100.7",))
    change_set = ChangeSet(update_old=(record, old), update_new=(moved, old))
    make_client(world.reference.url).apply_changes(encode_change_set(change_set))


@pytest.mark.parametrize("text", [_PLAIN, _UNSORTED])
def test_the_targets_instance_can_change_what_it_was_given_where_old_values_are_compared(text: str) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key=KEY)
    with open_world(_zone(f'"{encrypt_labels_text(text, KEY.encode())}"')) as world:
        register_owner(BLUE, registry_profile=profile)
        register_owner(GREEN, registry_profile=profile)
        before = world.reference.zone_bytes()

        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        rebuilt = _rebuild_as_external_dns(world, GREEN)

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert world.claim_text(f"a-{WWW}") == rebuilt.targets[0]
        confirmation = preview_undo(alice, transfer.public_id).confirmation_text
        run_transfer(undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=confirmation).pk)
        assert world.reference.zone_bytes() == before
        run_transfer(request(alice, ask()).pk)
        _update_as_the_instance(world, GREEN)
        assert world.zone()[WWW, "A"].targets == ("198.51.100.7",)


def _seal_otherwise(owner_id: str) -> list[Endpoint]:
    profile = TxtProfile(encryption_key=KEY.encode())
    return [
        make_record(WWW),
        make_claim_encrypted_otherwise(WWW, owner_id, profile, resource="ingress/shop/www"),
    ]


def test_a_claim_encrypted_otherwise_is_a_finding_and_corrected_by_a_re_format() -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key=KEY)
    with open_world(_seal_otherwise(BLUE)) as world:
        register_owner(BLUE, registry_profile=profile)
        world.sync()
        finding = Finding.objects.get(kind=Finding.Kind.ENCRYPTED_OTHERWISE)
        assert (finding.suggestion["kind"], finding.state) == ("reformat", Finding.State.OPEN)

        transfer = request(alice, ask("reformat"))
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        _update_as_the_instance(world, BLUE)
        assert world.zone()[WWW, "A"].targets == ("198.51.100.7",)
        assert world.owner_of(WWW) == BLUE
        world.sync()
        finding.refresh_from_db()
        assert finding.state == Finding.State.RESOLVED
        assert [refusal.code for refusal in plan(alice, ask("reformat")).refusals] == ["nothing_to_do"]


def test_a_claim_that_only_differs_inside_is_healed_as_well() -> None:
    """Two blocks instead of one: begins and ends as ExternalDNS's would."""
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key=KEY)
    packed = bytes.fromhex(_PACKED_BY_EXTERNAL_DNS[BLUE])
    odd = packed[:10] + bytes((0, 0, 0, 255, 255)) + packed[10:]
    with open_world(_zone(_seal(odd, os.urandom(12)))) as world:
        register_owner(BLUE, registry_profile=profile)

        run_transfer(request(alice, ask("reformat")).pk)

        assert world.claim_text(f"a-{WWW}") == _rebuild_as_external_dns(world, BLUE).targets[0]


def test_a_claim_of_an_owner_nobody_registered_asks_for_its_profile_first() -> None:
    profile = RegistryProfile.objects.create(name="encrypted", encryption_key=KEY)
    zone = _seal_otherwise("red-cluster")
    with open_world(zone, prepare=lambda provider: provider.registry_profiles.add(profile)):
        finding = Finding.objects.get(kind=Finding.Kind.ENCRYPTED_OTHERWISE)

    assert finding.suggestion == {"kind": "register_owner", "owner_id": "red-cluster"}
