"""Declare what a loop is to keep: the whole set, one endpoint, or one no more."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import RESOURCE, format_labels
from providers.sources.placed_endpoint import find_bad_target
from providers.wire.canonical_name import InvalidName, canonical_name, has_second_reading
from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.poison import find_poison
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.models import PROVIDER_SECRETS, DeclaredEndpoint, Loop
from registry_app.queries.loop import may_declare, may_declare_everything

MOST_ENDPOINTS = 20_000
_MOST_AUDITED = 50
_ROWS = 500
# The wire's names of fields that have other names here.
_FIELDS = {
    "recordTTL": "ttl",
    "dnsName": "name",
    "providerSpecific": "provider_specific",
    "labels": "resource",
    "recordType": "record_type",
    "setIdentifier": "set_identifier",
}


def declare_endpoints(
    actor: Actor, loop_id: int, given: Sequence[Mapping[str, Any]], *, expected_declared_at: datetime
) -> Loop:
    """Make these the whole set, if it still is the version that was read; the loop runs soon.

    Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields.
    """
    wanted = _read_declared(given, path="endpoints.")
    _raise_if_too_many(len(wanted))
    with transaction.atomic():
        loop = _find(loop_id)
        declared = {_key_of(row): row for row in DeclaredEndpoint.objects.filter(loop=loop)}
        return _store(actor, loop, declared, wanted, expected_declared_at)


def declare_endpoint(actor: Actor, loop_id: int, values: Mapping[str, Any]) -> DeclaredEndpoint:
    """Add one endpoint, or give the one of its name, type and set identifier these values.

    Raises as `declare_endpoints`.
    """
    wanted = _read_declared([values])
    ((key, endpoint),) = wanted.items()
    with transaction.atomic():
        loop = _find(loop_id)
        rows = DeclaredEndpoint.objects.filter(loop=loop)
        _raise_if_too_many(rows.count() + 1)
        alike = rows.filter(name=key.name, record_type=key.record_type, set_identifier=key.set_identifier)
        _store(actor, loop, {_key_of(row): row for row in alike}, {key: endpoint}, loop.declared_at)
        return alike.get()


def withdraw_endpoint(actor: Actor, loop_id: int, endpoint_id: int) -> None:
    """Remove one declared endpoint: with the policy sync the next run deletes its record set."""
    with transaction.atomic():
        loop = _find(loop_id)
        row = DeclaredEndpoint.objects.filter(loop=loop, pk=endpoint_id).first()
        if row is None:
            raise NotFound("This declared endpoint does not exist.", todo="Look it up in the list.")
        _store(actor, loop, {_key_of(row): row}, {}, loop.declared_at)


def _store(
    actor: Actor,
    loop: Loop,
    declared: Mapping[EndpointKey, DeclaredEndpoint],
    wanted: Mapping[EndpointKey, Endpoint],
    expected_declared_at: datetime,
) -> Loop:
    """From `declared` to `wanted`, in the caller's transaction, with its audit line."""
    gone = [row for key, row in declared.items() if key not in wanted]
    rows = {key: _build_row(loop, key, endpoint) for key, endpoint in wanted.items()}
    new = [row for key, row in rows.items() if key not in declared]
    changed = [key for key in rows.keys() & declared.keys() if _values(rows[key]) != _values(declared[key])]
    moved = {row.name for row in (*gone, *new)} | {key.name for key in changed}
    # The right to the names is checked even if nothing differs: the loop runs soon.
    _raise_if_not_allowed(actor, loop, moved or {key.name for key in wanted})
    now = fetch_now()
    taken = Loop.objects.filter(pk=loop.pk, declared_at=expected_declared_at)
    if not taken.update(declared_at=now, next_run_at=now):
        raise StateMoved(
            f"The endpoints of {loop} were changed since you read them.",
            todo="Read them again, compare, and repeat your change.",
        )
    for start in range(0, len(gone), _ROWS):
        DeclaredEndpoint.objects.filter(pk__in=[row.pk for row in gone[start : start + _ROWS]]).delete()
    DeclaredEndpoint.objects.bulk_create(new, batch_size=_ROWS)
    for key in changed:
        rows[key].pk = declared[key].pk
        rows[key].save(force_update=True)
    after = {
        "added": sorted(map(str, new))[:_MOST_AUDITED],
        "changed": sorted(" ".join(key).strip() for key in changed)[:_MOST_AUDITED],
        "withdrawn": sorted(map(str, gone))[:_MOST_AUDITED],
        "counts": [len(new), len(changed), len(gone)],
    }
    record_audit(actor, "loop.endpoints_declared", loop, after=after)
    loop.declared_at = now
    return loop


def _raise_if_not_allowed(actor: Actor, loop: Loop, names: set[str]) -> None:
    allowed = (
        may_declare(actor, loop.provider, loop.owner, names)
        if names
        else may_declare_everything(actor, loop.provider, loop.owner)
    )
    if not allowed:
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not declare endpoints of {loop.owner} at {loop.provider}.",
            todo="Ask an administrator for a grant, or somebody who has one.",
        )


def _raise_if_too_many(count: int) -> None:
    if count > MOST_ENDPOINTS:
        raise InvalidRequest(
            f"{count} endpoints are more than the {MOST_ENDPOINTS} of one loop.",
            todo="Use several owners.",
        )


def _find(loop_id: int) -> Loop:
    rows = Loop.objects.select_related("owner", "provider").defer(*PROVIDER_SECRETS)
    loop = rows.filter(pk=loop_id).first()
    if loop is None:
        raise NotFound(f"There is no loop {loop_id}.", todo="Look it up in the list.")
    return loop


def _key_of(row: DeclaredEndpoint) -> EndpointKey:
    return EndpointKey(row.name, row.record_type, row.set_identifier)


def _build_row(loop: Loop, key: EndpointKey, endpoint: Endpoint) -> DeclaredEndpoint:
    return DeclaredEndpoint(
        loop=loop,
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        targets=list(endpoint.targets),
        ttl=endpoint.record_ttl,
        provider_specific=[[each.name, each.value] for each in endpoint.provider_specific],
        resource=endpoint.labels.get(RESOURCE, ""),
    )


def _values(row: DeclaredEndpoint) -> tuple[object, ...]:
    return row.targets, row.ttl, row.provider_specific, row.resource


class _Undeclarable(Exception):
    """`field` cannot have the given value; `reason` says what would be right."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason


def _read_declared(given: Iterable[Mapping[str, Any]], *, path: str = "") -> dict[EndpointKey, Endpoint]:
    """The endpoints by their key. Raises InvalidRequest with every field that cannot be, by dotted path."""
    found: dict[EndpointKey, Endpoint] = {}
    problems: dict[str, list[str]] = {}
    for number, values in enumerate(given):
        where = f"{path}{number}." if path else ""
        try:
            endpoint = _read_endpoint(values)
            key = EndpointKey(endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)
            if key in found:
                raise _Undeclarable(
                    "name", "It is declared twice. Declare each name, type and set identifier once."
                )
            found[key] = endpoint
        except _Undeclarable as error:
            problems[f"{where}{error.field}"] = [error.reason]
    if problems:
        raise InvalidRequest("Some of these endpoints cannot exist at a provider.", fields=problems)
    return found


def _read_endpoint(values: Mapping[str, Any]) -> Endpoint:
    kind = str(values["record_type"]).upper()
    if kind not in KNOWN_RECORD_TYPES:
        raise _Undeclarable("record_type", f"Choose among {', '.join(KNOWN_RECORD_TYPES)}.")
    endpoint = Endpoint(
        dns_name=_read_name(str(values["name"])),
        targets=tuple(values["targets"]),
        record_type=kind,
        set_identifier=values.get("set_identifier", ""),
        record_ttl=values.get("ttl", 0),
        labels=_read_labels(values.get("resource", "")),
        provider_specific=tuple(
            ProviderSpecificProperty(*pair) for pair in values.get("provider_specific", ())
        ),
    )
    if not endpoint.targets:
        raise _Undeclarable("targets", "Enter at least one target.")
    poison = find_poison(endpoint)
    if poison is not None:
        raise _Undeclarable(_FIELDS.get(poison.field, poison.field), f"It has {poison.reason}.")
    bad = find_bad_target(endpoint)
    if bad is not None:
        raise _Undeclarable(f"targets.{bad[0]}", bad[1])
    return endpoint


def _read_name(text: str) -> str:
    try:
        name = canonical_name(text)
        if has_second_reading(text):
            raise _Undeclarable(
                "name", "Programs read this name in different ways. Write it in ASCII, with xn--."
            )
    except InvalidName as error:
        raise _Undeclarable("name", f"It cannot be a name: {error.reason}.") from None
    return name


def _read_labels(resource: str) -> dict[str, str]:
    labels = {RESOURCE: resource} if resource else {}
    try:
        format_labels(labels)
    except UnwritableLabel as error:
        raise _Undeclarable("resource", str(error)) from None
    return labels
