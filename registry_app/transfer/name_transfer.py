"""A transfer's name in a sentence."""

from registry_app.models import Transfer


def name_transfer(transfer: Transfer) -> str:
    """The number that people see, and the id that programs use: `transfer #12 (c0a2…)`."""
    return f"transfer #{transfer.pk} ({transfer.public_id})"
