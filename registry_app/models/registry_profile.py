"""RegistryProfile: the registry settings of one or more ExternalDNS instances."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey
from providers.stores.registry import RegistryKind
from providers.stores.registry_catalogue import DEFAULT_REGISTRY, REGISTRIES, REGISTRY_CHOICES
from registry_app.models.cluster import Cluster
from registry_app.models.deletion import NotDeleted, build_unique_name
from registry_app.models.encrypted_field import EncryptedTextField, SecretsLeftBehind
from registry_app.models.provider import Provider


class RegistryProfile(models.Model):
    """Where instances write their claims, and how: TXT records, or a registry store beside DNS.

    A TXT profile with no provider named is tried at every provider. A store has the claims of the one
    provider that it names.
    """

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=12, choices=REGISTRY_CHOICES, default=DEFAULT_REGISTRY)
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
    cluster = models.ForeignKey(
        Cluster,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="registry_profiles",
        help_text="ConfigMap, DNSRecord: the cluster whose Kubernetes API holds them.",
    )
    namespace = models.CharField(
        max_length=63,
        blank=True,
        default="",
        help_text="ConfigMap, DNSRecord: the namespace of the instances.",
    )
    table = models.CharField(max_length=255, blank=True, default="", help_text="--dynamodb-table")
    region = models.CharField(max_length=50, blank=True, default="", help_text="--dynamodb-region")
    endpoint_url = models.CharField(
        "endpoint",
        max_length=2048,
        blank=True,
        default="",
        help_text="DynamoDB: another address than the service's own in that region.",
    )
    access_key_id = models.CharField(max_length=128, blank=True, default="", help_text="DynamoDB.")
    secret_access_key = EncryptedTextField(
        blank=True, default="", help_text="DynamoDB: the key, or env:NAME or file:NAME. Write-only."
    )
    session_token = EncryptedTextField(
        blank=True,
        default="",
        help_text="DynamoDB: the token of temporary credentials, or env:NAME or file:NAME. Write-only.",
    )
    is_rebuilt = models.BooleanField(
        "rebuilt from the provider",
        default=False,
        help_text="ConfigMap: update the rows of the owners that use this profile to what the provider "
        "shows. The owner of a row never changes.",
    )
    keeps_txt = models.BooleanField(
        "keep the TXT records too",
        default=False,
        help_text="Database: the zone has a TXT record for each claim as well, as a copy. The claim in the "
        "database decides.",
    )
    store_place = models.CharField(
        max_length=32,
        blank=True,
        default="",
        editable=False,
        help_text="Digest of a store and the provider whose claims it has; empty for TXT and noop.",
    )
    claims_version = models.CharField(
        max_length=32,
        blank=True,
        default="",
        editable=False,
        help_text="Another one after each change of its claims in the database.",
    )
    exported_at = models.DateTimeField(null=True, blank=True, editable=False)
    export_error = models.CharField(max_length=500, blank=True, default="", editable=False)
    next_resync_at = models.DateTimeField(null=True, blank=True, editable=False)
    providers = models.ManyToManyField(
        Provider,
        blank=True,
        related_name="registry_profiles",
        help_text="TXT: the providers where it is used; none: all. Any other kind: the one provider whose "
        "claims it has.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = NotDeleted()
    with_deleted = SecretsLeftBehind()

    class Meta:
        ordering = ("name",)
        base_manager_name = "with_deleted"  # reached through a foreign key: history names what was deleted
        constraints = [
            build_unique_name("name", "profile_name_once", "A registry profile"),
            models.CheckConstraint(name="profile_prefix_or_suffix", condition=Q(prefix="") | Q(suffix="")),
            models.CheckConstraint(
                name="profile_in_a_cluster",
                condition=~Q(kind__in=["configmap", "crd"])
                | (Q(cluster__isnull=False) & ~Q(namespace=""))
                | Q(deleted_at__isnull=False),  # so that its cluster can be deleted after it
            ),
            models.CheckConstraint(
                name="profile_in_a_table", condition=~Q(kind="dynamodb") | (~Q(table="") & ~Q(region=""))
            ),
            models.UniqueConstraint(
                fields=["store_place"],
                condition=~Q(store_place=""),
                name="profile_store_once",
                violation_error_message="Another registry profile already uses this store at this provider.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def registry(self) -> RegistryKind:
        """Which kind of registry it is, and all that follows from that."""
        return REGISTRIES[self.kind]

    @property
    def writes_txt(self) -> bool:
        """Whether the zone has TXT records in its format: its claims, or copies of them."""
        return self.registry.is_in_zone or (self.registry.is_behind_guard and self.keeps_txt)

    def describe_place(self) -> str:
        """Where its claims are, as a sentence names it."""
        settings = {name: getattr(self, name) for name in ("cluster", "namespace", "table", "region")}
        return self.registry.where.format(**settings)

    def clean(self) -> None:
        if self.prefix and self.suffix:
            raise ValidationError({"suffix": "ExternalDNS takes a prefix or a suffix, never both."})
        kind = REGISTRIES.get(self.kind)  # any text, where the field itself is refused
        questions = kind.questions if kind else {}
        if self.keeps_txt and not (kind and kind.is_behind_guard):
            raise ValidationError({"keeps_txt": "Only claims in the database have copies in the zone."})
        missing = {name: question for name, question in questions.items() if not getattr(self, name)}
        if missing:
            raise ValidationError(missing)
        if "encryption_key" in self.get_deferred_fields():
            return  # not part of this change
        if self.encryption_key and not self.encryption_key.startswith(("env:", "file:")):
            try:
                parse_encryption_key(self.encryption_key)
            except InvalidEncryptionKey as error:
                raise ValidationError({"encryption_key": str(error)}) from error
