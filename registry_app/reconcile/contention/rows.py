"""Contention as rows: what is new, changed or gone since it was computed last."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from django.db import transaction

from providers.wire.canonical_name import reversed_name
from registry_app.models import Contention, ContentionOwner, Provider
from registry_app.reconcile.contention.advice import advise, suggest
from registry_app.reconcile.contention.units import Found, Unit

_ROWS = 500
_MOST_TARGETS = 10
_CHANGING = ("record_types", "wanted_by", "owned_by", "is_stale", "advice", "suggestion", "digest")


class Key(NamedTuple):
    """What makes it the same contention at a provider."""

    kind: str
    name: str
    set_identifier: str


class Draft(NamedTuple):
    """A contention before it is a row, and the owners that it names."""

    key: Key
    row: Contention
    owner_pks: frozenset[int]


def build_draft(provider_id: int, unit: Unit, found: Found, earliest: datetime | None) -> Draft:
    """Pure. It began after `earliest`, when there was none of it."""
    values: dict[str, Any] = {
        "record_types": found.record_types,
        "wanted_by": _describe_wishes(unit),
        "owned_by": _describe_held(unit),
        "is_stale": any(wish.wisher.is_stale for wish in unit.wishes),
        "advice": advise(unit, found),
        "suggestion": dict(suggest(provider_id, unit, found)),
    }
    digest = hashlib.blake2b(msgspec.json.encode(values, order="sorted"), digest_size=16).digest()
    row = Contention(
        provider_id=provider_id,
        kind=found.kind.value,
        name=unit.name,
        name_reversed=reversed_name(unit.name),
        set_identifier=unit.set_identifier,
        since=found.since if earliest is None else max(found.since, earliest),
        digest=digest,
        **values,
    )
    owner_pks = {wish.wisher.owner_pk for wish in unit.wishes}
    owner_pks.update(each.owner_pk for each in unit.held if each.owner_pk is not None)
    return Draft(Key(found.kind.value, unit.name, unit.set_identifier), row, frozenset(owner_pks))


class Known:
    """The stored contention of a provider, against which drafts are compared one by one."""

    def __init__(self, provider: Provider) -> None:
        rows = Contention.objects.filter(provider=provider).order_by()
        fields = ("kind", "name", "set_identifier", "pk", "digest")
        self._left = {
            Key(*key): (pk, bytes(digest))
            for *key, pk, digest in rows.values_list(*fields).iterator(chunk_size=5_000)
        }
        self._new: list[Draft] = []
        self._changed: list[Draft] = []

    def add(self, draft: Draft) -> None:
        """Store a draft if it is new or differs, a few hundred at a time."""
        pk, digest = self._left.pop(draft.key, (None, b""))
        if pk is None:
            self._new.append(draft)
        elif digest != draft.row.digest:
            draft.row.pk = pk
            self._changed.append(draft)
        if len(self._new) + len(self._changed) >= _ROWS:
            self._store()

    def finish(self) -> None:
        """Store the rest, and delete what was not drafted again."""
        self._store()
        gone = [pk for pk, _ in self._left.values()]
        for start in range(0, len(gone), _ROWS):
            with transaction.atomic():
                _delete(gone[start : start + _ROWS])

    def _store(self) -> None:
        with transaction.atomic():
            Contention.objects.bulk_create([each.row for each in self._new])
            Contention.objects.bulk_update([each.row for each in self._changed], _CHANGING, batch_size=100)
            _store_owners(self._new, self._changed)
        self._new, self._changed = [], []


def _store_owners(new: Sequence[Draft], changed: Sequence[Draft]) -> None:
    ContentionOwner.objects.filter(contention__in=[each.row.pk for each in changed]).delete()
    ContentionOwner.objects.bulk_create(
        [
            ContentionOwner(contention_id=each.row.pk, owner_id=pk)
            for drafts in (new, changed)
            for each in drafts
            for pk in sorted(each.owner_pks)
        ]
    )


def _delete(pks: Sequence[int]) -> None:
    ContentionOwner.objects.filter(contention__in=pks).delete()
    Contention.objects.filter(pk__in=pks).delete()


def _describe_wishes(unit: Unit) -> list[dict[str, Any]]:
    described = []
    for pk, wishes in sorted(unit.wishers.items()):
        wisher = wishes[0].wisher
        described.append(
            {
                "guard_endpoint": {"id": pk, "slug": wisher.slug},
                "instance": wisher.instance,
                "owner": wisher.owner_id,
                "types": sorted({wish.record_type for wish in wishes}),
                "targets": _shorten(target for wish in wishes for target in wish.targets),
                "since": min(wish.since for wish in wishes).isoformat(),
                "is_stale": wisher.is_stale,
            }
        )
    return described


def _describe_held(unit: Unit) -> list[dict[str, Any]]:
    return [
        {"record_set": each.pk, "type": each.record_type, "state": each.state, "owner": each.owner_id}
        for each in sorted(unit.held, key=lambda each: (each.record_type, each.pk))
    ]


def _shorten(targets: Iterable[str]) -> list[str]:
    return sorted(set(targets))[:_MOST_TARGETS]
