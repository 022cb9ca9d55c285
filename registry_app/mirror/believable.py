"""Whether an answer shows so little that it proves nothing."""

from providers.wire.errors import WireError
from registry_app.models import Provider

# As in a visit: under 70 % of ten or more known.
_SHRINK_FLOOR = 10
_SHRINK_PERCENT = 70


class UnbelievableAnswer(WireError):
    """The provider shows so little that its answer proves nothing: not that a claim is gone, nor that one
    was never written."""


def raise_if_unbelievable(provider: Provider, count: int) -> None:
    """Raise UnbelievableAnswer where a visit would hold a snapshot of `count` endpoints: look again."""
    known = provider.record_set_count
    is_empty = count == 0 and known > 0 and not provider.allow_empty
    if is_empty or (known >= _SHRINK_FLOOR and count * 100 < known * _SHRINK_PERCENT):
        raise UnbelievableAnswer(f"{count} endpoints are shown where {known} record sets are known")
