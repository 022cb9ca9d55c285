"""The claims of each registry profile in the database as files, at most once in an interval."""

import os
import re
from datetime import datetime
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from providers.stores.registry import ExportableStore
from providers.stores.registry_catalogue import KINDS_BEHIND_GUARD
from registry_app.clock import fetch_now
from registry_app.mirror.open_stores import open_store
from registry_app.models import Finding, Provider, RegistryProfile
from registry_app.reconcile.findings.exports import draft_failed_export
from registry_app.reconcile.store_findings import open_finding, resolve_findings

_logger = structlog.get_logger(__name__)
_KEPT = 7
_MOST_SHOWN = 500
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def export_due_registries() -> int:
    """Write what is due; how many files. Where one cannot be written, its profile and a finding say why, and
    it is tried again by the next call."""
    now = fetch_now()
    written = _export_due(now) if settings.DNSADMIN_REGISTRY_EXPORT_DIR else 0
    _store_findings(now)
    return written


def _export_due(now: datetime) -> int:
    is_due = Q(exported_at__isnull=True) | Q(exported_at__lte=now - settings.DNSADMIN_REGISTRY_EXPORT_EVERY)
    due = RegistryProfile.objects.filter(is_due, kind__in=KINDS_BEHIND_GUARD).order_by("pk")
    return sum(_export(profile, Path(settings.DNSADMIN_REGISTRY_EXPORT_DIR), now) for profile in due)


def _store_findings(now: datetime) -> None:
    """A finding for each profile whose last export failed, and none for any other."""
    profiles = RegistryProfile.objects.filter(kind__in=KINDS_BEHIND_GUARD).exclude(export_error="")
    failing = profiles if settings.DNSADMIN_REGISTRY_EXPORT_DIR else profiles.none()
    found = [(profile, profile.providers.first()) for profile in failing]
    with transaction.atomic():
        told = set()
        for profile, provider in found:
            draft = draft_failed_export(profile)
            provider_id = provider.pk if provider else None
            open_finding(provider_id, draft, now)
            told.add(draft.fingerprint(provider_id or 0))
        rows = Finding.objects.filter(kind=Finding.Kind.EXPORT_FAILED).exclude(state=Finding.State.RESOLVED)
        over = [pk for pk, each in rows.values_list("pk", "fingerprint") if bytes(each) not in told]
        resolve_findings(over, now)


def _export(profile: RegistryProfile, folder: Path, now: datetime) -> bool:
    provider = profile.providers.first()
    if provider is None:
        return False
    rows = RegistryProfile.objects.filter(pk=profile.pk)
    if not profile.database_claims.exists():
        # An emptied database never takes the place of what it had.
        rows.update(exported_at=now, export_error="")
        return False
    try:
        _write(profile, provider, folder, now)
    except OSError as error:
        problem = f"The claims cannot be written to {folder}: {error.strerror or error}."
        _logger.exception("registry.export_failed", profile=profile.name, error=problem)
        rows.update(export_error=problem[:_MOST_SHOWN])
        return False
    rows.update(exported_at=now, export_error="")
    return True


def _write(profile: RegistryProfile, provider: Provider, folder: Path, now: datetime) -> None:
    store = open_store(profile, provider, None).store
    if not isinstance(store, ExportableStore):
        raise TypeError(f"The store of {profile} has no documents.")
    name = f"{profile.pk}-{_NOT_PLAIN.sub('-', profile.name.lower()).strip('-')}"
    path = folder / f"{name}.{now:%Y%m%dT%H%M%SZ}.json"
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(store.export("", when=now))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    written = sorted(folder.glob(f"{profile.pk}-*.json"), key=lambda each: each.name.rsplit(".", 2)[-2])
    for old in written[:-_KEPT]:
        old.unlink(missing_ok=True)
