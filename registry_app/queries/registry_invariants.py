"""I1, I2 and I8 where claims are in registry stores, as far as rows show them."""

from django.db.models import Count, Exists, F, OuterRef, Q

from providers.stores.registry_catalogue import KINDS_WITH_STORE
from registry_app.models import Claim, Provider, RegistryProfile, Transfer, TransferStep
from registry_app.queries.invariant import SAMPLE, Invariant, Violation, first_of, violation_of


def find_shared_stores() -> Violation | None:
    """I1. Rows of a store name no provider: one that spoke for two would be claimed twice over."""
    named = RegistryProfile.objects.filter(kind__in=KINDS_WITH_STORE).annotate(named=Count("providers"))
    return violation_of(named.filter(named__gt=1), "A registry store has claims for more than one provider.")


def find_claims_from_nowhere() -> Violation | None:
    """I2. A claim is in a TXT record, or in a store that its provider was read with."""
    beside = Claim.objects.filter(txt_name="")
    named = Exists(
        RegistryProfile.providers.through.objects.filter(
            registryprofile_id=OuterRef("registry_profile"), provider_id=OuterRef("provider")
        )
    )
    # Until the next sync the mirror tells what was true under the settings of before.
    read_since = Q(
        provider__status=Provider.Status.OK, provider__accepted_at__gt=F("registry_profile__updated_at")
    )
    return first_of(
        violation_of(beside.filter(registry_profile__isnull=True), "A claim has no place."),
        violation_of(
            beside.filter(~named & read_since),
            "A claim is in a registry store that its provider does not have.",
        ),
    )


def find_unreviewed_stores() -> Violation | None:
    """I8. Nothing is written into a store whose place was not reviewed with the plan."""
    written = TransferStep.objects.filter(registry_profile__isnull=False).order_by()
    pairs = set(written.values_list("transfer_id", "registry_profile_id").distinct())
    rows = Transfer.objects.filter(pk__in=written.values("transfer_id")).values_list("pk", "preconditions")
    reviewed = {
        (pk, int(store)) for pk, reviewed_with in rows.iterator() for store in reviewed_with.get("stores", {})
    }
    found = sorted({pk for pk, _ in pairs - reviewed})
    if not found:
        return None
    sample = tuple(f"transfer {pk}" for pk in found[:SAMPLE])
    return Violation(len(found), sample, "A transfer wrote into a registry store that was not reviewed.")


REGISTRY_INVARIANTS = (
    Invariant("I1", "a registry store has claims for one provider", find_shared_stores),
    Invariant("I2", "stored claims come from stores that were read", find_claims_from_nowhere),
    Invariant("I8", "nothing is written into a store that was not reviewed", find_unreviewed_stores),
)
