"""What a provider is asked to do in one request."""

import msgspec

from providers.wire.endpoint import Endpoint


class ChangeSet(
    msgspec.Struct, frozen=True, gc=False, rename={"update_old": "updateOld", "update_new": "updateNew"}
):
    """ExternalDNS's Changes. `update_old[i]` and `update_new[i]` are written in pairs of one identity;
    a reader pairs them by identity, never by position."""

    create: tuple[Endpoint, ...] = ()
    update_old: tuple[Endpoint, ...] = ()
    update_new: tuple[Endpoint, ...] = ()
    delete: tuple[Endpoint, ...] = ()

    def is_empty(self) -> bool:
        return not (self.create or self.update_old or self.update_new or self.delete)
