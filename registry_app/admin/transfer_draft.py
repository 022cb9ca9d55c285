"""What travels between the steps of the transfer form: signed, so that the server keeps nothing."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec
from django.core import signing

from registry_app.errors import InvalidRequest
from registry_app.transfer.plan.provider_plan import PlannedItem, ProviderPlan
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest

_SALT: Final = "dnsadmin.transfer"
_MOST_DIGESTS: Final = 2_000
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Draft:
    """A request on its way. `fingerprints` and `digests` are of the plans its author was shown last;
    `digests` are kept for plans that are not too large, to say afterwards which lines changed."""

    kind: str
    selection: Selection = field(default_factory=Selection)
    target_owner_id: str = ""
    target_intent: str = "unknown"
    whole_names: bool = True
    reason: str = ""
    ticket: str = ""
    fingerprints: dict[int, str] = field(default_factory=dict)
    digests: tuple[str, ...] = ()

    def to_request(self, confirmation: str = "") -> TransferRequest:
        return TransferRequest(
            kind=self.kind,
            selection=self.selection,
            target_owner_id=self.target_owner_id,
            target_intent=self.target_intent,
            whole_names=self.whole_names,
            reason=self.reason,
            ticket=self.ticket,
            confirmation=confirmation,
            fingerprints=self.fingerprints,
        )

    def seen(self, plans: Sequence[ProviderPlan]) -> "Draft":
        """The same request, by somebody who has now seen `plans`."""
        items = [item for plan in plans for item in plan.items]
        digests = tuple(compute_item_digest(item) for item in items) if len(items) <= _MOST_DIGESTS else ()
        fingerprints = {plan.provider.pk: plan.fingerprint for plan in plans}
        return replace(self, fingerprints=fingerprints, digests=digests)


def compute_item_digest(item: PlannedItem) -> str:
    """A short digest of one line of a preview, to tell afterwards whether it is still the same."""
    seen = (item.name, item.record_type, item.set_identifier, item.before, item.after, item.verdict)
    return hashlib.blake2b(repr(seen).encode(errors="replace"), digest_size=6).hexdigest()


def sign_draft(draft: Draft) -> str:
    return _sign(draft)


def read_draft(text: str) -> Draft:
    """Raises InvalidRequest if this is not a draft we signed."""
    return _read(text, Draft)


def sign_selection(selection: Selection) -> str:
    return _sign(selection)


def read_selection(text: str) -> Selection:
    """Raises InvalidRequest if this is not a selection we signed."""
    return _read(text, Selection)


def _sign(value: Any) -> str:
    builtins = msgspec.to_builtins(value, str_keys=True)
    return signing.Signer(salt=f"{_SALT}.{type(value).__name__}").sign_object(builtins, compress=True)


def _read(text: str, kind: type[_Value]) -> _Value:
    try:
        stored = signing.Signer(salt=f"{_SALT}.{kind.__name__}").unsign_object(text)
        return msgspec.convert(stored, kind, str_keys=True)
    except (signing.BadSignature, msgspec.ValidationError, ValueError) as error:
        raise InvalidRequest(
            "The form was incomplete or changed on its way.",
            todo="Start again from the list of record sets.",
        ) from error
