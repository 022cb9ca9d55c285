"""Take a change set of an instance: judge it, store what passes, send it once, read it back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from providers.http.errors import NothingSent, ProviderError
from providers.wire.change_set import ChangeSet, build_change_set
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import encode_change_set
from registry_app.clock import fetch_now
from registry_app.database_claims import RowChange, RowsMoved, change_rows, fetch_legacy_writers
from registry_app.errors import LeaseLost, SecretUnavailable
from registry_app.guard.asked import AskedChange, Unreadable, read_change_set
from registry_app.guard.claim_rows import describe_row, withdraw_rows
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.guard.decisions import Decision, Outcome, store_decisions
from registry_app.guard.holds import (
    count_deletes,
    count_retargets,
    end_held,
    fetch_held,
    fetch_limits,
    find_holds,
    store_held,
)
from registry_app.guard.judge import Judge
from registry_app.guard.kept_claims import KeptClaims, find_kept_claims
from registry_app.guard.kept_zone import KeptZone, Split, list_names_to_read
from registry_app.guard.session import GuardSession, leased_before, settle
from registry_app.guard.unit import Caller, Judged, Refusal, Unit, UnitKey
from registry_app.guard.zone import Zone
from registry_app.metrics import GUARD_SENT
from registry_app.mirror.domain_filter import read_known_filter
from registry_app.models import GuardEndpoint, GuardRule, GuardStep, HeldDelete, Provider, StepStatus
from registry_app.queries.freeze import fetch_stops, find_restore_stops
from registry_app.queries.guard_endpoint import find_shared_suffixes
from registry_app.queries.names_below import find_others_below
from registry_app.reconcile.failure import describe_failure
from registry_app.writes.session import ProviderBusy, open_session
from registry_app.writes.step import send_step, store_step

_MODE = GuardEndpoint.Mode
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Verdict:
    """What becomes of a change set: what is sent, which units that are, and what is kept of the rest. `rows`
    are changed before anything is sent."""

    judged: Judged
    holds: Mapping[UnitKey, Refusal]
    held_rows: Mapping[UnitKey, HeldDelete]
    decisions: Sequence[Decision]
    change_set: ChangeSet
    items: Sequence[dict[str, Any]]
    sent: Sequence[Unit]
    rows: Sequence[RowChange] = ()


@dataclass(frozen=True)
class _Asked:
    """What an instance asks for, and where: `kept_zone` where its claims are not in the zone."""

    endpoint: GuardEndpoint
    change_set: ChangeSet
    changes: Mapping[EndpointKey, AskedChange]
    unreadable: Sequence[Unreadable]
    zone: Zone
    kept: KeptClaims | None
    kept_zone: KeptZone | None
    now: datetime


def apply_changes(endpoint: GuardEndpoint, change_set: ChangeSet, deadline: Deadline) -> None:
    """Send what passes and read it back. Raises Unavailable where the instance should ask again."""
    if change_set.is_empty():
        return
    try:
        with (
            leased_before(endpoint.provider_id, deadline) as leased,
            open_session(leased, GuardSession, seconds=deadline.left()) as session,
        ):
            _apply(session, endpoint, change_set, deadline)
    except (ProviderError, WireError, SecretUnavailable) as error:
        said = describe_failure(error)[1]
        raise Unavailable(f"{endpoint.provider} cannot be read or changed now: {said}") from error
    except (ProviderBusy, LeaseLost, RowsMoved) as error:
        raise Unavailable(str(error)) from error


def _apply(session: GuardSession, endpoint: GuardEndpoint, change_set: ChangeSet, deadline: Deadline) -> None:
    _raise_if_restored(session.provider)
    kept = find_kept_claims(endpoint)
    session.resume()
    asked = _read(session, endpoint, kept, change_set)
    caller = _build_caller(endpoint, session.provider, asked.now)
    judge = Judge(asked.kept_zone.shown if asked.kept_zone else asked.zone, caller, asked.changes)
    verdict, now = _decide(judge, asked), asked.now
    if endpoint.mode == _MODE.DRY_RUN:
        with session.fenced():
            store_decisions(endpoint, verdict.decisions, now)
        return
    if endpoint.refuses_batch and verdict.decisions and endpoint.mode == _MODE.ENFORCE:
        with session.fenced():
            _store(endpoint, verdict, now)
        raise Unavailable(
            f"{len(verdict.decisions)} of the changes are refused or held, so nothing was sent.",
            todo="See the decisions of the guard endpoint.",
        )
    if verdict.change_set.is_empty():
        _store_refusals(session, endpoint, verdict, now, kept)
        return
    _send(session, endpoint, verdict, deadline, now, kept)


def _read(
    session: GuardSession, endpoint: GuardEndpoint, kept: KeptClaims | None, change_set: ChangeSet
) -> _Asked:
    keys = {profile.encryption_key for profile in session.profiles if profile.encryption_key}
    if kept is not None and kept.format.encryption_key:
        keys.add(kept.format.encryption_key)
    changes, unreadable = read_change_set(change_set, keys)
    names = list_names_to_read(changes, kept)
    zone, kept_zone = session.read(names), None
    if kept is not None:
        owner_id = endpoint.instance.owner.owner_id
        legacy = fetch_legacy_writers(kept.profile_id, owner_id, names)
        kept_zone = KeptZone(zone, kept, owner_id, legacy)
    return _Asked(endpoint, change_set, changes, unreadable, zone, kept, kept_zone, fetch_now())


def _raise_if_restored(provider: Provider) -> None:
    """A freeze is decided name by name; nothing passes a database that was restored."""
    for stop in find_restore_stops(provider):
        raise Unavailable(stop.happened, todo=stop.todo)


def _build_caller(endpoint: GuardEndpoint, provider: Provider, now: datetime) -> Caller:
    owner = endpoint.instance.owner
    known = read_known_filter(provider.domain_filter)
    patterns = DomainFilter(include=tuple(owner.name_patterns))
    return Caller(
        owner_id=owner.owner_id,
        is_managed=known.matches if known is not None else lambda _: True,
        is_in_patterns=patterns.matches,
        may_share=partial(_may_share, endpoint),
        find_hidden=partial(find_others_below, provider, owner),
        find_stop=fetch_stops(provider, owner.owner_id, now).find,
        allowed_properties=frozenset(provider.allowed_properties),
    )


def _may_share(endpoint: GuardEndpoint, name: str, owner_id: str) -> bool:
    """Whether both owners list the name as shared at this provider."""
    if not _lists(endpoint.shared_names, name):
        return False
    return any(_lists(each, name) for each in find_shared_suffixes(endpoint.provider_id, owner_id))


def _lists(suffixes: Sequence[str], name: str) -> bool:
    return bool(suffixes) and DomainFilter(include=tuple(suffixes)).matches(name)


def _decide(judge: Judge, asked: _Asked) -> _Verdict:
    endpoint, judged = asked.endpoint, judge.judge()
    if asked.kept_zone is not None:
        judged = asked.kept_zone.check(judge, judged)
    names = {name for name, _ in judged.units}
    rows = fetch_held(endpoint, names)
    holds = find_holds(judged, fetch_limits(endpoint, names, asked.now), rows)
    enforces = endpoint.mode == _MODE.ENFORCE
    decisions = [
        *_list_decisions(judged, holds, enforces),
        *_list_unreadable(asked.unreadable, enforces),
    ]
    if not enforces:
        every = list(judged.units.values())
        items = [_build_item(each, each.old is None, each.new is None) for each in asked.changes.values()]
        return _Verdict(judged, {}, {}, decisions, asked.change_set, items, every)
    sent = judged.passing - holds.keys()
    split = _split(judge.build_edits(judged, sent), asked)
    edits, zone = split.edits, asked.zone
    parts = {key: found for key in edits if len(found := zone.parts.get(key, [])) > 1}
    built = build_change_set([(zone.find(key), new) for key, new in edits.items()], parts)
    items = [
        {
            **_build_item(asked.changes[key], zone.find(key) is None, new is None),
            **_describe_row(key, split, asked),
        }
        for key, new in edits.items()
    ]
    units = [judged.units[key] for key in sent]
    return _Verdict(judged, holds, rows, decisions, built, items, units, list(split.now.values()))


def _split(edits: Mapping[EndpointKey, Endpoint | None], asked: _Asked) -> Split:
    return asked.kept_zone.split(edits) if asked.kept_zone is not None else Split(edits, {}, {})


def _describe_row(key: EndpointKey, split: Split, asked: _Asked) -> dict[str, Any]:
    if asked.kept is None or asked.kept_zone is None:
        return {}
    return describe_row(key, split, asked.kept.profile_id, asked.kept_zone.find_settled(key))


def _build_item(change: AskedChange, is_create: bool, is_delete: bool) -> dict[str, Any]:  # noqa: FBT001 - the sides that are there
    action = "create" if is_create else "delete" if is_delete else "update"
    return {**change.key._asdict(), "action": action, "is_claim": not change.is_record, "outcome": ""}


def _list_decisions(
    judged: Judged,
    holds: Mapping[UnitKey, Refusal],
    enforces: bool,  # noqa: FBT001 - a mode
) -> Iterable[Decision]:
    refused = Outcome.REFUSED if enforces else Outcome.WOULD_REFUSE
    held = Outcome.HELD if enforces else Outcome.WOULD_HOLD
    for found, outcome in ((judged.refusals, refused), (holds, held)):
        for key, refusal in found.items():
            yield Decision(outcome, refusal.rule, *key, judged.units[key].describe(), refusal.reason)


def _list_unreadable(unreadable: Iterable[Unreadable], enforces: bool) -> Iterable[Decision]:  # noqa: FBT001 - a mode
    outcome = Outcome.REFUSED if enforces else Outcome.WOULD_REFUSE
    for each in unreadable:
        yield Decision(outcome, GuardRule.AMBIGUOUS, each.name, "", "change it", each.reason)


def _store_refusals(
    session: GuardSession,
    endpoint: GuardEndpoint,
    verdict: _Verdict,
    now: datetime,
    kept: KeptClaims | None,
) -> None:
    """Nothing is sent to the provider; what changes of claims alone is stored."""
    with session.fenced():
        _store(endpoint, verdict, now)
        _change_rows(verdict, kept)


def _change_rows(verdict: _Verdict, kept: KeptClaims | None) -> None:
    if kept is not None:
        change_rows(kept.profile_id, verdict.rows)


def _store(endpoint: GuardEndpoint, verdict: _Verdict, now: datetime) -> None:
    store_decisions(endpoint, verdict.decisions, now)
    store_held(endpoint, verdict.judged, verdict.holds, verdict.held_rows, now)
    GuardEndpoint.objects.filter(pk=endpoint.pk, first_changes_at__isnull=True).update(first_changes_at=now)


def _send(
    session: GuardSession,
    endpoint: GuardEndpoint,
    verdict: _Verdict,
    deadline: Deadline,
    now: datetime,
    kept: KeptClaims | None,
) -> None:
    def build() -> GuardStep:
        _store(endpoint, verdict, now)
        _change_rows(verdict, kept)
        return GuardStep(
            guard_endpoint=endpoint,
            provider=session.provider,
            slug=endpoint.slug,
            items=list(verdict.items),
            deletes=sum(map(count_deletes, verdict.sent)),
            retargets=sum(map(count_retargets, verdict.sent)),
        )

    body = encode_change_set(verdict.change_set, capitalized_keys=session.provider.capitalized_changes)
    step = store_step(session, body, build)
    try:
        send_step(session, step)
    except NothingSent as error:
        with session.fenced():
            withdraw_rows(step.items)
        raise Unavailable(f"{session.provider} took nothing: {error}") from error
    is_answered = step.status == StepStatus.ANSWERED
    # A provider that reported a failure shows at once what it did all the same. And the instance gets its
    # answer before its deadline, also where the provider is slow to show a success.
    seconds = min(session.provider.read_back_seconds, deadline.left() / 2) if is_answered else 0
    is_shown = settle(session, step, timedelta(seconds=seconds))
    _note_sent(step, is_shown=is_shown)
    end_held(endpoint, _list_deleted(step) & verdict.held_rows.keys(), HeldDelete.Status.DELETED)
    if not (is_shown or is_answered):
        raise Unavailable(
            f"{session.provider} did not confirm the changes: {step.answer}",
            now="Not all of them were made.",
        )


def _note_sent(step: GuardStep, *, is_shown: bool) -> None:
    GUARD_SENT.inc(len(step.items))
    _LOG.info(
        "guard.sent",
        guard_endpoint=step.slug,
        provider=step.provider.name,
        change_set=step.pk,
        changes=len(step.items),
        is_verified=is_shown,
    )


def _list_deleted(step: GuardStep) -> set[UnitKey]:
    """The names with their set identifiers of which the read-back showed that something is gone."""
    return {
        (item["name"], item["set_identifier"])
        for item in step.items
        if item["action"] == "delete" and item["outcome"] == "verified" and not item["is_claim"]
    }
