"""Create, change and delete a row of configuration: validated, audited, unless somebody was first."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models, transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, RefusedBySafety, StateMoved
from registry_app.models import EncryptedTextField
from registry_app.models.encrypted_field import find_secret_names
from registry_app.queries.access import may_administer

Row = TypeVar("Row", bound=models.Model)


def raise_if_not_administrator(actor: Actor, noun: str) -> None:
    """Raise NotAllowed unless `actor` may change configuration."""
    if not may_administer(actor):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not change {noun}.", todo="Ask an administrator of dnsadmin."
        )


def create_row(actor: Actor, model: type[Row], values: Mapping[str, Any], *, action: str) -> Row:
    """Insert one row and its audit line. Many-to-many fields may be among `values`.

    Raises InvalidRequest, with the fields, if the model's own validation refuses.
    """
    plain, related = _split_values(model, values)
    row = model(**plain)
    with transaction.atomic():
        _validate(row)
        _save(row, force_insert=True)
        for name, objects in related.items():
            getattr(row, name).set(objects)
        record_audit(actor, action, row, after=build_audit_values(row, values))
    return row


def change_row(
    actor: Actor,
    model: type[Row],
    row_id: int,
    changes: Mapping[str, Any],
    *,
    action: str,
    expected_updated_at: datetime | None = None,
    reason: str = "",
) -> Row:
    """Change one row and write its audit line, or nothing if no value differs.

    With `expected_updated_at`, raises StateMoved if the row was changed since it was read.
    """
    plain, related = _split_values(model, changes)
    with transaction.atomic():
        row = fetch_row(model, row_id)
        before = build_audit_values(row, changes)
        take_version(row, expected_updated_at)
        for name, value in plain.items():
            setattr(row, name, value)
        _validate(row)
        _save(row, update_fields=[*plain, "updated_at"])
        for name, objects in related.items():
            getattr(row, name).set(objects)
        after = build_audit_values(row, changes)
        if before != after or _has_secret(model, changes):
            record_audit(actor, action, row, reason=reason, before=before, after=after)
    return row


def delete_row(
    actor: Actor,
    model: type[Row],
    row_id: int,
    *,
    action: str,
    expected_updated_at: datetime | None,
    find_dependents: Callable[[Row], list[str]],
    end: Callable[[Row], object],
) -> None:
    """Let `end` remove one row, after its audit line, in one transaction.

    Raises NotFound, StateMoved, or RefusedBySafety with the reasons while something depends on the row.
    """
    with transaction.atomic():
        row = fetch_row(model, row_id)
        # A change or another deletion at this moment waits for this one, or was first and stops it.
        take_version(row, expected_updated_at)
        if dependents := find_dependents(row):
            raise RefusedBySafety(
                f"{row} cannot be deleted, because it is still used.",
                todo=" ".join(dependents),
                code="in_use",
            )
        entered = [field.name for field in row._meta.concrete_fields if not field.primary_key]
        record_audit(actor, action, row, before=build_audit_values(row, dict.fromkeys(entered)))
        end(row)


def fetch_row(model: type[Row], row_id: int) -> Row:
    """The row, or NotFound with the name of its model."""
    row = model._default_manager.filter(pk=row_id).first()
    if row is None:
        raise NotFound(f"There is no {model._meta.verbose_name} {row_id}.", todo="Look it up in the list.")
    return row


def build_audit_values(row: models.Model, names: Mapping[str, Any]) -> dict[str, Any]:
    """The named fields as JSON, without those that are not entered by people. Of a secret only whether
    it is set."""
    return {name: _audit_value(row, name) for name in names if _is_entered(row, name)}


def _is_entered(row: models.Model, name: str) -> bool:
    field = row._meta.get_field(name)
    return not isinstance(field, models.Field) or field.editable


def _audit_value(row: models.Model, name: str) -> Any:
    field = row._meta.get_field(name)
    if isinstance(field, EncryptedTextField):
        is_set = type(row)._default_manager.filter(pk=row.pk).exclude(**{name: ""}).exists()
        return "set" if is_set else "not set"
    if isinstance(field, models.ManyToManyField):
        return sorted(str(related) for related in getattr(row, name).all())
    if isinstance(field, models.ForeignKey):
        related = getattr(row, name)
        return None if related is None else str(related)
    value = getattr(row, name)
    return value.isoformat() if isinstance(value, datetime) else value


def take_version(row: models.Model, expected: datetime | None) -> None:
    """Move `updated_at` only from the value that was read: of two stale forms one wins.

    Raises StateMoved if it is not `expected` (None: that of `row`) any more.
    """
    manager = type(row)._default_manager
    current = cast("datetime", row.updated_at)  # type: ignore[attr-defined]  # every configuration row has it
    if expected is not None and expected != current:
        raise _moved(row)
    if not manager.filter(pk=row.pk, updated_at=current).update(updated_at=fetch_now()):
        raise _moved(row)


def _moved(row: models.Model) -> StateMoved:
    return StateMoved(
        f"{row} was changed by someone else since you opened it.",
        todo="Open it again, compare, and repeat your change.",
    )


def _split_values(
    model: type[models.Model], values: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    many = {field.name for field in model._meta.many_to_many}
    plain = {name: value for name, value in values.items() if name not in many}
    return plain, {name: value for name, value in values.items() if name in many}


def _has_secret(model: type[models.Model], names: Mapping[str, Any]) -> bool:
    return not names.keys().isdisjoint(find_secret_names(model))


def _validate(row: models.Model) -> None:
    try:
        row.full_clean(exclude=row.get_deferred_fields())
    except ValidationError as error:
        fields: dict[str, list[str]] = {}
        for name, problems in error.error_dict.items():
            for problem in problems:
                field = problem.code or ""  # see build_unique_name
                is_about_field = name == NON_FIELD_ERRORS and hasattr(row, field)
                fields.setdefault(field if is_about_field else name, []).extend(problem.messages)
        raise InvalidRequest(f"{row._meta.verbose_name} is not valid.".capitalize(), fields=fields) from error


def _save(row: models.Model, **options: Any) -> None:
    try:
        with transaction.atomic():
            row.save(**options)
    except IntegrityError as error:
        raise StateMoved(
            f"Another {row._meta.verbose_name} with the same name was stored at the same time.",
            todo="Look at the list and try again.",
        ) from error
