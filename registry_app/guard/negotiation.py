"""What the negotiation answers, kept where it is there whatever else is away.

An instance that gets no answer when it starts ends. So each replica keeps a copy of what it needs for that:
in memory, and in a file of its own.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock

import msgspec
from django.db import connections

from providers.http.errors import ProviderError
from providers.wire.domain_filter import DomainFilter
from providers.wire.errors import InvalidDomainFilter, WireError
from registry_app.clock import fetch_now
from registry_app.errors import DATABASE_ERRORS, SecretUnavailable
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.guard.view import View
from registry_app.mirror.client import build_client
from registry_app.mirror.domain_filter import NegotiatedFilter, fetch_domain_filter, read_known_filter
from registry_app.models import PROVIDER_SECRETS, GuardEndpoint, Provider
from registry_app.reconcile.failure import describe_failure

_LOG = logging.getLogger("registry_app.guard")


class NegotiationCopy(msgspec.Struct, frozen=True):
    """What is needed to answer one instance without the database: who may ask, and the provider's filter."""

    username: str
    password_hash: str
    networks: tuple[str, ...]
    domain_filter: DomainFilter


class NegotiationCopies:
    """The copies of all guard endpoints by their slug, in memory and in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._copies: dict[str, NegotiationCopy] = dict(_read(path))

    def find(self, slug: str) -> NegotiationCopy | None:
        """The copy of one guard endpoint."""
        return self._copies.get(slug)

    def remember(self, endpoint: GuardEndpoint, domain_filter: DomainFilter) -> None:
        """Keep what is true of a guard endpoint now."""
        copy = NegotiationCopy(
            endpoint.username, endpoint.password_hash, tuple(endpoint.networks), domain_filter
        )
        if self._copies.get(endpoint.slug) != copy:
            self._store({**self._copies, endpoint.slug: copy})

    def forget(self, slug: str) -> None:
        """A guard endpoint was deleted."""
        if slug in self._copies:
            self._store({known: copy for known, copy in self._copies.items() if known != slug})

    def _store(self, copies: dict[str, NegotiationCopy]) -> None:
        with self._lock:
            self._copies = copies
            new = self._path.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(copies))
            new.replace(self._path)


def remember_all(copies: NegotiationCopies) -> None:
    """Keep what is true of all guard endpoints now; without a database, what is kept stays."""
    try:
        related = ("provider", "instance", "instance__owner")
        for endpoint in GuardEndpoint.objects.select_related(*related).defer(*PROVIDER_SECRETS):
            _remember_known(copies, endpoint)
    except DATABASE_ERRORS as error:
        _LOG.warning("The guard endpoints could not be read: %s", error)
    finally:
        connections.close_all()


def find_domain_filter(endpoint: GuardEndpoint, deadline: Deadline) -> DomainFilter:
    """The names the provider manages, cut to the view of the endpoint: as the provider negotiated at the last
    sync, or now, if it was never asked. Raises Unavailable."""
    managed = _find_managed(endpoint.provider, deadline)
    try:
        return _cut(endpoint, managed)
    except InvalidDomainFilter as error:
        raise Unavailable(
            f"The name patterns of {endpoint.instance.owner} make {error.reason}.",
            todo=f"Give it fewer ones, or switch off the view of {endpoint}.",
        ) from error


def find_view(endpoint: GuardEndpoint) -> View | None:
    """Its own view, by the filter that is known; None where its instance reads everything, as it does for an
    owner without name patterns."""
    patterns = endpoint.instance.owner.name_patterns
    if not (endpoint.has_own_view and patterns):
        return None
    known = read_known_filter(endpoint.provider.domain_filter)
    return View(tuple(patterns), _as_wire(known) if known is not None else DomainFilter())


def _cut(endpoint: GuardEndpoint, managed: DomainFilter) -> DomainFilter:
    view = find_view(endpoint)
    return managed if view is None else replace(view, managed=managed).build_filter()


def _remember_known(copies: NegotiationCopies, endpoint: GuardEndpoint) -> None:
    known = read_known_filter(endpoint.provider.domain_filter)
    if known is None:
        return
    try:
        copies.remember(endpoint, _cut(endpoint, _as_wire(known)))
    except InvalidDomainFilter as error:
        _LOG.warning("The guard endpoint %s has no filter for its view: %s", endpoint.slug, error)


def _find_managed(provider: Provider, deadline: Deadline) -> DomainFilter:
    known = read_known_filter(provider.domain_filter)
    if known is not None:
        return _as_wire(known)
    try:
        with build_client(provider, seconds=deadline.left()) as client:
            return _as_wire(fetch_domain_filter(client, fetch_now()))
    except (ProviderError, WireError, SecretUnavailable) as error:
        raise Unavailable(f"{provider.name} did not negotiate: {describe_failure(error)[1]}") from error


def _as_wire(negotiated: NegotiatedFilter) -> DomainFilter:
    """A filter with lists and regular expressions would end the instance: it gets what counts."""
    if negotiated.regex_include or negotiated.regex_exclude:
        return DomainFilter(regex_include=negotiated.regex_include, regex_exclude=negotiated.regex_exclude)
    return DomainFilter(include=negotiated.include, exclude=negotiated.exclude)


def _read(path: Path) -> Mapping[str, NegotiationCopy]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, NegotiationCopy])
    except (OSError, msgspec.MsgspecError):
        return {}  # there is none yet, or it was cut: the database has all of it
