"""The Django application."""

from django.apps import AppConfig


class RegistryAppConfig(AppConfig):
    name = "registry_app"
    verbose_name = "DNS ownership"
