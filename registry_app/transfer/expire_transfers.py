"""End what nobody approved, or what did not begin, in time."""

from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.errors import StateMoved
from registry_app.models import Transfer
from registry_app.transfer.transfer_row import advance

_MOST_AT_ONCE = 500
_WAITING = (Transfer.Status.REQUESTED, Transfer.Status.APPROVED)


def expire_transfers() -> int:
    """Expire every transfer that still waits and whose time is over; the number of them."""
    now = fetch_now()
    expired = 0
    for transfer in Transfer.objects.filter(status__in=_WAITING, expires_at__lte=now)[:_MOST_AT_ONCE]:
        try:
            advance(
                transfer,
                before=_WAITING,
                after=Transfer.Status.EXPIRED,
                actor=SYSTEM,
                status_reason=f"Nothing was sent until {transfer.expires_at:%Y-%m-%d %H:%M} UTC.",
            )
        except StateMoved:
            continue  # its worker, or a person, was first
        expired += 1
    return expired
