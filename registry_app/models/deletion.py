"""Rows that history names: deleting one marks it, and leaves it out of everything but that history."""

from typing import TypeVar

from django.db import models

from registry_app.models.encrypted_field import SecretsLeftBehind

Row = TypeVar("Row", bound=models.Model)


class NotDeleted(SecretsLeftBehind[Row]):
    """The rows that still exist for people and programs. As SecretsLeftBehind, it loads no secrets.

    A model with this manager keeps a second one, `with_deleted`, as its base manager: finished transfers,
    runs and audit entries reach their rows through foreign keys, which Django reads with the base manager.
    """

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(deleted_at=None)


def build_unique_name(field: str, name: str, noun: str) -> models.UniqueConstraint:
    """No two rows that exist share `field`; a deleted one gives its name free.

    The code of its error is the field: Django itself does not say which field a condition is about.
    """
    return models.UniqueConstraint(
        fields=[field],
        condition=models.Q(deleted_at=None),
        name=name,
        violation_error_code=field,
        violation_error_message=f"{noun} with this {field.replace('_', ' ')} already exists.",
    )
