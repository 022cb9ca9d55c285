"""KeptCount: how many rows there are, kept by the transactions that change them."""

from django.db import models
from django.db.models.functions import Coalesce

from registry_app.models.owner import Owner
from registry_app.models.provider import Provider


class KeptCount(models.Model):
    """How many rows of one noun have these values: `amount`, which a page reads instead of the rows.

    `type` is the record type of a record set or claim, and the kind of a finding; `state` is the ownership
    state, the verdict of a claim, or the state of a finding. Missing record sets count. Written only by
    reconcile, in the transaction that changes the rows; one of 0 stays until the counts are rebuilt.
    """

    class Noun(models.TextChoices):
        RECORD_SET = "record_set", "record sets"
        CLAIM = "claim", "claims"
        FINDING = "finding", "findings"

    noun = models.CharField(max_length=10, choices=Noun.choices)
    provider = models.ForeignKey(
        Provider, null=True, on_delete=models.CASCADE, related_name="kept_counts", db_index=False
    )
    owner = models.ForeignKey(
        Owner, null=True, on_delete=models.CASCADE, related_name="kept_counts", db_index=False
    )
    type = models.CharField(max_length=30, blank=True, default="")
    state = models.CharField(max_length=12)
    severity = models.PositiveSmallIntegerField(default=0, help_text="Of findings.")
    amount = models.BigIntegerField()

    class Meta:
        ordering = ("noun", "id")
        indexes = [
            models.Index(fields=["noun", "provider"], name="kept_count_by_provider"),
            models.Index(fields=["noun", "owner"], name="kept_count_by_owner"),
        ]
        constraints = [
            # One without a provider or an owner is there once, too.
            models.UniqueConstraint(
                "noun",
                Coalesce("provider", 0),
                Coalesce("owner", 0),
                "type",
                "state",
                "severity",
                name="kept_count_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.get_noun_display()}"
