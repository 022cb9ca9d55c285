"""Findings about claims: each opened by what it tells of, and gone with it."""

import msgspec
import pytest

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from registry_app.models import Claim, Finding, Owner, RecordSet, RegistryProfile
from registry_app.reconcile.findings.find_all import MOST_OF_A_KIND
from tests.factories import make_owner, make_provider
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.reconcile.serving import serve

pytestmark = pytest.mark.django_db
Kind = Finding.Kind


def _found(kind: str) -> list[Finding]:
    return list(Finding.objects.filter(kind=kind, state=Finding.State.OPEN).order_by("name"))


def test_a_claim_without_record_is_an_orphan_that_may_be_cleaned_up() -> None:
    provider = make_provider()
    make_owner("blue-cluster")

    serve(provider, [*make_zone(count=3), make_claim("gone.example.org")])

    (finding,) = _found(Kind.ORPHAN_CLAIM)
    assert (finding.name, finding.record_type) == ("gone.example.org", "A")
    assert finding.owner is not None
    assert finding.owner.owner_id == "blue-cluster"
    orphan = Claim.objects.get(verdict="orphan")
    assert finding.suggestion["kind"] == "clean_up"
    assert finding.suggestion["selection"]["claim_refs"] == [bytes(orphan.identity).hex()]


@pytest.mark.parametrize("status", ["discovered", "decommissioned"])
def test_an_orphan_of_an_owner_nobody_vouches_for_is_not_offered_for_clean_up(status: str) -> None:
    make_owner("blue-cluster", status=status)
    profile = TxtProfile(prefix="nobody-told-us.")

    serve(make_provider(), [make_record(), make_claim(profile=profile)])

    (finding,) = _found(Kind.ORPHAN_CLAIM)
    assert finding.suggestion == {"kind": "register_owner", "owner_id": "blue-cluster"}
    assert "it is not known how it writes" in finding.explanation


def test_an_orphan_that_is_not_written_as_its_owner_is_registered_is_not_offered_for_clean_up() -> None:
    suffix = RegistryProfile.objects.create(name="with suffix", suffix="-txt")
    make_owner("blue-cluster", registry_profile=suffix)
    # What an instance writes that puts its suffix before the zone, not after the first label.
    odd = make_record("a-www.shop-txt.example.org", "TXT", make_claim().targets)

    serve(make_provider(), [make_record("www.shop.example.org"), odd])

    (finding,) = _found(Kind.ORPHAN_CLAIM)
    assert finding.suggestion == {}
    assert "not written as blue-cluster is registered to write" in finding.explanation


def test_registering_the_owner_of_an_orphan_offers_its_clean_up_though_the_answer_is_the_same() -> None:
    provider, zone = make_provider(), [*make_zone(count=3), make_claim("gone.example.org")]
    serve(provider, zone)
    Owner.objects.filter(owner_id="blue-cluster").update(status=Owner.Status.REGISTERED)

    serve(provider, zone)

    (finding,) = _found(Kind.ORPHAN_CLAIM)
    assert (finding.suggestion["kind"], finding.occurrences) == ("clean_up", 1)


@pytest.mark.deep
def test_more_of_a_kind_than_are_listed_are_counted_in_the_last_of_them() -> None:
    # So many that a first sync sees them in several slices.
    beyond = MOST_OF_A_KIND + 5
    names = [f"gone-{number}.example.org" for number in range(MOST_OF_A_KIND + beyond)]

    serve(make_provider(), [*make_zone(count=3), *map(make_claim, names)])

    findings = Finding.objects.filter(kind=Kind.ORPHAN_CLAIM)
    assert sorted(findings.values_list("name", flat=True)) == sorted(names)[:MOST_OF_A_KIND]
    (last,) = findings.filter(details__more=beyond)
    assert last.name == sorted(names)[MOST_OF_A_KIND - 1]
    assert last.explanation.endswith(f"And {beyond} more of this kind, which are not listed one by one.")


def test_the_details_and_the_owner_of_a_finding_follow_what_is_true() -> None:
    green = make_owner("green-cluster", name_patterns=["green.example.org"])
    provider, zone = make_provider(), [*make_zone(count=12), make_record("www.green.example.org")]
    serve(provider, zone[4:])

    serve(provider, zone)

    (unregistered,) = _found(Kind.UNREGISTERED_OWNER)
    assert unregistered.details["claims"] == 12
    assert _found(Kind.UNMANAGED_IN_PATTERN)[0].owner == green


def test_a_finding_goes_with_what_it_tells_of_and_comes_back_with_it() -> None:
    provider, zone = make_provider(), make_zone(count=3)
    orphan = make_claim("gone.example.org")
    serve(provider, [*zone, orphan])
    first = _found(Kind.ORPHAN_CLAIM)[0]

    serve(provider, zone)
    first.refresh_from_db()
    after_it_went = (first.state, first.resolved_at is not None)
    serve(provider, [*zone, orphan])

    assert after_it_went == (Finding.State.RESOLVED, True)
    first.refresh_from_db()
    assert (first.state, first.occurrences, first.resolved_at) == (Finding.State.OPEN, 2, None)


def test_claims_that_disagree_are_a_conflict() -> None:
    RegistryProfile.objects.create(name="with prefix", prefix="x.")
    record = make_record("www.example.org")
    rivals = (
        make_claim("www.example.org", owner="blue-cluster"),
        make_claim("www.example.org", owner="green-cluster", profile=TxtProfile(prefix="x.")),
    )

    serve(make_provider(), [record, *rivals])

    (finding,) = _found(Kind.CONFLICT)
    assert "the TXT record x.a-www.example.org names green-cluster" in finding.explanation
    assert (finding.name, finding.details["owner_ids"]) == (
        "www.example.org",
        ["blue-cluster", "green-cluster"],
    )


def test_a_claim_that_external_dns_does_not_obey_is_told_and_changes_no_state() -> None:
    legacy = make_record("www.example.org", "TXT", make_claim(owner="green-cluster").targets)
    dotted = msgspec.structs.replace(make_claim("api.example.org"), dns_name="a-api.example.org.")
    zone = [make_record(), make_claim(), legacy, make_record("api.example.org"), dotted]

    serve(make_provider(), zone)

    states = dict(RecordSet.objects.values_list("name", "state").filter(record_type="A"))
    assert states == {"www.example.org": "owned", "api.example.org": "unmanaged"}
    ignored, overruled = _found(Kind.UNHEARD_CLAIM)
    assert "names and types as the provider spells them" in ignored.explanation
    assert ignored.suggestion == {}
    assert "ExternalDNS uses the one at a-www.example.org instead" in overruled.explanation
    assert overruled.suggestion["kind"] == "clean_up"
    assert not _found(Kind.CONFLICT)


def test_an_owner_that_only_the_providers_labels_name_is_told() -> None:
    record = msgspec.structs.replace(make_record(), labels={"owner": "blue-cluster"})

    serve(make_provider(), [record])

    (finding,) = _found(Kind.OWNER_IN_LABELS)
    row = RecordSet.objects.get()
    assert row.owner is not None
    assert (row.state, row.owner.owner_id) == ("owned", "blue-cluster")
    assert finding.owner == row.owner
    (unregistered,) = _found(Kind.UNREGISTERED_OWNER)
    assert unregistered.details["claims"] == 1


def test_an_unregistered_owner_is_one_finding_however_many_claims_it_has() -> None:
    make_owner("green-cluster")
    zone = [*make_zone("blue-cluster", 5), *make_zone("green-cluster", 5, domain="green.example.org")]

    serve(make_provider(), zone)

    (finding,) = _found(Kind.UNREGISTERED_OWNER)
    assert finding.owner is not None
    assert finding.owner.owner_id == "blue-cluster"
    assert finding.suggestion == {"kind": "register_owner", "owner_id": "blue-cluster"}


def test_registering_the_owner_resolves_it_though_the_answer_is_the_same() -> None:
    provider, zone = make_provider(), make_zone("blue-cluster", 5)
    serve(provider, zone)
    discovered = _found(Kind.UNREGISTERED_OWNER)[0].owner
    assert discovered is not None
    discovered.status = "registered"
    discovered.save()

    serve(provider, zone)

    assert _found(Kind.UNREGISTERED_OWNER) == []


def test_a_claim_that_names_no_owner_is_unreadable() -> None:
    nameless = make_record("a-www.example.org", "TXT", ('"heritage=external-dns,external-dns/resource=x"',))

    serve(make_provider(), [make_record("www.example.org"), nameless])

    (finding,) = _found(Kind.UNREADABLE_CLAIM)
    assert finding.name == "www.example.org"
    assert "names no owner" in finding.explanation


def test_a_legacy_claim_alone_may_be_reformatted() -> None:
    legacy = make_record("www.example.org", "TXT", make_claim().targets)

    serve(make_provider(), [make_record("www.example.org"), legacy])

    (finding,) = _found(Kind.LEGACY_CLAIM)
    assert finding.suggestion["kind"] == "reformat"
    assert finding.suggestion["selection"]["names"] == ["www.example.org"]


def test_a_legacy_claim_beside_a_new_one_is_superseded() -> None:
    legacy = make_record("www.example.org", "TXT", make_claim().targets)

    serve(make_provider(), [make_record("www.example.org"), make_claim(), legacy])

    (finding,) = _found(Kind.SUPERSEDED_CLAIM)
    assert finding.suggestion["kind"] == "clean_up"
    assert _found(Kind.LEGACY_CLAIM) == []


def test_a_cname_claim_of_an_alias_is_obsolete() -> None:
    alias = Endpoint(
        dns_name="www.example.org",
        record_type="A",
        targets=("lb.example.net",),
        provider_specific=(ProviderSpecificProperty("alias", "true"),),
    )

    serve(
        make_provider(), [alias, make_claim("www.example.org", "A"), make_claim("www.example.org", "CNAME")]
    )

    (finding,) = _found(Kind.OBSOLETE_CLAIM)
    assert finding.suggestion["kind"] == "clean_up"


def test_registering_a_prefix_makes_what_looked_like_an_orphan_its_owners() -> None:
    provider = make_provider()
    profile = TxtProfile(prefix="extdns.")
    zone = [make_record("www.example.org"), make_claim("www.example.org", profile=profile)]
    serve(provider, zone)
    (orphan,) = _found(Kind.ORPHAN_CLAIM)
    RegistryProfile.objects.create(name="with prefix", prefix="extdns.")

    serve(provider, zone)

    assert "not registered" in orphan.explanation
    assert _found(Kind.ORPHAN_CLAIM) == []
    claim = Claim.objects.get()
    assert (claim.verdict, claim.registry_profile) == ("effective", RegistryProfile.objects.get())
