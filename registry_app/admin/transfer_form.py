"""The first step of a transfer, and the signed draft that travels between its steps."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec
from django import forms
from django.core import signing
from django.http import QueryDict

from registry_app.admin.fields import LinesField, ThemedForm
from registry_app.errors import InvalidRequest
from registry_app.models import Claim, Owner, OwnershipState, Provider, Transfer
from registry_app.transfer.plan.provider_plan import PlannedItem, ProviderPlan
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest

_SALT: Final = "dnsadmin.transfer"
_MOST_DIGESTS: Final = 2_000
_Value = TypeVar("_Value")
MOST_NAMES = 10_000
_REQUESTABLE = [(kind.value, kind.label) for kind in Transfer.Kind if kind != Transfer.Kind.UNDO]
_CLEANED = (Claim.Verdict.ORPHAN, Claim.Verdict.OBSOLETE, Claim.Verdict.SUPERSEDED, Claim.Verdict.OVERRULED)
_TEXTS_OF_LINKS = (
    "kind",
    "picked",
    "provider",
    "name_suffix",
    "target_owner_id",
    "target_intent",
    "leaves_others",
    "reason",
    "ticket",
)
_NEEDS_TARGET = (Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT)


@dataclass(frozen=True)
class Draft(TransferRequest):
    """A request between two steps. `fingerprints` and `digests` are those of the plans that were shown last;
    `digests` are kept for plans that are not too large, to say afterwards which lines changed."""

    fingerprints: dict[int, str] = field(default_factory=dict)
    digests: tuple[str, ...] = ()

    def seen(self, plans: Sequence[ProviderPlan]) -> "Draft":
        """The same request with the fingerprints and digests of `plans`."""
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
            "The form was incomplete or changed on its way.", todo="Start again from the list of record sets."
        ) from error


class TransferForm(ThemedForm):
    """A request without its confirmation. The preview checks what is allowed."""

    kind = forms.ChoiceField(label="What to do", choices=_REQUESTABLE)
    picked = forms.CharField(required=False, widget=forms.HiddenInput)
    names = LinesField(
        label="Names",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="One per line, in any spelling. Every record set at each name is selected.",
    )
    owner = forms.ModelChoiceField(
        Owner.objects.all(),
        label="Everything of owner",
        required=False,
        empty_label="Any",
        to_field_name="owner_id",
        help_text="Alone: all record sets of this owner. With names or other filters: only those of this "
        "owner.",
    )
    provider = forms.ModelChoiceField(
        Provider.objects.all(), label="Only at provider", required=False, empty_label="Any"
    )
    name_suffix = forms.CharField(
        label="Only at or below", required=False, max_length=253, help_text="For example example.org"
    )
    record_types = LinesField(
        label="Only types", required=False, widget=forms.TextInput, help_text="For example A AAAA CNAME"
    )
    states = forms.MultipleChoiceField(
        label="Only in state",
        required=False,
        choices=OwnershipState.choices,
        widget=forms.CheckboxSelectMultiple,
    )
    claim_verdicts = forms.MultipleChoiceField(
        label="Only claims that are",
        required=False,
        choices=[(verdict.value, verdict.label) for verdict in _CLEANED],
        widget=forms.CheckboxSelectMultiple,
        help_text="For a clean-up.",
    )
    target_owner_id = forms.ModelChoiceField(
        Owner.objects.exclude(status=Owner.Status.DECOMMISSIONED),
        label="New owner",
        required=False,
        empty_label="Choose one",
        to_field_name="owner_id",
        help_text="The owner id that the claims will name.",
    )
    target_intent = forms.ChoiceField(
        label="What the new owner's ExternalDNS wants",
        choices=Transfer.TargetIntent.choices,
        initial=Transfer.TargetIntent.UNKNOWN,
        widget=forms.RadioSelect,
        help_text="dnsadmin cannot see this. At its next sync, an instance with policy sync deletes record "
        "sets that it owns and does not want.",
    )
    leaves_others = forms.BooleanField(
        label="Leave the other types at these names where they are",
        required=False,
        help_text="Otherwise a transfer includes all types of the same owner at each name, because an "
        "instance that owns only some types of a name may delete them and create nothing in their place.",
    )
    reason = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 2}), help_text="It is recorded in the audit trail."
    )
    ticket = forms.CharField(required=False, max_length=200)

    def clean_names(self) -> list[str]:
        names: list[str] = self.cleaned_data["names"]
        if len(names) > MOST_NAMES:
            raise forms.ValidationError(f"At most {MOST_NAMES} names at once; these are {len(names)}.")
        return names

    def clean_picked(self) -> Selection | None:
        text: str = self.cleaned_data["picked"]
        try:
            return read_selection(text) if text else None
        except InvalidRequest as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if (
            values.get("kind") in _NEEDS_TARGET
            and not values.get("target_owner_id")
            and "target_owner_id" not in self.errors
        ):
            self.add_error("target_owner_id", "Choose the new owner.")
        limits = ("picked", "names", "owner", "name_suffix")
        if not self.errors and not any(values.get(name) for name in limits):
            raise forms.ValidationError(
                "Select record sets by name, owner or suffix. The other fields only narrow the selection."
            )
        return values

    def to_draft(self) -> Draft:
        values = self.cleaned_data
        target: Owner | None = values["target_owner_id"]
        return Draft(
            kind=values["kind"],
            selection=values["picked"] or self._selection(),
            target_owner_id=target.owner_id if target and values["kind"] in _NEEDS_TARGET else "",
            target_intent=values["target_intent"],
            whole_names=not values["leaves_others"],
            reason=values["reason"],
            ticket=values["ticket"],
        )

    def _selection(self) -> Selection:
        values = self.cleaned_data
        is_clean_up = values["kind"] == Transfer.Kind.CLEAN_UP
        return Selection(
            names=tuple(values["names"]),
            owner_id=values["owner"].owner_id if values["owner"] else "",
            provider_id=values["provider"].pk if values["provider"] else None,
            name_suffix=values["name_suffix"],
            record_types=tuple(record_type.upper() for record_type in values["record_types"]),
            states=tuple(values["claim_verdicts" if is_clean_up else "states"]),
        )


def build_initial(query: QueryDict) -> dict[str, Any]:
    """The values that a link gives the form. Record lists link owners by row, findings by owner id."""
    initial: dict[str, Any] = {name: query[name] for name in _TEXTS_OF_LINKS if name in query}
    initial["names"] = query.getlist("names")
    # `record_types` and `states` are the names that older links have.
    initial["record_types"] = query.getlist("type") or query.getlist("record_types")
    initial["states"] = query.getlist("state") or query.getlist("states")
    initial["claim_verdicts"] = query.getlist("claim_verdicts")
    if owner := query.get("owner"):
        initial["owner"] = owner
    return initial


def build_initial_from_draft(draft: Draft) -> dict[str, Any]:
    """The form as it was filled in, from a draft."""
    selection = draft.selection
    is_clean_up = draft.kind == Transfer.Kind.CLEAN_UP
    is_picked = bool(selection.record_set_ids or selection.claim_ids)
    return {
        "kind": draft.kind,
        "picked": sign_selection(selection) if is_picked else "",
        "names": list(selection.names),
        "owner": selection.owner_id,
        "provider": selection.provider_id,
        "name_suffix": selection.name_suffix,
        "record_types": list(selection.record_types),
        "states": [] if is_clean_up else list(selection.states),
        "claim_verdicts": list(selection.states) if is_clean_up else [],
        "target_owner_id": draft.target_owner_id,
        "target_intent": draft.target_intent,
        "leaves_others": not draft.whole_names,
        "reason": draft.reason,
        "ticket": draft.ticket,
    }
