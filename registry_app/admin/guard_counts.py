"""What the page of a guard endpoint says of its rules, and of what they decided."""

from urllib.parse import urlencode

from django.urls import reverse

from registry_app.admin.wording import format_ago, format_foreign
from registry_app.models import GuardEndpoint, HeldDelete
from registry_app.queries.guard_decision import count_held_deletes, fetch_guard_counts


def describe_rules(row: GuardEndpoint) -> list[tuple[str, object]]:
    """The settings of the mode enforce, as facts."""
    whole = "refuses the whole change set" if row.refuses_batch else "refuses that, and sends the rest"
    most = f"{row.delete_percent} % of its owner's record sets (10 or more), or more than {row.most_deletes}"
    return [
        ("If one change is refused", whole),
        ("Shared names", ", ".join(map(format_foreign, row.shared_names)) or "none"),
        ("Holds deletes", f"of more than {most}, within {_format_window(row.window_seconds)}"),
        ("First change set", format_ago(row.first_changes_at, never="not yet; it deletes nothing")),
    ]


def describe_counts(row: GuardEndpoint) -> list[tuple[str, str, str, int, str]]:
    """Outcome, its label, the rule, how often, and the address of those decisions; the most first."""
    return [
        (
            each.outcome,
            each.get_outcome_display(),
            each.get_rule_display(),
            each.count,
            _list("guarddecision", row, outcome=each.outcome, rule=each.rule),
        )
        for each in fetch_guard_counts(row)
    ]


def describe_held(row: GuardEndpoint) -> list[tuple[str, str, int, str]]:
    """Status, its label, how many deletes are in it, and the address of those."""
    counts = count_held_deletes(row)
    return [
        (str(status.value), str(status.label), counts[status], _list("helddelete", row, status=status.value))
        for status in HeldDelete.Status
        if counts.get(status)
    ]


def list_links_of(row: GuardEndpoint) -> list[tuple[str, str]]:
    """Label and address of the lists of what was decided and sent."""
    return [
        ("Held deletes", _list("helddelete", row)),
        ("Decisions", _list("guarddecision", row)),
        ("Change sets", _list("guardstep", row)),
    ]


def _list(noun: str, row: GuardEndpoint, **filters: str) -> str:
    query = urlencode({"guard_endpoint": row.pk, **filters})
    return f"{reverse(f'admin:registry_app_{noun}_changelist')}?{query}"


def _format_window(seconds: int) -> str:
    return f"{seconds // 3600} h" if seconds % 3600 == 0 else f"{seconds} s"
