"""RegistryProfile: the registry settings of one or more ExternalDNS instances."""

from django.core.exceptions import ValidationError
from django.db import models

from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey
from registry_app.models.encrypted_field import EncryptedTextField, SecretsLeftBehind
from registry_app.models.provider import Provider


class RegistryProfile(models.Model):
    """How instances write their claims: prefix or suffix, wildcard replacement, encryption key.

    With no provider named, it is tried at every provider.
    """

    class Kind(models.TextChoices):
        TXT = "txt", "TXT"
        AWS_SD = "aws-sd", "AWS Service Discovery (descriptions)"
        NOOP = "noop", "None (noop)"

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.TXT)
    prefix = models.CharField(max_length=200, blank=True, default="", help_text="--txt-prefix")
    suffix = models.CharField(max_length=200, blank=True, default="", help_text="--txt-suffix")
    wildcard_replacement = models.CharField(
        max_length=63, blank=True, default="", help_text="--txt-wildcard-replacement"
    )
    encryption_key = EncryptedTextField(
        blank=True,
        default="",
        help_text="--txt-encrypt-aes-key: 32 characters or base64, or env:NAME or file:NAME. Write-only.",
    )
    providers = models.ManyToManyField(Provider, blank=True, related_name="registry_profiles")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SecretsLeftBehind()

    class Meta:
        ordering = ("name",)
        base_manager_name = "objects"  # reached through a foreign key too
        constraints = [
            models.CheckConstraint(
                name="profile_prefix_or_suffix", condition=models.Q(prefix="") | models.Q(suffix="")
            )
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.prefix and self.suffix:
            raise ValidationError({"suffix": "ExternalDNS takes a prefix or a suffix, never both."})
        if "encryption_key" in self.get_deferred_fields():
            return  # not part of this change
        if self.encryption_key and not self.encryption_key.startswith(("env:", "file:")):
            try:
                parse_encryption_key(self.encryption_key)
            except InvalidEncryptionKey as error:
                raise ValidationError({"encryption_key": str(error)}) from error
