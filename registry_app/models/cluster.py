"""Cluster: where owners run."""

from django.db import models


class Cluster(models.Model):
    """A Kubernetes cluster that runs one or more ExternalDNS instances."""

    name = models.CharField(max_length=100, unique=True)
    environment = models.CharField(max_length=50, blank=True, default="")
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
