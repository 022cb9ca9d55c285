"""Run the loop of one owner once: desired, current, plan, apply, read back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from providers.planning.planned_changes import Policy
from providers.sources.manifests import InvalidManifest, ManifestReading, read_manifests
from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, RefusedBySafety
from registry_app.loop.loop_request import LoopRequest, build_request, parse_managed_types
from registry_app.loop.loop_run import note_unreadable_manifests
from registry_app.loop.plan_loop import LoopPlan, is_confirmed
from registry_app.loop.run_loop import preview_loop, run_request
from registry_app.management.dnsadmin_command import (
    DnsadminCommand,
    ExitCode,
    actor_named,
    actor_of_shell,
    find_provider,
)
from registry_app.management.loop import build_plan_report, build_run_report, describe_plan, describe_run
from registry_app.models import Loop, LoopRun, Owner, Provider
from registry_app.queries.loop import may_declare_somewhere

_GOOD_ENDS = (LoopRun.Status.UNCHANGED, LoopRun.Status.VERIFIED)


class Command(DnsadminCommand):
    help = (
        "Run the loop of an owner that dnsadmin manages itself: read the provider, show the plan, "
        "send it once, read it back. Exit code: 0 everything is as wanted, 1 error, 2 a plan that "
        "would change something (or a run still under way), 3 refused by a safety rule."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--owner", required=True, metavar="OWNER_ID", help="A registered owner.")
        parser.add_argument("--provider", required=True, help="Name or id.")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--source",
            metavar="DIR",
            help="DNSEndpoint, Ingress and Service manifests, as kubectl takes them.",
        )
        source.add_argument("--declared", action="store_true", help="What the owner's loop here declares.")
        parser.add_argument(
            "--policy",
            choices=[policy.value for policy in Policy],
            help="As in ExternalDNS. Default: the loop's, or sync.",
        )
        parser.add_argument(
            "--managed-types", metavar="TYPE,TYPE", help="Default: the loop's, or A,AAAA,CNAME."
        )
        parser.add_argument("--dry-run", action="store_true", help="Show the plan and change nothing.")
        parser.add_argument(
            "--confirm", default="", metavar="TEXT", help="The confirmation that the plan asks for."
        )
        parser.add_argument("--as", dest="person", metavar="USER", help="The user whose rights apply.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        actor = actor_named(options["person"]) if options["person"] else actor_of_shell()
        request = _build_request(options)
        if options["person"]:
            # Each name that the plan changes is asked about once it is known.
            _raise_if_not_allowed(actor, request)
            request = replace(request, on_behalf_of=actor)
        self._write_lines(options, [_describe_request(request)])
        return self._preview(options, request) if options["dry_run"] else self._apply(options, request, actor)

    def _preview(self, options: dict[str, Any], request: LoopRequest) -> ExitCode:
        plan, refusals = preview_loop(request)
        document = {"plan": build_plan_report(plan, refusals), "run": None}
        self.report(options, document, describe_plan(plan, refusals))
        if plan.changes.is_empty():
            return ExitCode.OK
        return ExitCode.REFUSED if refusals else ExitCode.CHANGES

    def _apply(self, options: dict[str, Any], request: LoopRequest, actor: Actor) -> ExitCode:
        shown: list[LoopPlan] = []

        def show(plan: LoopPlan) -> None:
            shown.append(plan)
            is_meant = is_confirmed(plan.confirmation_text, options["confirm"])
            self._write_lines(options, describe_plan(plan, is_confirmed=is_meant))

        run = run_request(request, actor=actor, trigger=LoopRun.Trigger.PERSON, show=show)
        plan = build_plan_report(shown[0]) if shown else None
        self.report(options, {"plan": plan, "run": build_run_report(run)}, describe_run(run))
        return compute_exit_code(run)

    def _write_lines(self, options: dict[str, Any], lines: list[str]) -> None:
        """Lines before the document, which is the only thing on standard output under --json."""
        if not options["json"]:
            self.report(options, None, lines)


def compute_exit_code(run: LoopRun) -> ExitCode:
    """The exit code for how a run ended."""
    if run.status == LoopRun.Status.REFUSED:
        return ExitCode.REFUSED
    if run.status == LoopRun.Status.RUNNING:
        return ExitCode.CHANGES
    return ExitCode.OK if run.status in _GOOD_ENDS else ExitCode.ERROR


def _build_request(options: dict[str, Any]) -> LoopRequest:
    owner = Owner.objects.filter(owner_id=options["owner"]).first()
    if owner is None:
        raise NotFound(
            f"There is no owner {options['owner'][:100]!r}.",
            now="Nothing was read or sent.",
            todo="Register the owner that dnsadmin manages.",
        )
    provider = Provider.objects.get(pk=find_provider(options["provider"]).pk)
    loop = Loop.objects.filter(owner=owner, provider=provider).first()
    build = _build_declared if options["declared"] else _build_from_manifests
    request = build(options, owner, provider, loop)
    policy = Policy(options["policy"]) if options["policy"] else request.policy
    types = options["managed_types"]
    kinds = request.managed_types if types is None else parse_managed_types(types.split(","))
    return replace(request, policy=policy, managed_types=kinds)


def _build_from_manifests(
    options: dict[str, Any], owner: Owner, provider: Provider, loop: Loop | None
) -> LoopRequest:
    if loop is not None and loop.is_enabled:
        raise RefusedBySafety(
            f"The loop of {owner.owner_id} at {provider.name} runs by itself, from its declared endpoints: "
            "it would undo what the manifests ask for.",
            now="Nothing was read or sent.",
            todo="Switch that loop off first, or declare the endpoints there.",
            code="loop_runs_here",
        )
    try:
        reading = _read(Path(options["source"]))
    except InvalidRequest as error:
        if not options["dry_run"]:
            note_unreadable_manifests(owner, provider, error.happened)
        raise
    source = f"manifests in {options['source']} ({_describe_reading(reading)})"
    request = LoopRequest(owner, provider, reading.endpoints, source, confirmation=options["confirm"])
    if loop is None:
        return request
    kinds = parse_managed_types(loop.managed_types)
    return replace(request, policy=Policy(loop.policy), managed_types=kinds)


def _build_declared(
    options: dict[str, Any], owner: Owner, provider: Provider, loop: Loop | None
) -> LoopRequest:
    if loop is None:
        raise NotFound(
            f"{owner.owner_id} has no loop at {provider.name}, so nothing is declared for it.",
            now="Nothing was read or sent.",
            todo="Register the loop and declare its endpoints, or name a folder with --source.",
        )
    return build_request(loop, options["confirm"])


def _describe_reading(reading: ManifestReading) -> str:
    counts = [(reading.files, "file"), (len(reading.endpoints), "endpoint")]
    parts = [f"{count} {noun if count == 1 else noun + 's'}" for count, noun in counts]
    if reading.ignored:
        parts.append(f"{len(reading.ignored)} without endpoints ignored")
    return ", ".join(parts)


def _read(directory: Path) -> ManifestReading:
    try:
        return read_manifests(directory)
    except InvalidManifest as error:
        raise InvalidRequest(
            f"The manifests cannot be used: {error}",
            now="Nothing was planned or sent.",
            fields={"--source": [str(error)]},
        ) from error


def _raise_if_not_allowed(actor: Actor, request: LoopRequest) -> None:
    if not may_declare_somewhere(actor, request.provider, request.owner):
        raise NotAllowed(
            f"{actor.name} may not run {request.owner.owner_id} at {request.provider.name}.",
            now="Nothing was read or sent.",
            todo="Ask an administrator for a grant, or somebody who has one.",
        )


def _describe_request(request: LoopRequest) -> str:
    types = ", ".join(sorted(request.managed_types))
    return (
        f"{request.owner.owner_id} at {request.provider.name}, from {request.source}: "
        f"policy {request.policy.value}, types {types}."
    )
