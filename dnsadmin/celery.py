"""The Celery application: an alarm clock for work that lives in database rows."""

import os

from celery import Celery

from dnsadmin.beat_schedule import BEAT_SCHEDULE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")

app = Celery("dnsadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = BEAT_SCHEDULE
app.autodiscover_tasks(["registry_app"])
