"""Who does something. A required argument of every mutation; the system is an actor too."""

from dataclasses import dataclass, field
from typing import Literal

ActorKind = Literal["user", "token", "command", "system"]


@dataclass(frozen=True)
class Actor:
    """Who acts, through what. `user_id` is the person behind a user or token, None for the system.

    `scopes` bound what a token may do (None: no bound beyond the person's own rights); `owner_ids` and
    `provider_ids` bound where (None: anywhere).
    """

    kind: ActorKind
    name: str
    user_id: int | None = None
    is_superuser: bool = False
    scopes: frozenset[str] | None = None
    owner_ids: frozenset[str] | None = None
    provider_ids: frozenset[int] | None = None
    request_id: str = field(default="", compare=False)

    def has_scope(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes


SYSTEM = Actor(kind="system", name="dnsadmin", is_superuser=True)
