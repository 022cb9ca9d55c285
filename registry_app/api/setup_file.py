"""The configuration of an installation as one document: compared with what is stored, applied, exported.

Each list of the document has bodies of the API, found by what names a row. What a body leaves out stays as it
is, and rows that the document does not have stay too: nothing is deleted. Secrets are references (`env:NAME`,
`file:NAME`), so that the file may be kept where everybody reads it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from django.contrib.auth.models import Group
from django.db import models, transaction
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from registry_app.actor import Actor
from registry_app.api.cluster import ClusterBody
from registry_app.api.fields import NameField, OwnerIdField, ProviderField
from registry_app.api.guard_endpoint import GuardEndpointBody
from registry_app.api.instance import InstanceBody
from registry_app.api.loop import LoopBody
from registry_app.api.owner import OwnerBody
from registry_app.api.problem import flatten_problems
from registry_app.api.provider import ProviderBody
from registry_app.api.registry_profile import RegistryProfileBody
from registry_app.api.request import StrictSerializer
from registry_app.errors import InvalidRequest
from registry_app.inventory.cluster import change_cluster, register_cluster
from registry_app.inventory.grant import add_grant
from registry_app.inventory.group import register_group
from registry_app.inventory.guard_endpoint import (
    change_guard_endpoint,
    change_guard_mode,
    register_guard_endpoint,
)
from registry_app.inventory.instance import change_instance, register_instance
from registry_app.inventory.loop import change_loop, register_loop
from registry_app.inventory.owner import change_owner, register_owner
from registry_app.inventory.provider import change_provider, register_provider
from registry_app.inventory.registry_profile import change_registry_profile, register_registry_profile
from registry_app.inventory.rows import raise_if_not_administrator
from registry_app.models import (
    Cluster,
    Grant,
    GuardEndpoint,
    Instance,
    Loop,
    Owner,
    Provider,
    RegistryProfile,
)
from registry_app.models.encrypted_field import find_secret_names
from registry_app.queries.approval_change import find_pending_change
from registry_app.queries.named_row import read_name

MOST_ITEMS = 20_000
_REFERENCE = re.compile(r"(env|file):\S+").fullmatch
_Values = dict[str, Any]
_Fields = dict[str, list[str]]


@dataclass(frozen=True)
class SetupChange:
    """One row that is registered or changed. `fields` has what each setting was and is; of a secret only that
    it changes."""

    noun: str
    row: str
    is_new: bool
    fields: Mapping[str, tuple[Any, Any]]


class _GroupBody(StrictSerializer):
    name = serializers.CharField(max_length=150)


class _GrantBody(StrictSerializer):
    group = NameField(Group.objects.all())
    action = serializers.ChoiceField(choices=Grant.Action.choices)
    provider = ProviderField(required=False, allow_null=True)
    owner = OwnerIdField(queryset=Owner.objects.all(), required=False, allow_null=True)
    name_suffix = serializers.CharField(required=False, allow_blank=True)


@dataclass(frozen=True)
class _Noun:
    """What one list of the document holds. `key` names the fields that find a row; `left_out` are fields of
    the body that are no setting here, each with why."""

    name: str
    rows: models.QuerySet[Any]
    body: type[serializers.Serializer[Any]]
    key: tuple[str, ...]
    register: Callable[[Actor, _Values], Any]
    change: Callable[[Actor, int, _Values], Any] | None = None
    left_out: Mapping[str, str] | None = None
    # What a row has if nothing is said, where that is not the column's default.
    unsaid: Mapping[str, Any] | None = None


def _change_guard(actor: Actor, row_id: int, values: _Values) -> None:
    mode = values.pop("mode", None)
    if values:
        change_guard_endpoint(actor, row_id, values)
    if mode is not None:
        change_guard_mode(actor, row_id, mode=mode)


def _change_provider(actor: Actor, row_id: int, values: _Values) -> None:
    pending = find_pending_change(row_id)
    if pending is not None and pending.to_policy == values.get("approval_policy"):
        del values["approval_policy"]  # it waits for another administrator
    if values:
        change_provider(actor, row_id, values)


_OF_INSTANCES = "Set it in `instances`."
# In the order in which they refer to each other.
_NOUNS = (
    _Noun("clusters", Cluster.objects.all(), ClusterBody, ("name",), register_cluster, change_cluster),
    _Noun("providers", Provider.objects.all(), ProviderBody, ("name",), register_provider, _change_provider),
    _Noun(
        "registry_profiles",
        RegistryProfile.objects.all(),
        RegistryProfileBody,
        ("name",),
        register_registry_profile,
        change_registry_profile,
    ),
    _Noun("groups", Group.objects.all(), _GroupBody, ("name",), lambda a, v: register_group(a, v["name"])),
    _Noun(
        "owners",
        Owner.objects.exclude(status=Owner.Status.DISCOVERED),
        OwnerBody,
        ("owner_id",),
        register_owner,
        change_owner,
        left_out={
            **dict.fromkeys(("policy", "cluster", "registry_profile"), _OF_INSTANCES),
            "keep_record_sets": "Decommission an owner on its page, or with the API.",
        },
        unsaid={"status": Owner.Status.REGISTERED.value},
    ),
    _Noun(
        "instances",
        Instance.objects.select_related("owner"),
        InstanceBody,
        ("owner", "name"),
        register_instance,
        change_instance,
    ),
    _Noun(
        "guard_endpoints",
        GuardEndpoint.objects.select_related("instance__owner"),
        GuardEndpointBody,
        ("slug",),
        register_guard_endpoint,
        _change_guard,
    ),
    _Noun(
        "loops",
        Loop.objects.select_related("owner", "provider"),
        LoopBody,
        ("owner", "provider"),
        register_loop,
        change_loop,
    ),
    _Noun(
        "grants",
        Grant.objects.select_related("group", "owner", "provider"),
        _GrantBody,
        ("group", "action", "provider", "owner", "name_suffix"),
        add_grant,
    ),
)
SETUP_LISTS = tuple(noun.name for noun in _NOUNS)


def apply_setup(actor: Actor, document: Any, *, dry_run: bool) -> list[SetupChange]:
    """Register and change what differs from the document, all of it or nothing, in one transaction; with
    `dry_run` nothing is kept. The same document applied again changes nothing.

    Raises NotAllowed, InvalidRequest with the places in the document, or what a mutation refuses.
    """
    raise_if_not_administrator(actor, "the setup")
    lists = _read_lists(document)
    changes: list[SetupChange] = []
    with transaction.atomic():
        for noun in _NOUNS:
            for index, item in enumerate(lists.get(noun.name, ())):
                changes += _apply(actor, noun, item, f"{noun.name}.{index}")
        transaction.set_rollback(dry_run)
    return changes


def _read_lists(document: Any) -> Mapping[str, list[_Values]]:
    """Raises InvalidRequest."""
    problems: _Fields = {}
    if not isinstance(document, Mapping):
        raise _refuse({"setup": [f"An object with the lists {', '.join(SETUP_LISTS)}."]})
    for name, items in document.items():
        if name not in SETUP_LISTS:
            problems[str(name)] = [f"There is no such list. There are {', '.join(SETUP_LISTS)}."]
        elif not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
            problems[name] = ["A list of objects."]
    if not problems and sum(map(len, document.values())) > MOST_ITEMS:
        problems["setup"] = [f"At most {MOST_ITEMS} rows together."]
    if problems:
        raise _refuse(problems)
    return document


def _apply(actor: Actor, noun: _Noun, item: _Values, place: str) -> Iterator[SetupChange]:
    item = dict(item)
    _raise_if_not_for_a_file(noun, item, place)
    if noun.name == "guard_endpoints":
        item["instance"] = _find_instance(item.get("instance"), place)
    row = _find_row(noun, item, place)
    values = _read_item(noun, item, row, place)
    try:
        if row is None:
            made = noun.register(actor, values)
            yield SetupChange(
                noun.name, str(made), is_new=True, fields={name: (None, _show(made, name)) for name in values}
            )
        elif noun.change is not None:
            yield from _change(actor, noun, row, values)
    except InvalidRequest as error:
        fields = {f"{place}.{name}": texts for name, texts in error.fields.items()}
        raise _refuse(fields or {place: [error.happened]}) from error


def _change(actor: Actor, noun: _Noun, row: Any, values: _Values) -> Iterator[SetupChange]:
    """What is changed is what differs afterwards: a mutation may bring a value into another form."""
    assert noun.change is not None
    differing = {name: value for name, value in values.items() if not _is_same(row, name, value)}
    if not differing:
        return
    secrets = find_secret_names(type(row))
    before = {name: _show(row, name) for name in differing}
    noun.change(actor, row.pk, dict(differing))
    changed = type(row)._default_manager.get(pk=row.pk)
    fields = {
        name: (before[name], _show(changed, name))
        for name in differing
        if name in secrets or before[name] != _show(changed, name)
    }
    if fields:
        yield SetupChange(noun.name, str(row), is_new=False, fields=fields)


def _raise_if_not_for_a_file(noun: _Noun, item: _Values, place: str) -> None:
    problems: _Fields = {}
    for name, why in (noun.left_out or {}).items():
        if name in item:
            problems[f"{place}.{name}"] = [why]
    for name in find_secret_names(noun.rows.model):
        if item.get(name) and not _REFERENCE(str(item[name])):
            problems[f"{place}.{name}"] = ["A secret in a file is a reference: env:NAME or file:NAME."]
    url = str(item.get("url", ""))
    if "?" in url or "@" in url:
        problems[f"{place}.url"] = ["Without credentials and query: set `username`, `secret`, `url_query`."]
    if problems:
        raise _refuse(problems)


def _find_instance(named: Any, place: str) -> int:
    """The id of the instance that {owner, name} names. Raises InvalidRequest."""
    if isinstance(named, Mapping) and set(named) == {"owner", "name"}:
        rows = Instance.objects.filter(owner__owner_id=str(named["owner"]), name=str(named["name"]))
        if (row := rows.first()) is not None:
            return row.pk
        raise _refuse({f"{place}.instance": ["There is no such instance."]})
    raise _refuse({f"{place}.instance": ["Its owner and name: {owner: blue-cluster, name: blue}."]})


_LOOKUPS = {"owner": "owner__owner_id", "provider": "provider__name", "group": "group__name"}


def _find_row(noun: _Noun, item: _Values, place: str) -> Any | None:
    """The row that an item names; None where there is none yet. Raises InvalidRequest."""
    condition: dict[str, Any] = {}
    for name in noun.key:
        value = item.get(name)
        if value in (None, "") and noun.name == "grants" and name not in ("group", "action"):
            condition |= {name: ""} if name == "name_suffix" else {f"{name}__isnull": True}
        elif not isinstance(value, str | int) or value == "" or "\0" in str(value):
            raise _refuse({f"{place}.{name}": ["This names the row: it is required."]})
        else:
            text = read_name(str(value)) if name == "name_suffix" else str(value)
            condition[_LOOKUPS.get(name, name)] = text
    return noun.rows.filter(**condition).first()


def _read_item(noun: _Noun, item: _Values, row: Any | None, place: str) -> _Values:
    options: dict[str, Any] = {} if row is None else {"instance": row, "partial": True}
    serializer = noun.body(data=item, **options)
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        raise _refuse(flatten_problems(error.detail, place)) from error
    values: _Values = serializer.validated_data
    return values


def _is_same(row: models.Model, name: str, value: Any) -> bool:
    now = getattr(row, name)
    if isinstance(now, models.Manager):
        return set(now.all()) == set(value)
    return bool(now == value)


def _show(row: models.Model, name: str) -> Any:
    """A setting as the document has it; a secret that is no reference as three dots."""
    value = getattr(row, name)
    if name in find_secret_names(type(row)):
        return value if not value or _REFERENCE(value) else "..."
    if isinstance(value, models.Manager):
        return sorted(str(each) for each in value.all())
    if isinstance(value, Instance):
        return {"owner": value.owner.owner_id, "name": value.name}
    # Of a row that was just made, a choice is still a member of its enumeration.
    return str(value) if isinstance(value, models.Model | Enum) else value


def export_setup(actor: Actor) -> tuple[dict[str, list[_Values]], list[str]]:
    """The configuration as a document, without what nobody said, and the secrets that it lacks because they
    are no references: `providers blue-zone secret`. Raises NotAllowed. Database reads."""
    raise_if_not_administrator(actor, "the setup")
    document: dict[str, list[_Values]] = {}
    lacking: list[str] = []
    for noun in _NOUNS:
        describe = partial(_describe, noun, lacking)
        if items := [describe(row) for row in noun.rows.order_by("pk").iterator(chunk_size=1_000)]:
            document[noun.name] = items
    return document, lacking


def _describe(noun: _Noun, lacking: list[str], row: models.Model) -> _Values:
    left_out = {*noun.key, *(noun.left_out or ())}
    named = [*noun.key, *(name for name in noun.body().get_fields() if name not in left_out)]
    item: _Values = {}
    for name in named:
        value = _show(row, name)
        if value == "...":
            lacking.append(f"{noun.name} {row} {name}")
        elif (name in noun.key and noun.name != "grants") or value != _unsaid(noun, name):
            item[name] = value
    return item


def _unsaid(noun: _Noun, name: str) -> Any:
    """What a new row has if the document says nothing."""
    if noun.unsaid and name in noun.unsaid:
        return noun.unsaid[name]
    field = noun.rows.model._meta.get_field(name)
    if isinstance(field, models.ManyToManyField):
        return []
    return field.get_default() if isinstance(field, models.Field) else None


def _refuse(fields: _Fields) -> InvalidRequest:
    return InvalidRequest("The setup cannot be applied.", fields=fields)
