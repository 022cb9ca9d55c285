"""A writer beside us, in the middle of our requests."""

from dataclasses import dataclass

import msgspec

from providers.wire.change_set import ChangeSet
from tests.registry_app.transfer.world import World


@dataclass
class Neighbour:
    """Somebody else who writes at the provider, at one name only."""

    world: World
    name: str = "app-0.example.org"
    has_acted: bool = False

    def act(self, what: str) -> None:
        mine = [
            each
            for (name, kind), each in self.world.zone().items()
            if name.endswith(self.name) and (what == "deleted" or kind == "TXT")
        ]
        red = ('"heritage=external-dns,external-dns/owner=red-cluster"',)
        self.has_acted = self.has_acted or bool(mine)
        if what == "deleted":
            self.world.reference.backend.apply(ChangeSet(delete=tuple(mine)))
        else:
            news = tuple(msgspec.structs.replace(each, targets=red) for each in mine)
            self.world.reference.backend.apply(ChangeSet(update_old=tuple(mine), update_new=news))

    def is_about(self, name: str) -> bool:
        """Whether what stands there may be the neighbour's doing."""
        return self.has_acted and name.endswith(self.name)
