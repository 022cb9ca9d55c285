"""The Django project: settings, URLs, the Celery application and the roles it runs in."""

from dnsadmin.celery import app as celery_app

__all__ = ["celery_app"]
