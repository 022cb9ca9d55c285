"""Guard endpoints: list and register them, change their mode and credential, show what is wanted and
decided, and decide on held deletes."""

from typing import Any, ClassVar

from django.core.management.base import CommandParser

from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotFound
from registry_app.inventory.guard_endpoint import (
    change_guard_mode,
    issue_guard_credential,
    register_guard_endpoint,
    remove_guard_credential,
)
from registry_app.management.dnsadmin_command import ExitCode, actor_named, add_act, find_provider
from registry_app.management.guard import (
    describe_desired,
    describe_guard_endpoint,
    format_desired,
    format_guard_endpoint,
)
from registry_app.management.guard_decisions import GuardDecisionActs, add_person, find_guard_endpoint
from registry_app.models import DesiredEndpoint, GuardEndpoint, Instance
from registry_app.queries.guard_endpoint import list_guard_endpoints
from registry_app.queries.named_row import build_suffix_query

_LIMITS = ("deadline_seconds", "max_body_bytes", "delete_percent", "most_deletes", "window_seconds")


class Command(GuardDecisionActs):
    help = (
        "Guard endpoints: where ExternalDNS instances talk to the guard, what they want, and what is "
        "decided. "
        "Exit code: 0 done, 1 error."
    )

    options_of_names: ClassVar = {
        "slug": "SLUG",
        "networks": "--network",
        "shared_names": "--shared-name",
        "ids": "--id",
        "has_own_view": "--own-view",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        acts = parser.add_subparsers(
            dest="act",
            required=True,
            metavar="list|register|mode|credential|desired|decisions|held|release|keep",
        )
        listing = add_act(acts, "list", "The guard endpoints, and when their instances posted last.")
        listing.add_argument("--owner", metavar="OWNER_ID", help="Only those of this owner.")
        listing.add_argument("--provider", help="Only those at this provider, by name or id.")
        self._add_register(add_act(acts, "register", "Register the guard endpoint of an instance."))
        mode = add_act(acts, "mode", "Change what the guard does with what the instance asks.")
        mode.add_argument("slug", metavar="SLUG")
        mode.add_argument("mode", choices=GuardEndpoint.Mode.values)
        mode.add_argument("--reason", default="", help="For the audit trail.")
        credential = add_act(acts, "credential", "Issue a password, which is shown once, or remove it.")
        credential.add_argument("slug", metavar="SLUG")
        credential.add_argument("--username", default="", help="Default: the slug.")
        credential.add_argument("--remove", action="store_true", help="Ask for no credential any more.")
        for act in (mode, credential):
            add_person(act)
        desired = add_act(acts, "desired", "What the instance of a guard endpoint wants.")
        desired.add_argument("slug", metavar="SLUG")
        desired.add_argument("--name-suffix", metavar="NAME", help="Only this name and what is below it.")
        desired.add_argument("--type", action="append", default=[], help="Such as A,AAAA; may be repeated.")
        self.add_decision_acts(acts)

    def _add_thresholds(self, act: CommandParser) -> None:
        act.add_argument(
            "--delete-percent", type=int, help="Hold deletes of more of its owner's record sets."
        )
        act.add_argument("--most-deletes", type=int, help="Hold more deletes than these.")
        act.add_argument("--window-seconds", type=int, help="Count deletes and retargets within this time.")

    def _add_register(self, act: CommandParser) -> None:
        act.add_argument("slug", metavar="SLUG", help="The path of its address.")
        act.add_argument("--provider", required=True, help="Name or id.")
        act.add_argument("--owner", required=True, metavar="OWNER_ID", help="The owner of the instance.")
        act.add_argument(
            "--instance", metavar="NAME", help="Its name. Not needed if the owner has only this one."
        )
        act.add_argument("--mode", choices=GuardEndpoint.Mode.values, default=GuardEndpoint.Mode.OBSERVE)
        act.add_argument(
            "--network",
            dest="networks",
            action="append",
            default=[],
            metavar="CIDR",
            help="A network the instance may come from. May be repeated. Default: any.",
        )
        act.add_argument("--deadline-seconds", type=int, help="The instance's own deadline.")
        act.add_argument("--max-body-bytes", type=int, help="The largest body that the instance reads.")
        act.add_argument(
            "--shared-name",
            dest="shared_names",
            action="append",
            default=[],
            metavar="NAME",
            help="Where it may have record sets beside another owner's. May be repeated.",
        )
        act.add_argument(
            "--refuses-batch", action="store_true", help="Send nothing if one change is refused or held."
        )
        self._add_thresholds(act)
        act.add_argument(
            "--own-view",
            dest="has_own_view",
            action="store_true",
            help="The instance reads only names that match the name patterns of its owner.",
        )
        add_person(act)

    def _list(self, options: dict[str, Any]) -> ExitCode:
        rows = list_guard_endpoints()
        if options["owner"]:
            rows = rows.filter(instance__owner__owner_id=options["owner"])
        if options["provider"]:
            rows = rows.filter(provider=find_provider(options["provider"]))
        now = fetch_now()
        shown = [describe_guard_endpoint(row, now) for row in rows.order_by("slug")]
        lines = map(format_guard_endpoint, shown)
        self.report(options, {"guard_endpoints": shown}, lines if shown else ["There is none."])
        return ExitCode.OK

    def _register(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["person"])
        given = {name: options[name] for name in _LIMITS if options[name] is not None}
        values = {
            **given,
            "slug": options["slug"],
            "provider": find_provider(options["provider"]),
            "instance": _find_instance(options["owner"], options["instance"]),
            "mode": options["mode"],
            "networks": options["networks"],
            "shared_names": options["shared_names"],
            "refuses_batch": options["refuses_batch"],
            "has_own_view": options["has_own_view"],
        }
        return self._report_row(options, register_guard_endpoint(actor, values))

    def _mode(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["person"])
        row = find_guard_endpoint(options["slug"])
        changed = change_guard_mode(actor, row.pk, mode=options["mode"], reason=options["reason"])
        return self._report_row(options, changed)

    def _credential(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["person"])
        row = find_guard_endpoint(options["slug"])
        if options["remove"]:
            return self._report_row(options, remove_guard_credential(actor, row.pk))
        changed, password = issue_guard_credential(actor, row.pk, username=options["username"])
        values = {"slug": changed.slug, "username": changed.username, "password": password}
        lines = (
            f"User name: {changed.username}",
            f"Password:  {password}",
            "It is not shown again. ExternalDNS writes both into its log when it starts.",
        )
        self.report(options, values, lines)
        return ExitCode.OK

    def _desired(self, options: dict[str, Any]) -> ExitCode:
        row = find_guard_endpoint(options["slug"])
        found = DesiredEndpoint.objects.filter(guard_endpoint=row)
        if options["name_suffix"]:
            found = found.filter(build_suffix_query(options["name_suffix"]))
        if options["type"]:
            kinds = [kind.strip().upper() for text in options["type"] for kind in text.split(",")]
            found = found.filter(record_type__in=kinds)
        endpoints = [describe_desired(each) for each in found.order_by("name", "pk")]
        about = describe_guard_endpoint(row, fetch_now())
        document = {"guard_endpoint": about, "endpoints": endpoints}
        self.report(options, document, format_desired(about, endpoints))
        return ExitCode.OK

    def _report_row(self, options: dict[str, Any], row: GuardEndpoint) -> ExitCode:
        shown = describe_guard_endpoint(find_guard_endpoint(row.slug), fetch_now())
        self.report(options, shown, [format_guard_endpoint(shown)])
        return ExitCode.OK


def _find_instance(owner_id: str, name: str | None) -> Instance:
    """The instance of this name, or the only one of its owner."""
    rows = list(Instance.objects.filter(owner__owner_id=owner_id).select_related("owner").order_by("name"))
    if name is not None:
        rows = [row for row in rows if row.name == name]
    if not rows:
        named = f"instance {name!r}" if name is not None else "instance"
        raise NotFound(
            f"The owner {owner_id!r} has no {named}.", todo="Register it under Instances, or see the list."
        )
    if len(rows) > 1:
        names = ", ".join(row.name for row in rows[:10])
        raise InvalidRequest(
            f"{owner_id} has several instances.", fields={"instance": [f"Name one of {names}."]}
        )
    return rows[0]
