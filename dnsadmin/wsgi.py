"""The WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")

_pages = get_wsgi_application()

# Only now: what it imports needs Django to be set up.
from dnsadmin.operations import OperationsApplication, WithOperations  # noqa: E402

# In front of Django: a probe comes without TLS, and with the address of a container as its host.
application = WithOperations(_pages, OperationsApplication(has_state=True))
