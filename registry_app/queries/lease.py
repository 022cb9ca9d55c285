"""Whether anybody holds a provider's lease."""

from datetime import datetime, timedelta

from django.db.models import Q

# The longest any run asks for at once is far shorter: a lease beyond this is of a clock that was wrong, and
# whoever took it is fenced by its epoch should it still be there.
_LONGEST_LEASE = timedelta(days=1)


def build_free_query(now: datetime, prefix: str = "") -> Q:
    """Matches providers whose lease is to be had; `prefix` is the way to the provider, as `provider__`."""
    until = f"{prefix}lease_until"
    return (
        Q(**{f"{until}__isnull": True})
        | Q(**{f"{until}__lt": now})
        | Q(**{f"{until}__gt": now + _LONGEST_LEASE})
    )
