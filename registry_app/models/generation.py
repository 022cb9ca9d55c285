"""Generation: how often the database was restored, and how much it has sent."""

import uuid

from django.db import models


class Generation(models.Model):
    """One row. A restore raises `number`; `sends` counts the requests that were about to be sent.

    A copy of both is kept outside the database (registry_app.outside_copy). A copy that is ahead of this row
    means that the database was restored. `identity` tells the copies of different databases apart.
    """

    identity = models.UUIDField(default=uuid.uuid4, editable=False)
    number = models.PositiveBigIntegerField(default=1)
    sends = models.PositiveBigIntegerField(default=0)
    restored_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(name="generation_single", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"generation {self.number}"
