"""ApiToken: a bearer token of the REST API; only a keyed hash is stored."""

from django.conf import settings
from django.db import models

from registry_app.models.owner import Owner


class ApiToken(models.Model):
    """`dnsa_<public id>_<secret>`, shown once. It can do what its user can, within its scopes.

    `issued_by` is its user, or the administrator who issued it for them: both answer for what it does.
    """

    SCOPES = ("read", "plan", "approve", "apply", "admin")

    public_id = models.CharField(max_length=16, unique=True)
    secret_hash = models.CharField(max_length=64)
    name = models.CharField(max_length=100)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    issued_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    scopes = models.JSONField(default=list)
    owners = models.ManyToManyField(Owner, blank=True, related_name="+")
    is_narrowed = models.BooleanField(default=False, help_text="It reaches what `owners` have, and no more.")
    networks = models.JSONField(default=list, blank=True, help_text="CIDR networks it may be used from.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API token"
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
