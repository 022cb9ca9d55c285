"""The Django project: settings, URLs, the Celery application and the roles it runs in."""

__version__ = "0.1.0"
