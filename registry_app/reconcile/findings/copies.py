"""TXT records that repeat claims of the database, and differ from them."""

from collections.abc import Iterator

from providers.registries.claim import Claim, PairedEndpoint, TxtProfile
from providers.registries.errors import RegistryError
from providers.registries.new_claim import build_new_claim
from providers.registries.txt_copies import describe_copy_difference, find_copies
from providers.wire.canonical_name import InvalidName
from registry_app.reconcile.findings.draft import (
    FindingDraft,
    Kind,
    Severity,
    name_record,
    select_records,
    subject_of,
)
from registry_app.reconcile.findings.scene import Scene


def find_differing_copies(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets whose claim is a row, and whose TXT copies are missing or say something else. The row
    decides, so nothing is wrong for an instance behind the guard; whoever reads the zone alone is misled."""
    claims = scene.snapshot.claims
    for record in scene.snapshot.records:
        if record.effective_claim is None or claims[record.effective_claim].is_in_zone:
            continue
        claim = claims[record.effective_claim]
        profile = scene.profiles.get(claim.profile.reference)
        if profile is None:
            continue  # its registry profile keeps no copies
        copies = [claims[number] for number in find_copies(record, record.claims, claims, profile)]
        difference = describe_copy_difference(claim, copies)
        if difference and (copies or _may_have_copy(record, claim, profile)):
            yield _draft(scene, record, difference)


def _may_have_copy(record: PairedEndpoint, claim: Claim, profile: TxtProfile) -> bool:
    """Whether ExternalDNS could write it: a TXT name may be too long."""
    try:
        build_new_claim(record.endpoint, claim.owner_id, profile)
    except (RegistryError, InvalidName):
        return False
    return True


def _draft(scene: Scene, record: PairedEndpoint, difference: str) -> FindingDraft:
    key = record.key
    return FindingDraft(
        kind=Kind.COPY_DIFFERS,
        severity=Severity.WARNING,
        subject=subject_of(key),
        explanation=(
            f"{name_record(key)} belongs to {record.owner_id} by its claim in the database, which decides. "
            f"The copy in the zone differs. {difference} Re-format it: then the copy is written anew."
        ),
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        owner_id=record.owner_id,
        suggestion={"kind": "reformat", "selection": select_records(scene.provider_id, [key])},
    )
