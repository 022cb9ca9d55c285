"""The Django application."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RegistryAppConfig(AppConfig):
    name = "registry_app"
    verbose_name = "DNS ownership"

    def ready(self) -> None:
        import_module("registry_app.checks")
        # No migration of its own: a later one that makes the table anew drops what hangs on it.
        post_migrate.connect(_prepare_search_index, sender=self)


def _prepare_search_index(**_signal: Any) -> None:
    import_module("registry_app.reconcile.search_index").prepare_search_index()
