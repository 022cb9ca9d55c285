"""Grant: what a group may do with which record sets."""

from django.contrib.auth.models import Group
from django.db import models

from registry_app.models.owner import Owner
from registry_app.models.provider import Provider


class Grant(models.Model):
    """A right of a group. Provider, owner and name suffix each narrow it; empty means any.

    A transfer needs `request` over the source's and the target's side of every record set.
    """

    class Action(models.TextChoices):
        REQUEST = "request", "Request transfers"
        APPROVE = "approve", "Approve transfers"
        OPERATE = "operate", "Operate (syncs, held snapshots, freezes, findings)"

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="grants")
    action = models.CharField(max_length=8, choices=Action.choices)
    provider = models.ForeignKey(Provider, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    owner = models.ForeignKey(Owner, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    name_suffix = models.CharField(max_length=253, blank=True, default="")

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.group} may {self.get_action_display().lower()}"
