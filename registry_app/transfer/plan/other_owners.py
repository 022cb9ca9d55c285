"""What it means for a plan that somebody else may be taken for the owner. Pure.

ExternalDNS believes the label `owner` that a provider returns where it finds no claim, and nobody can change
it by writing claims. A claim that it does not obey today may be the one it obeys when the owner's own goes.
"""

from registry_app.mirror.owner_registry import OwnerRegistry
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.plan.claim_edit import ClaimEdit, UnusableClaim
from registry_app.transfer.plan.claim_key import ZONE, describe_place
from registry_app.transfer.plan.edits import PlanContext, naming_of
from registry_app.transfer.plan.subjects import Subject
from registry_app.transfer.plan.verdicts import Verdict

_KIND = Transfer.Kind
_VERDICT = TransferItem.Verdict


def raise_if_another_takes_over(edit: ClaimEdit, subject: Subject, context: PlanContext) -> None:
    """Raises UnusableClaim where the owner's claim goes from a place, and ExternalDNS may then obey another's
    that it does not obey beside it."""
    other = next((claim for claim in subject.unheard if claim.owner_id != context.owner_id), None)
    gone = edit.find_given_up(subject.readable) if other else None
    if other is None or gone is None:
        return
    raise UnusableClaim(
        "another_claim_takes_over",
        f"Its claim is removed from {describe_place(gone, {})}, and another one, in "
        f"{describe_place(other.place, {})}, names {other.owner_id}: ExternalDNS may then use that "
        f"claim, and {other.owner_id} may change or delete the record set. Clean that claim up first.",
    )


def add_label_owner(verdict: Verdict, subject: Subject, context: PlanContext) -> Verdict:
    """The verdict with what the instances of the owner may do whom the provider's label names."""
    label_owner = subject.record.label_owner
    if not label_owner or context.kind == _KIND.REFORMAT:
        return verdict
    label = f"the provider returns it with the label owner={label_owner}, which dnsadmin cannot change"
    if context.kind == _KIND.RELEASE:
        return Verdict(
            _VERDICT.UNKNOWN,
            f"The claim is removed, but {label}: without a claim ExternalDNS uses the label, so "
            f"{label_owner} owns it afterwards and may change or delete it.",
        )
    if label_owner == context.owner_id:
        return verdict
    registry = context.registries.get(label_owner, OwnerRegistry())
    if registry.store != ZONE:
        return verdict  # its instance goes by its store, and by no label
    if _obeys_claims_of(registry, context.registries[context.owner_id]):
        note = f"Besides, {label}. The new claim takes precedence for every instance that reads it."
        return Verdict(verdict.value, f"{verdict.reason} {note}")
    value = verdict.value if verdict.value == _VERDICT.DELETE else _VERDICT.UNKNOWN
    note = (
        f"Besides, {label}, and an instance of {label_owner} does not read the new claim: it still "
        "manages the record set and may change or delete it."
    )
    return Verdict(value, f"{verdict.reason} {note}")


def _obeys_claims_of(reader: OwnerRegistry, writer: OwnerRegistry) -> bool:
    if writer.store != ZONE or naming_of(reader.txt) != naming_of(writer.txt):
        return False
    return writer.txt.encryption_key in (None, reader.txt.encryption_key)
