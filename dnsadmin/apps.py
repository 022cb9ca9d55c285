"""What a start loads: the Celery application everywhere, the pages of the web admin with the URLs."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.contrib.admin import autodiscover
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register


class DnsadminConfig(AppConfig):
    name = "dnsadmin"

    def ready(self) -> None:
        # Without it tasks would be sent through the default application, to no broker of ours.
        import_module("dnsadmin.celery")


class LateAdminConfig(SimpleAdminConfig):
    """Django loads the pages in every process. Only `dnsadmin.urls` needs them: they take half of a start."""

    def ready(self) -> None:
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)


def check_pages(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """Django's check of the pages, once they are loaded."""
    autodiscover()
    return check_admin_app(app_configs, **options)
