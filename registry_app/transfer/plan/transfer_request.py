"""TransferRequest: what somebody asks for, before anything was checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from registry_app.models import Transfer
from registry_app.transfer.plan.selection import Selection

_NO_FINGERPRINTS: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class TransferRequest:
    """A request as it was typed. `fingerprints` are those of the preview the person saw, by provider id;
    empty for a program that asked for no preview. `whole_names`: a transfer takes the other types of the same
    owner at each name (and set identifier) with it, picked or not."""

    kind: str
    selection: Selection
    target_owner_id: str = ""
    target_intent: str = Transfer.TargetIntent.UNKNOWN
    reason: str = ""
    ticket: str = ""
    confirmation: str = ""
    whole_names: bool = True
    fingerprints: Mapping[int, str] = field(default_factory=lambda: _NO_FINGERPRINTS)
