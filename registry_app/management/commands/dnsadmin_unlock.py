"""Unlock a name that was locked out after wrong passwords."""

from typing import Any

from axes.models import AccessAttempt
from django.core.management.base import CommandParser
from django.db import transaction

from registry_app.audit import record_audit
from registry_app.errors import NotFound
from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_of_shell


class Command(DnsadminCommand):
    help = "Unlock a user name, from every address. Audited. Exit code: 0 done, 1 error."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")

    def run(self, options: dict[str, Any]) -> ExitCode:
        name = options["username"]
        with transaction.atomic():
            rows = list(AccessAttempt.objects.filter(username=name).order_by("pk"))
            if not rows:
                raise NotFound(f"No wrong password is on record for {name!r}.", todo="Check the name.")
            for row in rows:
                before = {
                    "username": row.username,
                    "ip_address": row.ip_address,
                    "failures_since_start": row.failures_since_start,
                }
                record_audit(actor_of_shell(), "accessattempt.deleted", row, before=before)
            AccessAttempt.objects.filter(pk__in=[row.pk for row in rows]).delete()
        self.report(options, {"username": name, "deleted": len(rows)}, [f"{name} is unlocked."])
        return ExitCode.OK
