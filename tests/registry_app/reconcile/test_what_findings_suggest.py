"""Whatever is found, its finding says how bad it is, what it is, and what to do about it."""

import msgspec
import pytest

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.json_codec import encode_endpoints
from registry_app.models import Finding, Provider, RegistryProfile
from tests.factories import make_owner, make_provider
from tests.faults import read_faults
from tests.reference_server import (
    ReferenceProvider,
    make_claim,
    make_claim_encrypted_otherwise,
    make_record,
    make_zone,
)
from tests.registry_app.reconcile.syncing import sync

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

Kind, Severity = Finding.Kind, Finding.Severity
_HERITAGE = '"heritage=external-dns,external-dns/owner=blue-cluster"'
_KEY = "0123456789abcdef0123456789abcdef"
_SEALED = TxtProfile(prefix="sealed-", encryption_key=_KEY.encode())
_LONG = f"{'w' * 45}.example.org"

# What to do about it: a request at hand, or the words for what only a person can do.
_FIX: dict[str, tuple[int, str]] = {
    Kind.ORPHAN_CLAIM: (Severity.WARNING, "clean_up"),
    Kind.UNMANAGED_IN_PATTERN: (Severity.INFO, "adopt"),
    Kind.CONFLICT: (Severity.ERROR, "transfer"),
    Kind.UNREGISTERED_OWNER: (Severity.WARNING, "register_owner"),
    Kind.UNREADABLE_CLAIM: (Severity.WARNING, "Correct it where it is written or, if it is encrypted, enter"),
    Kind.LEGACY_CLAIM: (Severity.INFO, "reformat"),
    Kind.ENCRYPTED_OTHERWISE: (Severity.WARNING, "reformat"),
    Kind.SUPERSEDED_CLAIM: (Severity.INFO, "clean_up"),
    Kind.OBSOLETE_CLAIM: (Severity.INFO, "clean_up"),
    Kind.UNHEARD_CLAIM: (Severity.WARNING, "clean_up"),
    Kind.OWNER_IN_LABELS: (Severity.INFO, "A claim that a transfer writes takes precedence."),
    Kind.PARTS_DIFFER: (Severity.WARNING, "Give them the same values at the provider."),
    Kind.TXT_NAME_TOO_LONG: (Severity.WARNING, "give it a shorter name, or its owner a shorter prefix"),
    Kind.SPLIT_OWNER: (Severity.WARNING, "transfer"),
    Kind.CNAME_BESIDE_OTHERS: (Severity.ERROR, "Remove one of them where it is created."),
    Kind.FLAPPING: (Severity.ERROR, "Let only one of them write it."),
    Kind.FILTER_MATCHES_ALL: (Severity.WARNING, "The list must be called `include`."),
    Kind.SET_ASIDE: (Severity.WARNING, "Correct it where it is created."),
    Kind.WRONG_CONTENT_TYPE: (Severity.INFO, "Correct the provider, or the proxy in front of it."),
    Kind.SECOND_READING: (Severity.WARNING, "Write it in ASCII where it is created."),
    Kind.SNAPSHOT_HELD: (Severity.CRITICAL, "accept_snapshot"),
    Kind.PROVIDER_FAILING: (Severity.ERROR, "Look at the provider's log"),
}
# Found beside syncs, where their own tests look at what they say.
_ELSEWHERE = {
    Kind.CHANGED_BACK,
    Kind.DELETED_AFTER_TRANSFER,
    Kind.TRANSFER_STUCK,
    Kind.REGISTRY_DRIFT,
    Kind.SHARED_OWNER,
    Kind.DUPLICATE_PROVIDER,
    Kind.APPROVAL_LOOSENED,
    Kind.DATABASE_RESTORED,
    Kind.CLOCK_OFF,
    Kind.READINGS_DIFFER,
    Kind.DUPLICATE_OWNER,
    Kind.FOREIGN_CLAIM,
    Kind.CHANGED_OUTSIDE,
    Kind.EXPORT_FAILED,
    Kind.COPY_DIFFERS,
}


def test_every_kind_of_finding_says_how_bad_it_is_and_what_to_do() -> None:
    profile = RegistryProfile.objects.create(name="long", prefix="of-the-blue-cluster-")
    make_owner("blue-cluster", registry_profile=profile, name_patterns=["free.example.org"])
    make_owner("green-cluster")
    sealed = RegistryProfile.objects.create(name="sealed", prefix="sealed-", encryption_key=_KEY)
    make_owner("edge-cluster", registry_profile=sealed)
    _show_everything_that_can_be_wrong(make_provider("blue-zone"))
    _show_too_little(make_provider("green-zone"))
    _fail(make_provider("red-zone"))
    _list_in_parts(make_provider("white-zone"))

    found = {(row.kind, row.severity, _fix_of(row)) for row in Finding.objects.all()}

    kinds = {kind for kind, _, _ in found}
    assert kinds >= set(_FIX)
    assert {
        kind for kind, (severity, fix) in _FIX.items() if not _is_told(found, kind, severity, fix)
    } == set()


def test_no_kind_of_finding_is_forgotten_here() -> None:
    loops = {kind for kind in Kind.values if kind.startswith("loop")}

    assert set(_FIX) | _ELSEWHERE | loops == set(Kind.values)


def _is_told(found: set[tuple[str, int, str]], kind: str, severity: int, fix: str) -> bool:
    mine = [(how_bad, said) for found_kind, how_bad, said in found if found_kind == kind]
    return {how_bad for how_bad, _ in mine} == {severity} and any(fix in said for _, said in mine)


def _fix_of(row: Finding) -> str:
    return str(row.suggestion.get("kind", "")) or row.explanation


def _show_everything_that_can_be_wrong(provider: Provider) -> None:
    for number in range(4):
        with ReferenceProvider(_build_zone(number)) as reference:
            Provider.objects.filter(pk=provider.pk).update(url=reference.url)
            reference.faults.plan("GET /", read_faults.body(b'{"filters":["example.org"]}'))
            reference.faults.plan("GET /records", read_faults.nul())
            sync(provider)
    with ReferenceProvider(_build_zone(3)) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        reference.faults.plan("GET /records", read_faults.wrong_content_type())
        sync(provider)


def _build_zone(number: int) -> list[Endpoint]:
    alias = msgspec.structs.replace(
        make_record("alias.example.org"), provider_specific=(ProviderSpecificProperty("alias", "true"),)
    )
    own = TxtProfile(prefix="of-the-blue-cluster-")
    return [
        *make_zone("nobody-knows", 100, domain="more.example.org"),
        make_record("www.example.org", targets=(f"192.0.2.{number}",)),
        make_claim(),
        make_claim("gone.example.org", profile=own),
        make_record("free.example.org"),
        make_record("torn.example.org"),
        make_claim("torn.example.org"),
        make_claim("torn.example.org", owner="green-cluster", profile=own),
        make_record("mute.example.org"),
        make_record("a-mute.example.org", "TXT", ('"heritage=external-dns"',)),
        make_record("old.example.org"),
        make_record("old.example.org", "TXT", (_HERITAGE,)),
        make_record("both.example.org"),
        make_claim("both.example.org"),
        make_record("both.example.org", "TXT", (_HERITAGE,)),
        alias,
        make_claim("alias.example.org"),
        make_claim("alias.example.org", "CNAME"),
        make_record(_LONG),
        make_claim(_LONG),
        make_record("split.example.org"),
        make_claim("split.example.org"),
        make_record("split.example.org", "AAAA", ("2001:db8::1",)),
        make_claim("split.example.org", "AAAA", "green-cluster"),
        make_record("two.example.org"),
        make_record("two.example.org", "CNAME", ("lb.example.org",)),
        make_record("straße.example.org"),
        make_record("second.example.org"),
        make_record("a-second.example.org", "TXT", (_HERITAGE, _HERITAGE.replace("blue", "green"))),
        msgspec.structs.replace(make_record("label.example.org"), labels={"owner": "blue-cluster"}),
        make_record("edge.example.org"),
        make_claim_encrypted_otherwise("edge.example.org", "edge-cluster", _SEALED),
    ]


def _show_too_little(provider: Provider) -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        sync(provider)
        reference.faults.plan("GET /records", read_faults.empty_list())
        sync(provider)


def _list_in_parts(provider: Provider) -> None:
    parts = [make_record(), msgspec.structs.replace(make_record(targets=("192.0.2.9",)), record_ttl=77)]
    with ReferenceProvider() as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        reference.faults.plan("GET /records", read_faults.body(encode_endpoints(parts)))
        sync(provider)


def _fail(provider: Provider) -> None:
    with ReferenceProvider() as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        reference.faults.plan("GET /records", read_faults.status(500), times=3)
        for _ in range(3):
            sync(provider)
