"""Create the first administrator, with a random password kept in a private file of the state folder.

`python -m dnsadmin.first_administrator`. Does nothing but tell where the password is if there is one.
"""

import os
import secrets
import sys
from pathlib import Path

import django

from dnsadmin.env import STATE_DIR
from dnsadmin.prepare import write_private_once

USERNAME = "admin"
PASSWORD_BYTES = 15


def create_first_administrator(password_file: Path) -> str:
    """Create the administrator unless a superuser exists; the sentence to show.

    The file is written before the user is: a crash in between leaves a password without a user, which
    the next start uses, never a user whose password nobody knows.
    """
    from django.contrib.auth import get_user_model
    from django.db import transaction

    from registry_app.actor import SYSTEM
    from registry_app.audit import record_audit

    users = get_user_model()._default_manager
    if users.filter(is_superuser=True).exists():
        return f"Administrator: {USERNAME}, password in {password_file}" if password_file.exists() else ""
    write_private_once(password_file, secrets.token_urlsafe(PASSWORD_BYTES))
    password = password_file.read_text(encoding="utf-8").strip()
    with transaction.atomic():
        user = get_user_model().objects.create_superuser(USERNAME, "", password)
        record_audit(SYSTEM, "user.created", user, after={"superuser": True})
    return f"Administrator: {USERNAME}, password: {password} (kept in {password_file})"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")
    django.setup()
    # To stderr: stdout belongs to the program that started this.
    sys.stderr.write(create_first_administrator(STATE_DIR / "admin-password") + "\n")
