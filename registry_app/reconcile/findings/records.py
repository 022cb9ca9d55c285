"""Findings about record sets: claims that cannot exist, CNAME beside others, flapping, second readings."""

from collections.abc import Iterator
from itertools import groupby

from providers.registries.claim import PairedEndpoint, TxtProfile
from providers.registries.errors import TxtNameTooLong
from providers.registries.txt_names import format_txt_name
from providers.wire.canonical_name import endpoint_key, has_second_reading
from providers.wire.change_set import list_differences
from registry_app.reconcile.findings.draft import (
    FindingDraft,
    Kind,
    Severity,
    name_record,
    select_records,
    subject_of,
)
from registry_app.reconcile.findings.scene import FLAPPING_CHANGES, Scene

_MAX_LABEL = 63
_MAX_NAME = 253


def find_long_txt_names(scene: Scene) -> Iterator[FindingDraft]:
    """Owned record sets whose claim, under their owner's profile, would need a TXT name that cannot exist."""
    for record in scene.snapshot.records:
        if not record.owner_id:
            continue
        profile = _profile_of(scene, record)
        if _fits_surely(record, profile):
            continue
        try:
            format_txt_name(record.key.name, record.key.record_type, profile)
        except TxtNameTooLong as error:
            yield _draft(
                scene,
                record,
                Kind.TXT_NAME_TOO_LONG,
                Severity.WARNING,
                f"{error} {record.owner_id} cannot claim {name_record(record.key)} in the new format: give "
                "it a shorter name, or its owner a shorter prefix or suffix.",
            )


def find_cnames_beside_others(scene: Scene) -> Iterator[FindingDraft]:
    """Names with a CNAME and something else: DNS allows no such thing, and servers answer either."""
    for _name, group in groupby(scene.snapshot.records, key=lambda record: record.key.name):
        records = list(group)
        if len(records) < 2:
            continue
        cname = next((record for record in records if record.key.record_type == "CNAME"), None)
        others = sorted({r.key.record_type for r in records if r.key.record_type != "CNAME"})
        if cname is not None and others:
            yield _draft(
                scene,
                cname,
                Kind.CNAME_BESIDE_OTHERS,
                Severity.ERROR,
                f"{cname.key.name} holds a CNAME beside {', '.join(others)}, which DNS does not "
                "allow: what it resolves to depends on the server asked. Remove one of them where it "
                "is created.",
            )


def find_flapping(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets that change to and fro: two writers, most likely."""
    for key, count in sorted(scene.changing.items()):
        if count >= FLAPPING_CHANGES:
            yield FindingDraft(
                kind=Kind.FLAPPING,
                severity=Severity.ERROR,
                subject=subject_of(key),
                explanation=(
                    f"{name_record(key)} changed its value or owner at least {FLAPPING_CHANGES} times "
                    "within an hour. Two writers may disagree. Its history shows what each wrote. "
                    "Let only one of them write it."
                ),
                name=key.name,
                record_type=key.record_type,
                set_identifier=key.set_identifier,
                details={"changes": count},
            )


def find_second_readings(scene: Scene) -> Iterator[FindingDraft]:
    """Names that another program may read as other names."""
    for record in scene.snapshot.records:
        spelling = record.endpoint.dns_name
        if has_second_reading(spelling):
            yield _draft(
                scene,
                record,
                Kind.SECOND_READING,
                Severity.WARNING,
                "The provider spells this name in a way that programs read differently. dnsadmin, "
                f"like ExternalDNS, reads it as {record.key.name}. Write it in ASCII where it is "
                "created.",
            )


def find_differing_parts(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets that the provider lists as several endpoints, and not alike but for their targets."""
    listed = {record.key: record.parts for record in scene.snapshot.records if record.parts}
    for claim in scene.snapshot.claims:
        if claim.parts:
            listed[endpoint_key(claim.endpoint)] = claim.parts
    for key, parts in sorted(listed.items()):
        differences = list_differences(parts)
        if differences:
            yield FindingDraft(
                kind=Kind.PARTS_DIFFER,
                severity=Severity.WARNING,
                subject=subject_of(key),
                explanation=(
                    f"{scene.provider_name} lists {name_record(key)} as {len(parts)} endpoints that "
                    f"differ in their {' and '.join(differences)}. They are one record set in DNS. "
                    "ExternalDNS reads each separately and uses the last one. Give them the same "
                    "values at the provider."
                ),
                name=key.name,
                record_type=key.record_type,
                set_identifier=key.set_identifier,
                details={"differ_in": list(differences)},
            )


def _profile_of(scene: Scene, record: PairedEndpoint) -> TxtProfile:
    """The profile its owner writes under: as registered, else as its claim was read."""
    facts = scene.owners.get(record.owner_id)
    for reference in sorted(facts.profile_references) if facts is not None else ():
        if reference in scene.profiles:
            return scene.profiles[reference]
    if record.effective_claim is not None:
        return scene.snapshot.claims[record.effective_claim].profile
    return TxtProfile()


def _fits_surely(record: PairedEndpoint, profile: TxtProfile) -> bool:
    """True for nearly all names, without building one: the type counts twice, for a template and its dash."""
    name, record_type, _ = record.key
    more = len(profile.prefix) + len(profile.suffix) + len(profile.wildcard_replacement)
    more += 2 * len(record_type) + 2
    return len(name) + more <= _MAX_NAME and name.find(".") + more <= _MAX_LABEL and "." in name


def _draft(
    scene: Scene, record: PairedEndpoint, kind: Kind, severity: Severity, explanation: str
) -> FindingDraft:
    key = record.key
    return FindingDraft(
        kind=kind,
        severity=severity,
        subject=subject_of(key),
        explanation=explanation,
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        owner_id=record.owner_id,
        details={"selection": select_records(scene.provider_id, [key])},
    )
