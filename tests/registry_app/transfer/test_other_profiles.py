"""Owners whose instances write their claims otherwise: prefix, suffix, encryption."""

import pytest

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text, encrypt_labels_text
from registry_app.models import RegistryProfile, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
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


@pytest.mark.parametrize(
    ("settings", "txt_name"),
    [
        ({"prefix": "extdns."}, "extdns.a-www.example.org"),
        ({"prefix": "%{record_type}-own."}, "a-own.www.example.org"),
        ({"suffix": "-own"}, "a-www-own.example.org"),
    ],
)
def test_another_prefix_or_suffix_is_created_then_verified_then_the_old_one_removed(
    settings: dict[str, str], txt_name: str
) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", **settings)
    with open_world([make_record(WWW), make_claim(WWW, resource="ingress/shop/www", ttl=60)]) as world:
        register_owner(GREEN, registry_profile=profile)
        before = world.reference.zone_bytes()

        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        moved = world.zone()[txt_name, "TXT"]
        assert moved.targets[0].startswith(f'"heritage=external-dns,external-dns/owner={GREEN},')
        assert moved.record_ttl == 60
        assert (f"a-{WWW}", "TXT") not in world.zone()
        assert world.owner_of(WWW) == GREEN
        write, remove = world.change_sets()
        assert (len(write.create), len(write.delete), len(remove.create), len(remove.delete)) == (1, 0, 0, 1)
        routes = [entry.method for entry in world.reference.history.requests()]
        first, second = (place for place, method in enumerate(routes) if method == "POST")
        assert "GET" in routes[first:second]
        text = preview_undo(alice, transfer.public_id).confirmation_text
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
        run_transfer(undo.pk)
        assert world.reference.zone_bytes() == before


def test_a_target_with_a_key_gets_encrypted_claims_and_an_undo_gives_back_the_plain_ones() -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", encryption_key=KEY)
    with open_world() as world:
        register_owner(GREEN, registry_profile=profile)
        before = world.reference.zone_bytes()

        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        texts = [each.targets[0] for each in world.reference.endpoints() if each.record_type == "TXT"]
        opened = [decrypt_labels_text(text, KEY.encode()) for text in texts]
        assert all(each and f"owner={GREEN}" in each.plain for each in opened)
        assert len({each.nonce for each in opened if each}) == 10
        assert all(text.startswith('"') for text in texts)
        assert world.owner_of("app-00001.example.org") == GREEN
        text = preview_undo(alice, transfer.public_id).confirmation_text
        run_transfer(undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text).pk)
        assert world.reference.zone_bytes() == before


def test_an_encrypted_claim_becomes_plain_for_a_target_without_a_key() -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="blue's", encryption_key=KEY)
    plain = f"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/shop/www"
    sealed = f'"{encrypt_labels_text(plain, KEY.encode())}"'
    with open_world([make_record(WWW), make_record(f"a-{WWW}", "TXT", (sealed,))]) as world:
        register_owner(BLUE, registry_profile=profile)
        assert world.owner_of(WWW) == BLUE

        run_transfer(request(alice, ask()).pk)

        assert world.claim_text(f"a-{WWW}") == f'"{plain.replace(BLUE, GREEN)}"'
        assert world.owner_of(WWW) == GREEN


def test_a_plan_has_one_fingerprint_though_every_encryption_has_its_own_nonce() -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", encryption_key=KEY)
    with open_world() as world:
        register_owner(GREEN, registry_profile=profile)
        found = plan(alice, ask())

        transfer = request(alice, ask(fingerprints={world.provider.pk: found.fingerprint}))

        assert transfer.plan_fingerprint == found.fingerprint == plan_fingerprint_of(transfer)


def plan_fingerprint_of(transfer: Transfer) -> str:
    from registry_app.transfer.plan.provider_plan import compute_stored_fingerprint

    return compute_stored_fingerprint(transfer)


def test_it_reformats_when_the_owner_moved_to_another_prefix() -> None:
    alice = make_alice()
    with open_world([make_record(WWW), make_claim(WWW)]) as world:
        profile = RegistryProfile.objects.create(name="new", prefix="own-")
        register_owner(BLUE, registry_profile=profile)

        run_transfer(request(alice, ask("reformat")).pk)

        assert world.claim_text(f"own-a-{WWW}") == make_claim(WWW).targets[0]
        assert (f"a-{WWW}", "TXT") not in world.zone()
        assert [refusal.code for refusal in plan(alice, ask("reformat")).refusals] == ["nothing_to_do"]


def test_a_txt_name_that_cannot_exist_is_refused() -> None:
    alice = make_alice()
    name = f"{'w' * 55}.example.org"
    profile = RegistryProfile.objects.create(name="long", prefix="long-prefix-")
    with open_world([make_record(name), make_claim(name)]):
        register_owner(GREEN, registry_profile=profile)

        found = plan(alice, ask())

        assert [refusal.code for refusal in found.refusals] == ["unwritable_claim"]
        assert "63 at most" in found.items[0].problem


def test_a_wildcard_keeps_its_replacement() -> None:
    alice = make_alice()
    profile = TxtProfile(wildcard_replacement="any")
    row = RegistryProfile.objects.create(name="any", wildcard_replacement="any")
    with open_world([make_record("*.example.org"), make_claim("*.example.org", profile=profile)]) as world:
        register_owner(GREEN, registry_profile=row)

        run_transfer(request(alice, ask(selection=Selection(names=("*.example.org",)))).pk)

        assert f"owner={GREEN}" in world.claim_text("a-any.example.org")
        assert len(world.change_sets()) == 1
