"""List providers, and ask any webhook provider whether it keeps the protocol."""

from collections.abc import Iterator
from typing import Any

import msgspec
from django.core.management.base import CommandParser

from providers.conformance.run import run_conformance
from providers.conformance.subject import Report, Subject, Verdict
from providers.http.errors import ProviderError
from registry_app.actor import SYSTEM
from registry_app.errors import InvalidRequest
from registry_app.inventory.provider_probe import check_conformance
from registry_app.management.dnsadmin_command import (
    DnsadminCommand,
    ExitCode,
    actor_named,
    add_act,
    find_provider,
)
from registry_app.mirror.client import build_address_policy
from registry_app.models import Provider

_PATIENCE = 10.0


class Command(DnsadminCommand):
    help = (
        "Providers. Exit code: 0 no problem, 1 error, 2 a provider that fails a check (conformance) "
        "or a sync (list), 3 refused by a safety rule."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        commands = parser.add_subparsers(dest="act", required=True, metavar="list|conformance")
        add_act(commands, "list", "The registered providers and their status.")
        asking = add_act(commands, "conformance", "Check whether a provider follows the protocol.")
        asking.add_argument("provider", metavar="URL|PROVIDER", help="An address, or a name or id.")
        asking.add_argument("--protocol", choices=("webhook", "plugin"), default="webhook")
        asking.add_argument(
            "--write",
            metavar="ZONE",
            default="",
            help="Also test writes, under a new label below ZONE that is deleted at the end.",
        )
        asking.add_argument(
            "--as", dest="username", metavar="USER", help="The user who writes, for a registered provider."
        )

    def _list(self, options: dict[str, Any]) -> ExitCode:
        rows = list(
            Provider.objects.order_by("name").values(
                "name", "url", "status", "is_enabled", "record_set_count", "accepted_at", "last_error"
            )
        )
        lines = (
            f"{row['name']}  {row['status']}  {row['url']}  "
            + (row["last_error"] or f"{row['record_set_count']} record sets")
            for row in rows
        )
        self.report(options, {"providers": rows}, lines)
        is_failing = any(row["status"] == Provider.Status.FAILING for row in rows)
        return ExitCode.CHANGES if is_failing else ExitCode.OK

    def _conformance(self, options: dict[str, Any]) -> ExitCode:
        self.show_progress("Checking. This takes as long as the provider takes.")
        try:
            report = self._fetch_report(options)
        except ProviderError as error:
            raise InvalidRequest(str(error), now="Nothing was checked.", todo=error.hint) from error
        document = {"report": msgspec.to_builtins(report), "counts": report.counts()}
        self.report(options, document, _describe_report(report))
        return ExitCode.OK if report.is_conformant else ExitCode.CHANGES

    def _fetch_report(self, options: dict[str, Any]) -> Report:
        named: str = options["provider"]
        if "://" in named:
            subject = Subject(named, protocol=options["protocol"], policy=build_address_policy())
            return run_conformance(subject, zone=options["write"], patience=_PATIENCE)
        provider = find_provider(named)
        if not options["write"]:
            return check_conformance(SYSTEM, provider.pk)
        if not options["username"]:
            raise InvalidRequest(
                f"No user is given for the writes at {provider}.", todo="Name an administrator with --as."
            )
        return check_conformance(actor_named(options["username"]), provider.pk, zone=options["write"])


def _describe_report(report: Report) -> Iterator[str]:
    yield f"{report.origin}, {report.protocol} protocol, {report.seconds:.1f} s"
    area = ""
    for each in report.observations:
        if each.area != area:
            area = each.area
            yield from ("", area)
        text = " ".join(part for part in (each.detail, each.advice) if part)
        yield f"  {each.verdict.value:7} {each.title}{': ' if text else ''}{text}"
    counts = report.counts()
    yield from ("", ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict))
    if not report.wrote:
        yield "Nothing was written. Add --write ZONE to check how changes are applied."
