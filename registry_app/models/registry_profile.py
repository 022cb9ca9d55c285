"""RegistryProfile: the registry settings of one or more ExternalDNS instances."""

from collections.abc import Mapping
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey
from registry_app.models.cluster import Cluster
from registry_app.models.deletion import NotDeleted, build_unique_name
from registry_app.models.encrypted_field import EncryptedTextField, SecretsLeftBehind
from registry_app.models.provider import Provider


class RegistryProfile(models.Model):
    """Where instances write their claims, and how: TXT records, or a registry store beside DNS.

    A TXT profile with no provider named is tried at every provider. A store speaks for the record sets of
    the one provider it names.
    """

    class Kind(models.TextChoices):
        TXT = "txt", "TXT"
        CONFIGMAP = "configmap", "ConfigMap"
        CRD = "crd", "DNSRecord objects (crd)"
        DYNAMODB = "dynamodb", "DynamoDB"
        AWS_SD = "aws-sd", "AWS Service Discovery (descriptions)"
        NOOP = "noop", "None (noop)"

    name = models.CharField(max_length=100)
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
    store_place = models.CharField(
        max_length=32,
        blank=True,
        default="",
        editable=False,
        help_text="Digest of a store and the provider whose claims it has; empty for TXT and noop.",
    )
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

    # What a profile of a kind must say, and why it is asked for.
    _NEEDED: ClassVar[Mapping[str, Mapping[str, str]]] = {
        Kind.CONFIGMAP: {"cluster": "Which cluster holds it?", "namespace": "In which namespace is it?"},
        Kind.CRD: {"cluster": "Which cluster holds them?", "namespace": "In which namespace are they?"},
        Kind.DYNAMODB: {
            "table": "Which table? ExternalDNS's own default is external-dns.",
            "region": "In which region is the table?",
        },
    }

    def __str__(self) -> str:
        return self.name

    def describe_place(self) -> str:
        """Where its claims stand, in words."""
        if self.kind == self.Kind.DYNAMODB:
            return f"the DynamoDB table {self.table} in {self.region}"
        if self.cluster is not None:
            what = "the ConfigMaps" if self.kind == self.Kind.CONFIGMAP else "the DNSRecord objects"
            return f"{what} of the namespace {self.namespace} at the cluster {self.cluster}"
        if self.kind == self.Kind.AWS_SD:
            return "the description of its Cloud Map service"
        return "TXT records" if self.kind == self.Kind.TXT else "no registry"

    def clean(self) -> None:
        if self.prefix and self.suffix:
            raise ValidationError({"suffix": "ExternalDNS takes a prefix or a suffix, never both."})
        needed = self._NEEDED.get(self.kind, {})
        missing = {name: question for name, question in needed.items() if not getattr(self, name)}
        if missing:
            raise ValidationError(missing)
        if "encryption_key" in self.get_deferred_fields():
            return  # not part of this change
        if self.encryption_key and not self.encryption_key.startswith(("env:", "file:")):
            try:
                parse_encryption_key(self.encryption_key)
            except InvalidEncryptionKey as error:
                raise ValidationError({"encryption_key": str(error)}) from error
