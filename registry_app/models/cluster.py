"""Cluster: where owners run."""

from django.db import models

from registry_app.models.encrypted_field import EncryptedTextField, SecretsLeftBehind


class Cluster(models.Model):
    """A Kubernetes cluster that runs one or more ExternalDNS instances.

    Its API is only spoken to where a registry profile keeps claims in it (ConfigMap, DNSRecord).
    """

    name = models.CharField(max_length=100, unique=True)
    environment = models.CharField(max_length=50, blank=True, default="")
    description = models.TextField(blank=True, default="")
    api_url = models.CharField(
        "Kubernetes API",
        max_length=2048,
        blank=True,
        default="",
        help_text="Its address, where claims are kept in this cluster: https://host:6443",
    )
    token = EncryptedTextField(
        blank=True,
        default="",
        help_text="A service account's token, or env:NAME or file:NAME. Write-only.",
    )
    ca_certificate = models.TextField("CA certificate (PEM)", blank=True, default="")
    client_certificate = models.TextField("client certificate (PEM)", blank=True, default="")
    client_key = EncryptedTextField("client key (PEM)", blank=True, default="", help_text="Write-only.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SecretsLeftBehind()

    class Meta:
        ordering = ("name",)
        base_manager_name = "objects"  # reached through a foreign key too

    def __str__(self) -> str:
        return self.name
