"""GuardEndpoint: the address at which one instance talks to the guard, and what it wants."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from registry_app.models.instance import Instance
from registry_app.models.owner import read_suffixes
from registry_app.models.provider import MEBIBYTE, Provider

_MOST_NETWORKS = 100


class GuardEndpoint(models.Model):
    """Where one instance reaches one provider through the guard: `http://<guard>/<slug>`.

    `password_hash` is a keyed hash; empty: no credential is asked for. `networks` are those the instance may
    come from; empty: any. `deadline_seconds` and `max_body_bytes` are the instance's own limits: the guard
    answers within them. Deletes are held above `delete_percent` of what its owner owns (of 10 or more) or
    above `most_deletes` within `window_seconds`; retargets count as well. With `has_own_view` the instance
    reads only names of its owner, with their claims. `first_changes_at` is when its first change set was
    taken: that one deletes nothing.
    """

    class Mode(models.TextChoices):
        """What the guard does with what the instance asks."""

        OBSERVE = "observe", "Observe (everything is sent, and what enforce would stop is shown)"
        ENFORCE = "enforce", "Enforce (the instance changes only what is its own)"
        DRY_RUN = "dry_run", "Dry run (nothing is sent to the provider)"
        PAUSED = "paused", "Paused (the instance changes nothing)"

    slug = models.CharField(
        max_length=63,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z",
                "Use lower-case letters, digits and hyphens; begin and end with a letter or digit.",
            )
        ],
        help_text="The path of its address: http://guard:8888/<slug>.",
    )
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="guard_endpoints")
    instance = models.ForeignKey(Instance, on_delete=models.PROTECT, related_name="guard_endpoints")
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.OBSERVE)
    username = models.CharField(
        max_length=100,
        blank=True,
        default="",
        help_text="HTTP Basic. ExternalDNS writes the user name and password of its URL into its log.",
    )
    password_hash = models.CharField(max_length=64, blank=True, default="", editable=False)
    networks = models.JSONField(
        default=list, blank=True, help_text="CIDR networks the instance may come from. Empty: any."
    )
    deadline_seconds = models.PositiveIntegerField(
        "deadline (seconds)",
        default=15,
        validators=[MinValueValidator(2), MaxValueValidator(600)],
        help_text="--webhook-provider-read-timeout and --webhook-provider-write-timeout together.",
    )
    max_body_bytes = models.PositiveBigIntegerField(
        "largest body (bytes)",
        default=32 * MEBIBYTE,
        validators=[MinValueValidator(65_536), MaxValueValidator(1_024 * MEBIBYTE)],
        help_text="--webhook-provider-max-body-size",
    )
    has_own_view = models.BooleanField(
        "reads the names of its owner alone",
        default=False,
        help_text="The instance reads and manages only names that match the name patterns of its owner. "
        "Restart the instance after a change: it asks for its filter when it starts.",
    )
    refuses_batch = models.BooleanField(
        "refuses the whole change set",
        default=False,
        help_text="If one change is refused or held, nothing is sent and the instance gets 503.",
    )
    shared_names = models.JSONField(
        default=list,
        blank=True,
        help_text="Suffixes of names at which the instance may have record sets with a set identifier beside "
        "another owner's. The guard endpoint of the other owner has to list them too.",
    )
    delete_percent = models.PositiveIntegerField(
        "holds deletes above (percent)",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Of the record sets of its owner at this provider, if there are 10 or more.",
    )
    most_deletes = models.PositiveIntegerField(
        "holds deletes above (number)", default=500, validators=[MinValueValidator(1)]
    )
    window_seconds = models.PositiveIntegerField(
        "counts deletes within (seconds)",
        default=3_600,
        validators=[MinValueValidator(60), MaxValueValidator(7 * 86_400)],
        help_text="Deletes and retargets of this time count together.",
    )
    first_changes_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("slug",)
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "instance"],
                name="guard_endpoint_once",
                violation_error_message="The instance has a guard endpoint at this provider.",
            ),
            models.CheckConstraint(
                name="guard_endpoint_credential_whole",
                condition=models.Q(username="", password_hash="")
                | (~models.Q(username="") & ~models.Q(password_hash="")),
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        self.shared_names = read_suffixes("shared_names", self.shared_names)
        if not isinstance(self.networks, list) or len(self.networks) > _MOST_NETWORKS:
            raise ValidationError({"networks": f"This is a list of at most {_MOST_NETWORKS} networks."})


class DesiredSet(models.Model):
    """What an instance wants: the endpoints it posted last, as the provider adjusted them.

    `digest` is of the endpoints in any order. The same set was posted `seen_count` times in a row, first at
    `first_seen_at` and last at `last_seen_at`. `interval_seconds` is the time between the last two posts.
    `set_aside` endpoints could not be read.
    """

    guard_endpoint = models.OneToOneField(
        GuardEndpoint, primary_key=True, on_delete=models.CASCADE, related_name="desired_set"
    )
    digest = models.CharField(max_length=64)
    endpoint_count = models.PositiveIntegerField(default=0)
    set_aside = models.PositiveIntegerField(default=0)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    seen_count = models.PositiveBigIntegerField(default=1)
    interval_seconds = models.PositiveIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"What {self.guard_endpoint} wants"


class DesiredEndpoint(models.Model):
    """One endpoint of a desired set, under its canonical name. `changed_at`: since when it is wanted so.

    `name_reversed` is the name's labels reversed, as in RecordSet.
    """

    guard_endpoint = models.ForeignKey(
        GuardEndpoint, on_delete=models.CASCADE, related_name="desired_endpoints"
    )
    name = models.CharField(max_length=253)
    name_reversed = models.CharField(max_length=253, default="", editable=False)
    record_type = models.CharField(max_length=20)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    targets = models.JSONField(default=list)
    ttl = models.PositiveBigIntegerField(default=0, help_text="Seconds; 0 is not configured.")
    provider_specific = models.JSONField(default=list, blank=True, help_text="[[name, value], ...]")
    resource = models.TextField(blank=True, default="", help_text="kind/namespace/name in the cluster.")
    first_seen_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["guard_endpoint", "name", "record_type", "set_identifier"],
                name="desired_endpoint_once",
            )
        ]
        indexes = [
            models.Index(fields=["name", "guard_endpoint"], name="desired_endpoint_by_name"),
            models.Index(fields=["name_reversed"], name="desired_endpoint_by_suffix"),
        ]

    def __str__(self) -> str:
        identifier = f" ({self.set_identifier})" if self.set_identifier else ""
        return f"{self.name} {self.record_type}{identifier}"
