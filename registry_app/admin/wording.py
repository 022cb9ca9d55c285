"""Values as people read them: times, states, targets, and text that somebody else wrote. Templates: `{% load
dnsadmin %}`."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django import template
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.models import LoopRun, SyncRun

NOTHING: Final = "\N{EN DASH}"
_OWNER: Final = "external-dns/owner="
_QUOTE: Final = '"'
_SHOWN_TARGETS = 3
_LONGEST_TARGET = 80

_WORDS_OF_TONES: Final = {
    "good": (
        "owned effective ok unchanged stored verified no_op resolved accepted cleared registered kept "
        "finished moved serving"
    ),
    "busy": "running approved sending sent answered moving released",
    "warn": (
        "unknown overruled ignored orphan missing held abandoned requested stale retarget refused "
        "open discovered would_refuse would_hold paused ended blocked 20"
    ),
    "bad": (
        "conflict conflicting unreadable failing failed needs_operator delete not_replaced "
        "incomplete unseen not_shown other 40 30"
    ),
    "plain": (
        "unmanaged superseded obsolete new rejected cancelled expired rolled_back pending "
        "not_sent acknowledged decommissioned 10"
    ),
}
_TONES: Final = {word: tone for tone, words in _WORDS_OF_TONES.items() for word in words.split()}
_ARROW: Final = " \N{RIGHTWARDS ARROW} "
register = template.Library()


def format_badge(value: object, label: object = None) -> SafeString:
    """A state as a word on a colour, readable without the colour."""
    tone = _TONES.get(str(value), "plain")
    return format_html('<span class="dn-badge dn-{}">{}</span>', tone, label if label is not None else value)


def format_look_alike(look_alikes: Mapping[str, str], owner_id: str) -> SafeString | str:
    """The mark of an unregistered owner id that looks like a registered one."""
    original = look_alikes.get(owner_id)
    return "" if original is None else format_badge("conflict", f"looks like {original}, is not registered")


def link_to(row: models.Model) -> SafeString:
    """A link to the page of a row."""
    address = reverse(f"admin:registry_app_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a class="dn-link" href="{}">{}</a>', address, row)


def format_ago(at: datetime | None, *, never: str = "never") -> SafeString:
    """A time as its distance, with the exact one on hover."""
    if at is None:
        return format_html("<span>{}</span>", never)
    iso = at.astimezone(tz=timezone.get_default_timezone()).isoformat(timespec="seconds")
    distance = timezone.now() - at
    words = f"in {format_span(-distance)}" if distance < timedelta(0) else f"{format_span(distance)} ago"
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, iso, words)


def format_due(at: datetime | None) -> SafeString:
    """When something is done next. What is due already starts as soon as a worker is free."""
    if at is None or at <= timezone.now():
        return format_html("<span>{}</span>", "within seconds")
    return format_ago(at)


def format_span(span: timedelta) -> str:
    """A length of time in its largest unit."""
    seconds = int(span.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def format_foreign(text: object) -> str:
    """Text from a provider or a cluster, with invisible characters made visible.

    Control and format characters (right-to-left overrides among them) would let it look like something
    else. Escaping for HTML is the template's.
    """
    return "".join(
        f"\\u{ord(character):04x}" if unicodedata.category(character)[0] == "C" else character
        for character in str(text)
    )


def format_targets(targets: Sequence[str]) -> str:
    """The first few targets in one line, and how many more there are."""
    shown = [_cut(format_foreign(target)) for target in targets[:_SHOWN_TARGETS]]
    more = len(targets) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def describe_trigger(run: SyncRun | LoopRun) -> str:
    """What started a sync or a run, and the person who requested it, if any."""
    trigger = run.get_trigger_display()
    return f"{trigger} ({format_foreign(run.requested_by)})" if run.requested_by else trigger


def format_json(value: Any) -> str:
    """A JSON value for people: two-space indentation, nothing hidden."""
    return "\n".join(
        format_foreign(line) for line in json.dumps(value, indent=2, ensure_ascii=False).splitlines()
    )


def format_json_text(text: str) -> str:
    """JSON text for people; the beginning of a longer one as it is."""
    try:
        return format_json(json.loads(text))
    except ValueError:
        return format_foreign(text)


def describe_claim_change(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[str]:
    """What happens to the claims of one record set, one line a place: `~` changed, `+` new, `-` gone."""
    old, new = _by_place(before), _by_place(after)
    lines = []
    for place in dict.fromkeys((*old, *new)):
        _store, label = place
        if place not in new:
            lines.append(f"- {label} {old[place]}")
        elif place not in old:
            lines.append(f"+ {label} {new[place]}")
        else:
            lines.append(f"~ {label} {old[place]} \N{RIGHTWARDS ARROW} {new[place]}")
    return lines


def _by_place(endpoints: Sequence[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """The claims at each place, shortened, by its store and what it is called."""
    return {
        (str(endpoint.get("store", "")), _label_place(endpoint)): ", ".join(
            map(_shorten_claim, endpoint.get("targets") or [])
        )
        for endpoint in endpoints
    }


def _label_place(endpoint: dict[str, Any]) -> str:
    """A TXT record by its name, the row of a registry store by its record set; a set identifier tells
    those of one name apart."""
    identifier = endpoint.get("setIdentifier")
    name = str(endpoint.get("dnsName", "")) + (f" ({identifier})" if identifier else "")
    if not endpoint.get("store"):
        return f"TXT {format_foreign(name)}"
    return f"row {format_foreign(name)} {format_foreign(endpoint.get('recordType', ''))}"


def _shorten_claim(target: object) -> str:
    """The owner in a heritage text, and that there is more around it; a claim that is not plain text is
    marked."""
    text = format_foreign(target)
    _before, found, rest = text.partition(_OWNER)
    if not found:
        return "(encrypted or not a plain claim)"
    return f'"\N{HORIZONTAL ELLIPSIS}owner={rest.partition(",")[0].strip(_QUOTE)}\N{HORIZONTAL ELLIPSIS}"'


def format_claim_endpoints(endpoints: Sequence[dict[str, Any]]) -> list[str]:
    """The claims of a transfer item, one line a place."""
    return [
        f"{_say_store(endpoint)}{format_foreign(endpoint.get('dnsName', ''))} "
        f"{format_foreign(endpoint.get('recordType', 'TXT'))} "
        + ", ".join(format_foreign(target) for target in endpoint.get("targets") or [])
        for endpoint in endpoints
    ]


def _say_store(endpoint: dict[str, Any]) -> str:
    store = endpoint.get("store")
    return f"row of registry profile {format_foreign(store)}: " if store else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TARGET else text[: _LONGEST_TARGET - 1] + "…"


register.filter("ago", format_ago)
register.filter("due", format_due)
register.filter("foreign", format_foreign)
register.filter("targets", format_targets)
register.filter("as_json", format_json)
register.filter("json_text", format_json_text)
register.filter("look_alike", format_look_alike)
register.filter("claim_lines", format_claim_endpoints)


@register.filter
def badge(value: object, label: object = None) -> str:
    """`{{ row.state|badge:row.get_state_display }}`."""
    return format_badge(value, label)


@register.filter
def claim_change(item: object) -> list[list[str]]:
    """The claims of a transfer item in short: a line each, in the parts between which the page may break
    it."""
    lines = describe_claim_change(getattr(item, "before", []), getattr(item, "after", []))
    return [_split(line) for line in lines]


def _split(line: str) -> list[str]:
    old, arrow, new = line.partition(_ARROW)
    subject, quote, claim = old.partition(' "')
    parts = (subject, quote.strip() + claim, arrow.lstrip() + new)
    return [part for part in parts if part]


@register.filter
def before_and_after(item: object) -> list[tuple[str, str]]:
    """The claims of a transfer item as signed lines: what goes, what stays, what comes."""
    before = format_claim_endpoints(getattr(item, "before", []))
    after = format_claim_endpoints(getattr(item, "after", []))
    gone = [("-", line) for line in before if line not in after]
    kept = [(" ", line) for line in before if line in after]
    return gone + kept + [("+", line) for line in after if line not in before]


@register.simple_tag
def page_address(changes: ChangeList, number: int, step: int) -> str:
    """The address of the page `step` away, under the same filter."""
    return changes.get_query_string({PAGE_VAR: str(number + step)})
