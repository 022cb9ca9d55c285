"""Which filters can be saved, who sees them, and the addresses that reproduce them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlencode

from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet

from registry_app.actor import Actor
from registry_app.models import ChosenColumns, SavedFilter

_MOST_SHOWN = 100
# The dashboard counts what each finds.
_MOST_PINNED = 20


@dataclass(frozen=True)
class SavableList:
    """A list of the API and of the web admin. `page` is the model of the page's addresses; `plain` are the
    filters with one name in both, `rows` those by other rows, with what the page calls them where the row
    is named in full."""

    page: str
    plain: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)

    @property
    def filters(self) -> tuple[str, ...]:
        """The names of all filters, as the API has them."""
        return (*self.plain, *self.rows)


def _by_name(*names: str) -> Mapping[str, str]:
    return MappingProxyType({name: f"{name}_name" for name in names})


_GUARDED = _by_name("guard_endpoint", "owner", "provider")
LISTS: Mapping[str, SavableList] = MappingProxyType(
    {
        "audit-entries": SavableList("auditentry", ("actor", "action_prefix", "object", "through")),
        "contention": SavableList("contention", ("kind", "name_suffix"), _by_name("owner", "provider")),
        "desired-endpoints": SavableList("desiredendpoint", ("type", "name_suffix"), _GUARDED),
        "findings": SavableList(
            "finding", ("q", "kind", "severity", "state", "name_prefix"), _by_name("provider", "owner")
        ),
        "freezes": SavableList("freeze", (), _by_name("provider", "owner")),
        "guard-change-sets": SavableList("guardstep", ("status",), _by_name("guard_endpoint", "provider")),
        "guard-decisions": SavableList("guarddecision", ("outcome", "rule", "name_suffix"), _GUARDED),
        "guard-endpoints": SavableList("guardendpoint", ("mode",), _by_name("owner", "provider")),
        "hand-overs": SavableList(
            "handover", ("status", "waits_for_my_consent"), _by_name("provider", "from_owner", "to_owner")
        ),
        "held-deletes": SavableList("helddelete", ("status", "rule", "name_suffix"), _GUARDED),
        "held-snapshots": SavableList("heldsnapshot", ("status",), _by_name("provider")),
        "instances": SavableList("instance", ("owner_id_prefix",), _by_name("cluster", "provider")),
        "loop-runs": SavableList(
            "looprun", ("status", "loop"), MappingProxyType({"owner": "loop_name", **_by_name("provider")})
        ),
        "loops": SavableList("loop", (), _by_name("provider")),
        "owners": SavableList("owner", ("q", "owner_id_prefix", "status"), _by_name("cluster")),
        "providers": SavableList("provider", ("status",)),
        "record-sets": SavableList(
            "recordset",
            ("q", "name_prefix", "name_suffix", "type", "state", "missing"),
            _by_name("owner", "provider"),
        ),
        "sync-runs": SavableList("syncrun", ("status",), _by_name("provider")),
        "transfers": SavableList(
            "transfer",
            ("q", "transfer", "status", "kind", "group", "waits_for_my_consent"),
            _by_name("provider", "target_owner"),
        ),
    }
)
LIST_OF_PAGE: Mapping[str, str] = MappingProxyType({each.page: name for name, each in LISTS.items()})


def build_own_query(actor: Actor) -> Q:
    """The saved filters of a person, and those that are shared with their groups."""
    groups = Group.objects.filter(user=actor.user_id).values("pk") if actor.user_id is not None else []
    return Q(user=actor.user_id or 0) | Q(group__in=groups)


def list_saved_filters(actor: Actor, list_name: str) -> QuerySet[SavedFilter]:
    """Those that a list offers to a person."""
    rows = SavedFilter.objects.filter(build_own_query(actor), list_name=list_name)
    return rows.select_related("user")[:_MOST_SHOWN]


def list_pinned(actor: Actor) -> QuerySet[SavedFilter]:
    """Those on the dashboard of a person."""
    return SavedFilter.objects.filter(build_own_query(actor), is_pinned=True)[:_MOST_PINNED]


def list_filters(row: SavedFilter) -> list[tuple[str, str]]:
    """Name and text of its filters, in the order of the list: PostgreSQL keeps none."""
    return [(name, str(row.filters[name])) for name in LISTS[row.list_name].filters if name in row.filters]


def build_page_query(row: SavedFilter) -> str:
    """The query string with which the page of the list shows the same."""
    named = LISTS[row.list_name].rows
    return urlencode([(named.get(name, name), text) for name, text in list_filters(row)])


def build_api_query(row: SavedFilter) -> str:
    """The query string with which the list of the API shows the same."""
    return urlencode(list_filters(row))


def fetch_chosen_columns(actor: Actor, list_name: str) -> list[str]:
    """The columns that a person chose for a list; none: as it is by default."""
    rows = ChosenColumns.objects.filter(user=actor.user_id or 0, list_name=list_name)
    return [str(name) for name in rows.values_list("columns", flat=True).first() or []]
