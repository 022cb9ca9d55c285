"""IdempotencyKey: the same request sent twice takes effect once (I16)."""

from django.conf import settings
from django.db import models


class IdempotencyKey(models.Model):
    """The first answer to a POST, kept for its replays. No status yet means: in flight.

    `answer` is {"data": the body, "headers": those that belong to it}. `claimed_at` is the fence: the
    answer is stored, in the transaction of the effect, only by the request that still holds the claim.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    method_and_path = models.CharField(max_length=300)
    body_digest = models.CharField(max_length=64)
    status_code = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    claimed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return self.key
