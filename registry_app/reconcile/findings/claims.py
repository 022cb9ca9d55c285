"""Findings about single claims: orphan, unreadable, legacy, encrypted otherwise, superseded, not obeyed."""

from collections.abc import Iterator, Sequence

from providers.registries.claim import Belief, Claim, ClaimFormat, ClaimVerdict
from providers.registries.encryption import seems_to_differ_from_external_dns
from providers.registries.join_stores import IS_OVERRULED_COPY
from providers.wire.endpoint import EndpointKey
from registry_app.reconcile.findings.draft import (
    FindingDraft,
    JsonObject,
    Kind,
    Severity,
    name_claimed,
    name_place,
    name_record,
    select_claim,
    select_records,
    subject_of,
    suggest_registering,
)
from registry_app.reconcile.findings.scene import Scene
from registry_app.reconcile.rows.record_digest import compute_claim_identity, txt_name_of


def find_orphan_claims(scene: Scene) -> Iterator[FindingDraft]:
    """Claims for record sets that are not there: they keep other owners from creating them, or give one to
    their own when somebody else has.

    Cleaning up is offered only where a person registered the owner and with it how it writes, and the claim
    is written so: otherwise it may well protect a record set, and is then no orphan.
    """
    for claim in _with_verdict(scene, ClaimVerdict.ORPHAN):
        caveat, suggestion = _find_caveat(scene, claim)
        yield _draft(
            claim,
            Kind.ORPHAN_CLAIM,
            Severity.WARNING,
            f"{_begin(claim)} names {claim.owner_id} as the owner of {name_claimed(claim)}, but there "
            f"is no such record set. {_say_harm(claim)} {caveat}".strip(),
            suggestion,
        )


def _find_caveat(scene: Scene, claim: Claim) -> tuple[str, JsonObject]:
    """What to make sure of before an orphan is removed, and what to do about it now."""
    owner_id = claim.owner_id
    if not scene.is_registered(owner_id):
        caveat = (
            f"{owner_id} is not registered, so it is not known how it writes its claims. Register it, "
            "with its prefix or suffix, before you remove this claim."
        )
        return caveat, suggest_registering(owner_id)
    if not scene.is_written_as_registered(claim):
        caveat = (
            f"It is not written as {owner_id} is registered to write: correct the registry profile of "
            f"{owner_id}, or make sure that the claim is an old one before you remove it."
        )
        return caveat, {}
    if not claim.is_in_zone and not scene.manages(claim.record_name):
        return (
            f"Its name is outside what {scene.provider_name} manages, so its record set may be at "
            "another provider: leave the claim alone."
        ), {}
    return claim.problem, _clean_up(scene, claim)


def _say_harm(claim: Claim) -> str:
    if claim.is_in_zone:
        return "No other owner can create it while this claim exists."
    return f"If another owner creates it, {claim.owner_id} manages it while this claim exists."


def find_unreadable_claims(scene: Scene) -> Iterator[FindingDraft]:
    """Claims that cannot be read, so that nobody knows whose their record sets are."""
    for claim in _with_verdict(scene, ClaimVerdict.UNREADABLE):
        yield _draft(
            claim,
            Kind.UNREADABLE_CLAIM,
            Severity.WARNING,
            f"{_begin(claim)} looks like a claim for {name_claimed(claim)} and cannot be read: "
            f"{claim.problem} The record sets that it may claim are left alone. Correct it where it "
            "is written or, if it is encrypted, enter its key in a registry profile.",
            {},
        )


def find_legacy_claims(scene: Scene) -> Iterator[FindingDraft]:
    """Claims in the format before ExternalDNS 0.12 that still decide."""
    for claim in _with_verdict(scene, ClaimVerdict.EFFECTIVE):
        if claim.format is ClaimFormat.LEGACY:
            yield _draft(
                claim,
                Kind.LEGACY_CLAIM,
                Severity.INFO,
                f"The TXT record {txt_name_of(claim)} claims {name_claimed(claim)} for "
                f"{claim.owner_id} in the legacy format, which never covers AAAA records.",
                _reformat(scene, claim),
            )


def find_claims_encrypted_otherwise(scene: Scene) -> Iterator[FindingDraft]:
    """Encrypted claims in bytes that ExternalDNS would not write.

    It writes what it read anew with each change. A provider that compares old values finds other bytes than
    it holds, and refuses every change of the record set.
    """
    for claim in _with_verdict(scene, ClaimVerdict.EFFECTIVE):
        key = claim.profile.encryption_key if claim.is_encrypted else None
        if key is None or not seems_to_differ_from_external_dns(claim.raw, key):
            continue
        fix, suggestion = "Re-format it.", _reformat(scene, claim)
        if not scene.is_registered(claim.owner_id) or not scene.is_written_as_registered(claim):
            fix = f"Register {claim.owner_id} with its registry profile, then re-format it."
            suggestion = suggest_registering(claim.owner_id)
        yield _draft(
            claim,
            Kind.ENCRYPTED_OTHERWISE,
            Severity.WARNING,
            f"The TXT record {txt_name_of(claim)}, by which {claim.owner_id} owns "
            f"{name_claimed(claim)}, is encrypted in bytes that ExternalDNS would not write. A "
            "provider that compares old values refuses the changes of the instance of "
            f"{claim.owner_id} there. {fix}",
            suggestion,
        )


def find_superseded_claims(scene: Scene) -> Iterator[FindingDraft]:
    """Legacy-format claims beside new ones of the same owner: left over."""
    for claim in _with_verdict(scene, ClaimVerdict.SUPERSEDED):
        yield _draft(
            claim,
            Kind.SUPERSEDED_CLAIM,
            Severity.INFO,
            f"The TXT record {txt_name_of(claim)} claims {name_claimed(claim)} for {claim.owner_id} in the "
            "legacy format, beside a claim of the same owner in the new one. It can be removed.",
            _clean_up(scene, claim),
        )


def find_obsolete_claims(scene: Scene) -> Iterator[FindingDraft]:
    """`cname-` claims of alias records that have their own claim by now."""
    for claim in _with_verdict(scene, ClaimVerdict.OBSOLETE):
        key = EndpointKey(claim.record_name, "A", claim.set_identifier)
        yield _draft(
            claim,
            Kind.OBSOLETE_CLAIM,
            Severity.INFO,
            f"The TXT record {txt_name_of(claim)} claims the alias {key.name} A for {claim.owner_id} as if "
            "it were a CNAME, beside its own claim. It can be removed.",
            _clean_up(scene, claim),
        )


def find_ignored_claims(scene: Scene) -> Iterator[FindingDraft]:
    """Claims that ExternalDNS does not obey under any registry profile, whatever they say."""
    for claim in scene.snapshot.claims:
        if claim.verdict not in {ClaimVerdict.OVERRULED, ClaimVerdict.IGNORED}:
            continue
        if claim.problem == IS_OVERRULED_COPY:
            continue  # the finding about its record set says it
        says = (
            f"{_begin(claim)} names {claim.owner_id} as the owner of {name_claimed(claim)}, and "
            "ExternalDNS ignores"
        )
        if claim.verdict is ClaimVerdict.OVERRULED:
            then = (
                "If the claim that decides now is removed, this one may decide. Remove it, or find out "
                "who wrote it."
            )
            suggestion = _clean_up(scene, claim)
        else:
            then = "So the claim has no effect. Correct it where it is written, or remove it there."
            suggestion = {}
        yield _draft(
            claim,
            Kind.UNHEARD_CLAIM,
            Severity.WARNING,
            f"{says} it under every registry profile known here. {claim.problem} {then}",
            suggestion,
        )


def find_conflicts(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets of which registry profiles find different owners: nobody is taken for the owner."""
    claims = scene.snapshot.claims
    for record in scene.snapshot.records:
        if record.state != "conflict":
            continue
        found = dict.fromkeys((belief.owner_id, _name_source(belief, claims)) for belief in record.beliefs)
        named = ", ".join(f"{place} names {owner_id}" for owner_id, place in found)
        key = record.key
        yield FindingDraft(
            kind=Kind.CONFLICT,
            severity=Severity.ERROR,
            subject="\0".join(key),
            explanation=(
                f"The claims for {key.name} {key.record_type} disagree: {named}. It has no owner "
                "until you transfer it to one of them."
            ),
            name=key.name,
            record_type=key.record_type,
            set_identifier=key.set_identifier,
            suggestion={"kind": "transfer", "selection": select_records(scene.provider_id, [key])},
            details={"owner_ids": sorted({belief.owner_id for belief in record.beliefs})},
        )


def find_owners_in_labels(scene: Scene) -> Iterator[FindingDraft]:
    """Record sets whose owner only the labels name that the provider returns with them."""
    for record in scene.snapshot.records:
        if not record.owner_id or record.effective_claim is not None:
            continue
        key = record.key
        yield FindingDraft(
            kind=Kind.OWNER_IN_LABELS,
            severity=Severity.INFO,
            subject=subject_of(key),
            explanation=(
                f"ExternalDNS finds no claim for {name_record(key)}, but {scene.provider_name} "
                f"returns it with the label owner={record.owner_id}, and ExternalDNS then uses the "
                "label. dnsadmin cannot change the label. A claim that a transfer writes takes "
                "precedence."
            ),
            name=key.name,
            record_type=key.record_type,
            set_identifier=key.set_identifier,
            owner_id=record.owner_id,
        )


def _name_source(belief: Belief, claims: Sequence[Claim]) -> str:
    return "the label owner of the provider" if belief.claim is None else name_place(claims[belief.claim])


def _begin(claim: Claim) -> str:
    place = name_place(claim)
    return place[0].upper() + place[1:]


def _with_verdict(scene: Scene, verdict: ClaimVerdict) -> Iterator[Claim]:
    return (claim for claim in scene.snapshot.claims if claim.verdict is verdict)


def _reformat(scene: Scene, claim: Claim) -> JsonObject:
    selection = {"provider_id": scene.provider_id, "names": [claim.record_name]}
    return {"kind": "reformat", "selection": selection}


def _clean_up(scene: Scene, claim: Claim) -> JsonObject:
    return {"kind": "clean_up", "selection": select_claim(scene.provider_id, claim)}


def _draft(
    claim: Claim, kind: Kind, severity: Severity, explanation: str, suggestion: JsonObject
) -> FindingDraft:
    return FindingDraft(
        kind=kind,
        severity=severity,
        subject=compute_claim_identity(claim).hex(),
        explanation=explanation,
        name=claim.record_name,
        record_type=claim.record_type,
        set_identifier=claim.set_identifier,
        owner_id=claim.owner_id,
        suggestion=suggestion,
        details={"txt_name": txt_name_of(claim)},
    )
