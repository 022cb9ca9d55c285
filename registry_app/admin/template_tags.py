"""The wording of values, for templates: `{% load dnsadmin %}`."""

from typing import Final

from django import template
from django.contrib.admin.views.main import PAGE_VAR, ChangeList

from registry_app.admin import wording

_ARROW: Final = " \N{RIGHTWARDS ARROW} "
register = template.Library()
register.filter("ago", wording.format_ago)
register.filter("due", wording.format_due)
register.filter("foreign", wording.format_foreign)
register.filter("targets", wording.format_targets)
register.filter("as_json", wording.format_json)
register.filter("json_text", wording.format_json_text)
register.filter("look_alike", wording.format_look_alike)
register.filter("claim_lines", wording.format_claim_endpoints)


@register.filter
def badge(value: object, label: object = None) -> str:
    """`{{ row.state|badge:row.get_state_display }}`."""
    return wording.format_badge(value, label)


@register.filter
def claim_change(item: object) -> list[list[str]]:
    """The claims of a transfer item in short: a line each, in the parts between which it may break."""
    lines = wording.describe_claim_change(getattr(item, "before", []), getattr(item, "after", []))
    return [_split(line) for line in lines]


def _split(line: str) -> list[str]:
    old, arrow, new = line.partition(_ARROW)
    subject, quote, claim = old.partition(' "')
    parts = (subject, quote.strip() + claim, arrow.lstrip() + new)
    return [part for part in parts if part]


@register.filter
def before_and_after(item: object) -> list[tuple[str, str]]:
    """The claims of a transfer item as signed lines: what goes, what stays, what comes."""
    before = wording.format_claim_endpoints(getattr(item, "before", []))
    after = wording.format_claim_endpoints(getattr(item, "after", []))
    gone = [("-", line) for line in before if line not in after]
    kept = [(" ", line) for line in before if line in after]
    return gone + kept + [("+", line) for line in after if line not in before]


@register.simple_tag
def page_address(changes: ChangeList, number: int, step: int) -> str:
    """The address of the page `step` away, under the same filter."""
    return changes.get_query_string({PAGE_VAR: str(number + step)})
