"""Findings of a sync as rows: opened, seen again, resolved, acknowledged."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from django.db.models import Count, F

from registry_app.models import Finding
from registry_app.reconcile.findings.draft import FindingDraft, Kind
from registry_app.reconcile.kept_counts import note_inserted, noting_changes
from registry_app.reconcile.rows.bulk import Row, insert_rows, json_text, plain_text, stored_time, update_rows
from registry_app.reconcile.rows.mirror_writes import Write, in_chunks

# These do not come from a snapshot; the code that opens them closes them.
KINDS_BESIDE_SNAPSHOTS = (
    Kind.PROVIDER_FAILING,
    Kind.SNAPSHOT_HELD,
    Kind.TRANSFER_STUCK,
    Kind.REGISTRY_DRIFT,
    Kind.LOOP_STUCK,
    Kind.DATABASE_RESTORED,
    Kind.CLOCK_OFF,
    Kind.READINGS_DIFFER,
    Kind.APPROVAL_LOOSENED,
    Kind.DUPLICATE_PROVIDER,
    Kind.DUPLICATE_OWNER,
    Kind.FOREIGN_CLAIM,
    Kind.CHANGED_OUTSIDE,
    Kind.EXPORT_FAILED,
)
# These are about a response as a whole, or about an owner. All others are about the name that they have.
KINDS_ABOUT_THE_WHOLE = (
    Kind.SET_ASIDE,
    Kind.WRONG_CONTENT_TYPE,
    Kind.FILTER_MATCHES_ALL,
    Kind.UNREGISTERED_OWNER,
    Kind.SHARED_OWNER,
)
# These end by time alone: a response that does not change must be compared again now and then.
KINDS_THAT_PASS = (Kind.FLAPPING, Kind.SHARED_OWNER, Kind.CHANGED_BACK, Kind.DELETED_AFTER_TRANSFER)
PASSING_AFTER = timedelta(hours=1)
NO_OWNERS: Mapping[str, int] = MappingProxyType({})
_CHUNK = 500
_INSERTED = (
    "fingerprint",
    "kind",
    "severity",
    "provider_id",
    "owner_id",
    "name",
    "record_type",
    "set_identifier",
    "explanation",
    "suggestion",
    "details",
    "state",
    "first_seen_at",
    "last_seen_at",
    "occurrences",
    "acknowledged_by",
)
_COMPARED = ("severity", "owner_id", "explanation", "suggestion", "details")
_UPDATED = (*_COMPARED, "last_seen_at")
_Stored = tuple[Any, ...]


@dataclass
class _Difference:
    """Drafts that are no rows yet, rows whose text changed, rows seen again, rows not seen any more."""

    new: dict[bytes, FindingDraft]
    changed: list[tuple[int, FindingDraft]]
    again: list[tuple[int, FindingDraft]]
    gone: list[int]


def iterate_finding_writes(
    provider_id: int,
    drafts: Iterable[FindingDraft],
    owner_keys: Mapping[str, int],
    now: datetime,
    names: Collection[str] | None = None,
) -> Iterator[Write]:
    """The writes that make the stored findings of a provider those of its snapshot; with `names`, those about
    these names and about the whole.

    An acknowledged one stays so while it is there. One that comes back is opened again, unless muted.
    """
    difference = _compare_with_stored(
        _fetch_stored(provider_id, names),
        {draft.fingerprint(provider_id): draft for draft in drafts},
        owner_keys,
        now,
    )
    update = partial(_store_changed, owner_keys=owner_keys, now=now)
    for changed in in_chunks(difference.changed, _CHUNK):
        yield Write(len(changed), partial(update, changed))
    for again in in_chunks(difference.again, _CHUNK):
        yield Write(2 * len(again), partial(_reopen, again, owner_keys, now))
    for gone in in_chunks(difference.gone, _CHUNK):
        yield Write(len(gone), partial(resolve_findings, gone, now))
    for new in in_chunks(difference.new.items(), _CHUNK):
        rows = [_inserted(provider_id, f, d, owner_keys, now) for f, d in new]
        yield Write(len(rows), partial(_store_new, rows))


def open_finding(
    provider_id: int | None,
    draft: FindingDraft,
    now: datetime,
    owner_keys: Mapping[str, int] = NO_OWNERS,
) -> None:
    """Open or refresh one finding beside the snapshots; without a provider, of dnsadmin itself. Inside the
    caller's transaction."""
    fingerprint = draft.fingerprint(provider_id or 0)
    pk, state = Finding.objects.filter(fingerprint=fingerprint).values_list("pk", "state").first() or (
        None,
        "",
    )
    if pk is None:
        _store_new([_inserted(provider_id, fingerprint, draft, owner_keys, now)])
    elif state == Finding.State.RESOLVED:
        _reopen([(pk, draft)], owner_keys, now)
    else:
        _store_changed([(pk, draft)], owner_keys=owner_keys, now=now)


def resolve_findings(pks: Sequence[int], now: datetime) -> None:
    """Mark findings as gone. Inside the caller's transaction."""
    if not pks:
        return
    rows = Finding.objects.filter(pk__among=pks)
    with noting_changes(rows):
        rows.exclude(state=Finding.State.RESOLVED).update(state=Finding.State.RESOLVED, resolved_at=now)


def resolve_finding(fingerprint: bytes, now: datetime) -> None:
    """Mark one finding as gone, if it is there. Inside the caller's transaction."""
    unresolved = Finding.objects.filter(fingerprint=fingerprint).exclude(state=Finding.State.RESOLVED)
    resolve_findings(list(unresolved.values_list("pk", flat=True)), now)


def has_passing_findings(provider_id: int, now: datetime) -> bool:
    """Whether an open finding may have ended by time alone."""
    return (
        Finding.objects.filter(
            provider_id=provider_id, kind__in=KINDS_THAT_PASS, last_seen_at__lt=now - PASSING_AFTER
        )
        .exclude(state=Finding.State.RESOLVED)
        .exists()
    )


def count_open_by_kind(provider_id: int, names: Collection[str] | None = None) -> Counter[str]:
    """How many open findings about names a provider has of each kind; with `names`, those about these."""
    rows = Finding.objects.filter(provider_id=provider_id).exclude(state=Finding.State.RESOLVED)
    rows = rows.exclude(kind__in=(*KINDS_BESIDE_SNAPSHOTS, *KINDS_ABOUT_THE_WHOLE)).order_by()
    if names is not None:
        rows = rows.filter(name__among=names)
    return Counter(dict(rows.values_list("kind").annotate(count=Count("pk"))))


def _fetch_stored(provider_id: int, names: Collection[str] | None) -> Iterator[_Stored]:
    rows = Finding.objects.filter(provider_id=provider_id).exclude(kind__in=KINDS_BESIDE_SNAPSHOTS).order_by()
    fields = ("pk", "fingerprint", "state", "last_seen_at", *_COMPARED)
    if names is None:
        yield from rows.values_list(*fields).iterator()
        return
    yield from rows.filter(kind__in=KINDS_ABOUT_THE_WHOLE).values_list(*fields).iterator()
    about_names = rows.exclude(kind__in=KINDS_ABOUT_THE_WHOLE)
    yield from about_names.filter(name__among=names).values_list(*fields).iterator()


def _compare_with_stored(
    stored: Iterable[_Stored],
    drafts: dict[bytes, FindingDraft],
    owner_keys: Mapping[str, int],
    now: datetime,
) -> _Difference:
    difference = _Difference(drafts, [], [], [])
    for pk, fingerprint, state, last_seen_at, *stored_values in stored:
        draft = drafts.pop(bytes(fingerprint), None)
        if draft is None:
            if state != Finding.State.RESOLVED:
                difference.gone.append(pk)
        elif state == Finding.State.RESOLVED:
            difference.again.append((pk, draft))
        elif stored_values != _values_of(draft, owner_keys) or (
            draft.kind in KINDS_THAT_PASS and last_seen_at < now - PASSING_AFTER
        ):
            difference.changed.append((pk, draft))
    return difference


def _values_of(draft: FindingDraft, owner_keys: Mapping[str, int]) -> list[object]:
    owner_key = owner_keys.get(draft.owner_id)
    text = plain_text(draft.explanation)
    return [draft.severity.value, owner_key, text, dict(draft.suggestion), dict(draft.details)]


def _inserted(
    provider_id: int | None,
    fingerprint: bytes,
    draft: FindingDraft,
    owner_keys: Mapping[str, int],
    now: datetime,
) -> Row:
    return (
        fingerprint,
        draft.kind.value,
        draft.severity.value,
        provider_id,
        owner_keys.get(draft.owner_id),
        draft.name,
        draft.record_type,
        draft.set_identifier,
        plain_text(draft.explanation),
        json_text(dict(draft.suggestion)),
        json_text(dict(draft.details)),
        Finding.State.OPEN.value,
        stored_time(now),
        stored_time(now),
        1,
        "",
    )


def _store_new(rows: Sequence[Row]) -> None:
    insert_rows(Finding, _INSERTED, rows)
    note_inserted(Finding, _INSERTED, rows)


def _store_changed(
    changed: Sequence[tuple[int, FindingDraft]], *, owner_keys: Mapping[str, int], now: datetime
) -> None:
    rows: list[Row] = [
        (
            draft.severity.value,
            owner_keys.get(draft.owner_id),
            plain_text(draft.explanation),
            json_text(dict(draft.suggestion)),
            json_text(dict(draft.details)),
            stored_time(now),
            pk,
        )
        for pk, draft in changed
    ]
    with noting_changes(Finding.objects.filter(pk__among=[pk for pk, _ in changed])):
        update_rows(Finding, _UPDATED, rows)


def _reopen(again: Sequence[tuple[int, FindingDraft]], owner_keys: Mapping[str, int], now: datetime) -> None:
    _store_changed(again, owner_keys=owner_keys, now=now)
    rows = Finding.objects.filter(pk__among=[pk for pk, _ in again])
    resolved = rows.filter(state=Finding.State.RESOLVED)
    with noting_changes(rows):
        resolved.filter(muted_until__gt=now).update(
            state=Finding.State.ACKNOWLEDGED, resolved_at=None, occurrences=F("occurrences") + 1
        )
        resolved.update(
            state=Finding.State.OPEN, resolved_at=None, occurrences=F("occurrences") + 1, acknowledged_by=""
        )
