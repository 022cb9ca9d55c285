"""Who does something. A required argument of every mutation; the system is an actor too."""

from dataclasses import dataclass, field
from typing import Literal

ActorKind = Literal["user", "token", "command", "system"]


@dataclass(frozen=True)
class Actor:
    """Who acts, through what. `user_id` is the person behind a user or token, None for the system.

    `issuer_id` is who issued the token, None where there is none or it is not known.

    `scopes` bound what a token may do (None: no bound beyond the person's own rights); `owner_ids` and
    `provider_ids` bound where (None: anywhere).
    """

    kind: ActorKind
    name: str
    user_id: int | None = None
    issuer_id: int | None = None
    is_superuser: bool = False
    scopes: frozenset[str] | None = None
    owner_ids: frozenset[str] | None = None
    provider_ids: frozenset[int] | None = None
    request_id: str = field(default="", compare=False)

    @property
    def answerer_id(self) -> int | None:
        """Who issued the token that is used; without a token, the person. None: it is not known."""
        return self.issuer_id if self.kind == "token" else self.user_id

    @property
    def people(self) -> frozenset[int]:
        """Who answers for what this actor does. Empty: it is not known, so nobody can say that somebody else
        did."""
        if self.user_id is None or self.answerer_id is None:
            return frozenset()
        return frozenset({self.user_id, self.answerer_id})

    def has_scope(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes


SYSTEM = Actor(kind="system", name="dnsadmin", is_superuser=True)
