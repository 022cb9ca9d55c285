"""Provider: one webhook or plugin server we sync."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from registry_app.models.deletion import NotDeleted, build_unique_name
from registry_app.models.encrypted_field import (
    EncryptedTextField,
    SecretsLeftBehind,
    find_secret_names,
)

MEBIBYTE = 1024 * 1024
_MOST_PROPERTIES, _LONGEST_PROPERTY = 100, 255


class Provider(models.Model):
    """One webhook or plugin server: where it is, how it is synced, what it may be asked, and its lease."""

    class Protocol(models.TextChoices):
        """What is spoken at its address."""

        WEBHOOK = "webhook", "Webhook"
        PLUGIN = "plugin", "Plugin (before the webhook protocol)"

    class Authentication(models.TextChoices):
        NONE = "none", "None"
        BASIC = "basic", "Basic (user name and password)"
        BEARER = "bearer", "Bearer token"

    class Status(models.TextChoices):
        NEW = "new", "Not synced yet"
        OK = "ok", "OK"
        FAILING = "failing", "Failing"
        HELD = "held", "Snapshot held"

    class ApprovalPolicy(models.TextChoices):
        # From the loosest to the strictest (`queries.approval_policy`).
        NONE = "none", "No approval"
        OTHER_PERSON = "other_person", "Another person approves"
        BOTH_SIDES = "both_sides", "Both sides agree"

    class WriteMode(models.TextChoices):
        """How the provider takes a change set, as far as anybody knows."""

        ATOMIC = "atomic", "All or nothing"
        SEQUENTIAL = "sequential", "One after the other, stops at the first bad one"
        VALUE_EXACT = "value_exact", "Matches the old value exactly"
        UNKNOWN = "unknown", "Unknown"

    name = models.CharField(max_length=100)
    url = models.CharField("URL", max_length=2048, help_text="The base address ExternalDNS would use.")
    url_query = EncryptedTextField(
        "URL query",
        blank=True,
        default="",
        help_text="What follows the ? of the URL, perhaps a token. Write-only.",
    )
    protocol = models.CharField(max_length=7, choices=Protocol.choices, default=Protocol.WEBHOOK)
    description = models.TextField(blank=True, default="")
    is_enabled = models.BooleanField("sync enabled", default=True)

    authentication = models.CharField(
        max_length=10, choices=Authentication.choices, default=Authentication.NONE
    )
    username = models.CharField(max_length=255, blank=True, default="")
    secret = EncryptedTextField(
        blank=True, default="", help_text="Password or token, or env:NAME or file:NAME. Write-only."
    )
    ca_certificate = models.TextField("CA certificate (PEM)", blank=True, default="")
    client_certificate = models.TextField("client certificate (PEM)", blank=True, default="")
    client_key = EncryptedTextField("client key (PEM)", blank=True, default="", help_text="Write-only.")

    interval_seconds = models.PositiveIntegerField(
        "sync interval (seconds)", default=60, validators=[MinValueValidator(5), MaxValueValidator(86_400)]
    )
    deadline_seconds = models.PositiveIntegerField(
        "deadline of a request (seconds)",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
    )
    max_body_bytes = models.PositiveBigIntegerField(
        "largest response (bytes)",
        default=32 * MEBIBYTE,
        validators=[MinValueValidator(1024), MaxValueValidator(1024 * MEBIBYTE)],
    )
    max_items = models.PositiveIntegerField("most records in a response", default=200_000)
    allow_empty = models.BooleanField(
        default=False, help_text="An empty response is normal here and may empty the mirror."
    )

    hold_missing_percent = models.PositiveSmallIntegerField(
        "hold a snapshot that lacks more than (%)",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(99)],
        help_text="Of the known record sets, or of an owner's claims in a registry, of ten or more.",
    )
    hold_owners_changed_percent = models.PositiveSmallIntegerField(
        "hold a snapshot that changes more owners than (%)",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(99)],
        help_text="Of the known record sets that have an owner and are still there.",
    )

    write_mode = models.CharField(
        "how it writes", max_length=12, choices=WriteMode.choices, default=WriteMode.UNKNOWN
    )
    allowed_properties = models.JSONField(
        "allowed provider-specific properties",
        default=list,
        blank=True,
        help_text="What instances behind the guard may set, such as alias. Empty: any.",
    )
    batch_size = models.PositiveIntegerField(
        "record sets in one change set",
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Providers that match old values exactly or stop at the first bad one get one at a time.",
    )
    capitalized_changes = models.BooleanField(
        "capitalized keys",
        default=False,
        help_text="Quirk: the provider reads Create, UpdateOld, ... (before May 2025).",
    )
    read_back_seconds = models.PositiveIntegerField(
        "read-back (seconds)",
        default=30,
        validators=[MaxValueValidator(900)],
        help_text="How long a slow provider may take to show a change.",
    )
    approval_policy = models.CharField(
        "approval",
        max_length=12,
        choices=ApprovalPolicy.choices,
        default=ApprovalPolicy.OTHER_PERSON,
        help_text="A looser policy takes effect when another administrator confirms it, or after a day if "
        "there is no other administrator. It also applies to large runs of loops.",
    )
    max_transfer_count = models.PositiveIntegerField("most record sets in one transfer", default=1000)
    max_transfer_percent = models.PositiveIntegerField(
        "largest share in one transfer (%)",
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Of the record sets at this provider, where it holds 10 or more.",
    )

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.NEW)
    next_sync_at = models.DateTimeField(null=True, blank=True)
    last_sync_at = models.DateTimeField(null=True, blank=True)
    sync_requested_by = models.CharField(
        max_length=200,
        blank=True,
        default="",
        editable=False,
        help_text="Who requested the next sync; empty when it has begun.",
    )
    sync_epoch = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text="The lease of a scheduled sync that runs and has stored nothing yet, not even a row.",
    )
    sync_started_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When that sync began."
    )
    accepted_at = models.DateTimeField(
        null=True, blank=True, help_text="When the mirror last matched the provider."
    )
    accepted_digest = models.CharField(max_length=64, blank=True, default="")
    accepted_snapshots = models.PositiveBigIntegerField(default=0)
    record_set_count = models.PositiveIntegerField(default=0)
    claim_count = models.PositiveIntegerField(default=0)
    domain_filter = models.JSONField(default=dict, blank=True)
    consecutive_failures = models.PositiveIntegerField(default=0)
    last_error_code = models.CharField(max_length=64, blank=True, default="")
    last_error = models.TextField(blank=True, default="")

    restored_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When the database was restored. Nothing is sent until a later snapshot is accepted.",
    )

    lease_epoch = models.PositiveBigIntegerField(default=0)
    lease_holder = models.CharField(max_length=200, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = NotDeleted()
    with_deleted = SecretsLeftBehind()

    class Meta:
        ordering = ("name",)
        base_manager_name = "with_deleted"  # reached through a foreign key: history names what was deleted
        indexes = [
            models.Index(fields=["next_sync_at"], name="provider_due", condition=models.Q(is_enabled=True))
        ]
        constraints = [
            build_unique_name("name", "provider_name_once", "A provider"),
            models.CheckConstraint(
                name="provider_lease_whole",
                condition=models.Q(lease_holder="", lease_until__isnull=True)
                | (~models.Q(lease_holder="") & models.Q(lease_until__isnull=False)),
            ),
            models.CheckConstraint(name="provider_batch_positive", condition=models.Q(batch_size__gte=1)),
            models.CheckConstraint(
                name="provider_interval_positive", condition=models.Q(interval_seconds__gte=1)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        names = self.allowed_properties
        is_list = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
        if not is_list or len(names) > _MOST_PROPERTIES or any(len(n) > _LONGEST_PROPERTY for n in names):
            problem = f"This is a list of at most {_MOST_PROPERTIES} names of properties, such as alias."
            raise ValidationError({"allowed_properties": problem})
        self.allowed_properties = list(dict.fromkeys(names))

    @property
    def effective_batch_size(self) -> int:
        """Record sets in one change set: one where a single bad one would block or blur the rest."""
        if self.write_mode in {self.WriteMode.VALUE_EXACT, self.WriteMode.SEQUENTIAL}:
            return 1
        return self.batch_size


# What a query that joins a provider's row to its own leaves behind, as `Provider.objects` does by itself.
PROVIDER_SECRETS = tuple(f"provider__{name}" for name in find_secret_names(Provider))
