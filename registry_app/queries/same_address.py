"""Providers that are registered at one address under several names."""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.http.address import parse_provider_url
from providers.http.errors import InvalidAddress
from registry_app.models import Provider

_NAMED = 5


def compute_place(url: str) -> str:
    """The same text for every spelling of one address, whatever its query; empty if it cannot be read."""
    try:
        return parse_provider_url(url).place
    except InvalidAddress:
        return ""


def find_namesakes(url: str, *, besides: int | None = None) -> list[Provider]:
    """The other providers at this address, oldest first."""
    place = compute_place(url)
    if not place:
        return []
    rows = Provider.objects.order_by("pk").only("name", "url", "approval_policy")
    return [row for row in rows if row.pk != besides and compute_place(row.url) == place]


def find_duplicates() -> dict[int, tuple[str, list[str]]]:
    """Of the providers that are synced: each that is not the first at its address by primary key, with its
    name and those of all others there. One query."""
    groups: dict[str, list[tuple[int, str]]] = {}
    rows = Provider.objects.filter(is_enabled=True).order_by("pk").values_list("pk", "name", "url")
    for pk, name, url in rows:
        if place := compute_place(url):
            groups.setdefault(place, []).append((pk, name))
    return {
        pk: (name, [other for other_pk, other in group if other_pk != pk])
        for group in groups.values()
        for pk, name in group[1:]
    }


def list_warnings(row: Provider, said: Mapping[str, Any]) -> list[str]:
    """What whoever registered or changed a provider should know of what they said, one text each."""
    if "url" not in said and not said.get("is_enabled"):
        return []
    others = [other.name for other in find_namesakes(row.url, besides=row.pk)]
    return [describe_duplicate(row.name, others)] if others else []


def describe_duplicate(name: str, others: Sequence[str]) -> str:
    """What it means that one address is registered several times, and what to do."""
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return (
        f"{name} has the same address as {', '.join(others[:_NAMED])}{more}. It is one service: its "
        "records are read and shown once for each name, and two transfers may write there at the "
        "same time. Keep one provider: delete the others, or switch off their sync."
    )
