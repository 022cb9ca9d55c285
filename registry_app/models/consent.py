"""What a transfer and a hand-over store of the first of two consents, and what the database keeps of it."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Consented(models.Model):
    """Under the policy that both sides agree, one person consents for each side: the first consent is stored
    in these columns, the second one is the approval. `consent_by_issuer` is who issued the token that was
    used; without a token, who consented."""

    class Side(models.TextChoices):
        GIVER = "giver", "gives"
        TAKER = "taker", "takes"

    consent_side = models.CharField(max_length=5, choices=Side.choices, blank=True, default="")
    consent_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    consent_by_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    consent_by_name = models.CharField(max_length=200, blank=True, default="")
    consent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


def build_consent_constraints(noun: str) -> list[models.BaseConstraint]:
    """A first consent has a side and a time, there is none under another policy, nothing is approved without
    one, and the second one is another person's."""
    is_other_policy = ~Q(approval_policy="both_sides")
    return [
        models.CheckConstraint(
            name=f"{noun}_consent_is_whole",
            condition=Q(consent_side="", consent_at__isnull=True)
            | (~is_other_policy & ~Q(consent_side="") & Q(consent_at__isnull=False)),
        ),
        models.CheckConstraint(
            name=f"{noun}_both_sides_consent",
            condition=is_other_policy | Q(approved_at__isnull=True) | Q(consent_at__isnull=False),
        ),
        models.CheckConstraint(
            name=f"{noun}_consents_of_two_people",
            condition=is_other_policy
            | Q(approved_by__isnull=True)
            | Q(consent_by__isnull=True)
            | (
                ~Q(approved_by=F("consent_by"))
                & ~Q(approved_by=F("consent_by_issuer"))
                & ~Q(approved_by_issuer=F("consent_by"))
                & ~Q(approved_by_issuer=F("consent_by_issuer"))
            ),
        ),
    ]
