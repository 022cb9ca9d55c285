"""Which profile finds which owner, as a RecordSet row holds it. Pure."""

from providers.registries.claim import TXT_REGISTRY, Belief, PairedEndpoint
from registry_app.mirror.snapshot import Snapshot
from registry_app.reconcile.rows.record_digest import txt_name_of

BY_CLAIM = "claim"
BY_LABEL = "label"

JsonBelief = dict[str, object]


def describe_beliefs(snapshot: Snapshot, record: PairedEndpoint) -> list[JsonBelief]:
    """The beliefs of a record set in the words of `RecordSet.beliefs`, in a fixed order."""
    return [_describe(*values) for values in sorted({_values_of(each, snapshot) for each in record.beliefs})]


def _values_of(belief: Belief, snapshot: Snapshot) -> tuple[str, str, str, str]:
    if belief.claim is None:
        return belief.profile_reference, belief.owner_id, BY_LABEL, ""
    claim = snapshot.claims[belief.claim]
    place = txt_name_of(claim) if claim.registry == TXT_REGISTRY else ""
    return belief.profile_reference, belief.owner_id, BY_CLAIM, place


def _describe(reference: str, owner_id: str, source: str, place: str) -> JsonBelief:
    profile_id = int(reference) if reference else None
    return {"profile_id": profile_id, "owner": owner_id, "source": source, "place": place}
