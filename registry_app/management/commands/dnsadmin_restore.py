"""Restore a backup, and accept what providers show after a restore."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from registry_app.errors import InvalidRequest
from registry_app.management.dnsadmin_command import (
    DnsadminCommand,
    ExitCode,
    actor_named,
    actor_of_shell,
    add_act,
    find_providers,
)
from registry_app.models import Provider
from registry_app.restore.accept_restored import (
    accept_all_restored,
    accept_restored,
    find_reason_to_wait,
    restored_providers,
)
from registry_app.restore.restore_backup import restore_backup


class Command(DnsadminCommand):
    help = (
        "Restore a backup (backup FILE), see which providers wait since a restore (status), accept "
        "their snapshots (accept). Exit code: 0 done, 1 error, 2 providers wait, 3 refused by a "
        "safety rule."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        acts = parser.add_subparsers(dest="act", required=True)
        file = add_act(acts, "backup", "Restore a file of dnsadmin_backup.")
        file.add_argument("file", type=Path)
        file.add_argument("--replace", action="store_true", help="Delete what the database holds now.")
        add_act(acts, "status", "Which providers wait, and why.")
        accept = add_act(acts, "accept", "Accept the snapshots since the restore.")
        accept.add_argument("providers", nargs="*", metavar="PROVIDER", help="Name or id.")
        accept.add_argument(
            "--all", action="store_true", help="All providers that wait and returned a snapshot."
        )
        accept.add_argument("--as", dest="username", required=True, help="Who accepts: a user name.")
        accept.add_argument("--reason", required=True)

    def _backup(self, options: dict[str, Any]) -> ExitCode:
        Path(settings.DNSADMIN_STATE_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)
        manifest, generation = restore_backup(actor_of_shell(), options["file"], replaces=options["replace"])
        line = (
            f"Restored what was backed up at {manifest.made_at}. This is generation "
            f"{generation.number}. Open transfers and runs were ended. Start dnsadmin, wait for a "
            "sync of each provider, look at the differences, and accept: dnsadmin_restore accept "
            "--all --as NAME --reason TEXT."
        )
        self.report(options, {"made_at": manifest.made_at, "generation": generation.number}, [line])
        return ExitCode.OK

    def _status(self, options: dict[str, Any]) -> ExitCode:
        waiting = [(provider, find_reason_to_wait(provider)) for provider in restored_providers()]
        self._write(options, [], [(each, str(why or "It waits to be accepted.")) for each, why in waiting])
        return ExitCode.CHANGES if waiting else ExitCode.OK

    def _accept(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["username"])
        if options["all"]:
            accepted, left = accept_all_restored(actor, reason=options["reason"])
        elif options["providers"]:
            chosen = find_providers(options["providers"], want_all=False)
            accepted = [accept_restored(actor, each.pk, reason=options["reason"]) for each in chosen]
            left = []
        else:
            raise InvalidRequest("No provider is named.", todo="Name providers, or give --all.")
        self._write(options, accepted, left)
        return ExitCode.CHANGES if left else ExitCode.OK

    def _write(
        self, options: dict[str, Any], accepted: list[Provider], left: list[tuple[Provider, str]]
    ) -> None:
        waiting = [{"provider": each.name, "reason": reason} for each, reason in left]
        lines = [f"{each.name}: accepted" for each in accepted]
        lines += [f"{each.name}: {reason}" for each, reason in left]
        document = {"accepted": [each.name for each in accepted], "waiting": waiting}
        self.report(options, document, lines or ["No provider waits."])
