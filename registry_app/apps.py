"""The Django application."""

from importlib import import_module

from django.apps import AppConfig


class RegistryAppConfig(AppConfig):
    name = "registry_app"
    verbose_name = "DNS ownership"

    def ready(self) -> None:
        import_module("registry_app.checks")
