"""Every operation of the API, and who may. One that is not here fails the test that collects them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from registry_app.models import Provider
from tests.registry_app.rights.callers import WHOLE, Caller
from tests.registry_app.rights.objects import Side, clear_hand_overs, enforce_both

Rule = Callable[[Caller, Side], bool]


@dataclass(frozen=True)
class Operation:
    """Who may, on what (the parts of its address), and with which body. What is not `written` only reads."""

    rule: Rule
    place: Callable[[Side], Mapping[str, Any]] = field(default=lambda _: {})
    body: Callable[[Side], Mapping[str, Any]] = field(default=lambda _: {})
    is_written: bool = True
    needs_version_of: str = ""
    may_conflict: bool = False  # allowed, and in the way of something open: 409
    before: Callable[[Side], object] = field(default=lambda _: None)  # what is so while it is asked

    @property
    def action(self) -> str:
        """What the grants that decide it are for; empty where none does."""
        return action_of(self.rule)


def action_of(rule: Rule) -> str:
    """What the grants that decide it are for; empty where none does."""
    return _ACTIONS.get(rule.__name__, "")


def reads(caller: Caller, _: Side) -> bool:
    return caller.may_read()


def is_anybody(_caller: Caller, _side: Side) -> bool:
    return True


def administers(caller: Caller, _: Side) -> bool:
    return caller.may_administer()


def administers_and_reads(caller: Caller, _: Side) -> bool:
    return caller.may_administer() and caller.may_read()


def may_have_settings(caller: Caller, _: Side) -> bool:
    return caller.is_known and "plan" in caller.scopes


def deletes_of_anybody(caller: Caller, side: Side) -> bool:
    return administers_and_reads(caller, side) and "plan" in caller.scopes


def may_never(_caller: Caller, _side: Side) -> bool:
    return False


def operates_all(caller: Caller, side: Side) -> bool:
    return caller.covers("operate", side.key, None, WHOLE)


def operates_everywhere(caller: Caller, _: Side) -> bool:
    return caller.covers("operate", "any", None, WHOLE)


def operates_its_name(caller: Caller, side: Side) -> bool:
    return caller.covers("operate", side.key, side.owner.owner_id, [side.name])


def operates_its_guarded_name(caller: Caller, side: Side) -> bool:
    return caller.covers("operate", side.key, side.guard.instance.owner.owner_id, [side.name])


def on_both_sides(action: str, *scopes: str) -> Rule:
    def rule(caller: Caller, side: Side) -> bool:
        owners = (side.owner.owner_id, side.target.owner_id)
        return set(scopes) <= caller.scopes and all(
            caller.covers(action, side.key, owner, [side.name]) for owner in owners
        )

    rule.__name__ = action
    return rule


def for_giver(action: str) -> Rule:
    def rule(caller: Caller, side: Side) -> bool:
        return caller.covers(action, side.key, side.owner.owner_id, [side.name])

    rule.__name__ = action
    return rule


def for_taker(action: str) -> Rule:
    def rule(caller: Caller, side: Side) -> bool:
        return caller.covers(action, side.key, side.target.owner_id, [side.name])

    rule.__name__ = action
    return rule


def on_one_side(action: str) -> Rule:
    """Where both sides must agree, a grant over one of them is enough."""

    def rule(caller: Caller, side: Side) -> bool:
        return for_giver(action)(caller, side) or for_taker(action)(caller, side)

    rule.__name__ = action
    return rule


def steers_one_side(*scopes: str) -> Rule:
    """Requests on one side, or operates on both."""

    def rule(caller: Caller, side: Side) -> bool:
        may = on_one_side("request")(caller, side) and set(scopes) <= caller.scopes
        return may or on_both_sides("operate", *scopes)(caller, side)

    rule.__name__ = "request"
    return rule


def consent_to_transfer(for_side: str) -> Callable[[Side], Mapping[str, Any]]:
    return lambda side: {
        "fingerprint": side.transfers["requested"].plan_fingerprint,
        "side": for_side,
    }


def consent_to_hand_over(for_side: str) -> Callable[[Side], Mapping[str, Any]]:
    return lambda side: {"fingerprint": side.hand_overs["requested"].fingerprint, "side": for_side}


def must_agree(side: Side) -> object:
    """Both sides of what moves at its provider."""
    return Provider.objects.filter(pk=side.provider.pk).update(
        approval_policy=Provider.ApprovalPolicy.BOTH_SIDES
    )


def must_agree_to_a_hand_over(side: Side) -> None:
    enforce_both(side)
    must_agree(side)


def must_agree_to_a_new_hand_over(side: Side) -> None:
    clear_hand_overs(side)
    must_agree(side)


def steers(*scopes: str) -> Rule:
    """Requests or operates on both sides."""

    def rule(caller: Caller, side: Side) -> bool:
        return any(on_both_sides(action, *scopes)(caller, side) for action in ("request", "operate"))

    rule.__name__ = "request"
    return rule


def requests_its_name(caller: Caller, side: Side) -> bool:
    return caller.covers("request", side.key, side.owner.owner_id, [side.name])


def runs_its_name(caller: Caller, side: Side) -> bool:
    return "apply" in caller.scopes and requests_its_name(caller, side)


def previews(caller: Caller, _: Side) -> bool:
    return caller.is_known and "plan" in caller.scopes


def of(name: str, attribute: str = "pk") -> Callable[[Side], Mapping[str, Any]]:
    """The address of one of a side's objects."""
    return lambda side: {attribute: getattr(getattr(side, name), attribute)}


def is_restored(side: Side) -> object:
    """Its provider waits after a restore, and gave a snapshot since."""
    now = timezone.now()
    return Provider.objects.filter(pk=side.provider.pk).update(
        restored_at=now - timedelta(1), accepted_at=now
    )


def are_all_restored(_: Side) -> object:
    now = timezone.now()
    return Provider.objects.update(restored_at=now - timedelta(1), accepted_at=now)


def of_transfer(status: str) -> Callable[[Side], Mapping[str, Any]]:
    return lambda side: {"public_id": side.transfers[status].public_id}


def of_hand_over(status: str) -> Callable[[Side], Mapping[str, Any]]:
    return lambda side: {"public_id": side.hand_overs[status].public_id}


def hand_over_of(side: Side) -> dict[str, Any]:
    return {
        "provider": side.key,
        "from_owner": side.owner.owner_id,
        "to_owner": side.target.owner_id,
        "names": [side.name],
        "ends_at": (timezone.now() + timedelta(days=1)).isoformat(),
        "reason": "It moves.",
    }


def endpoint_of(side: Side) -> dict[str, Any]:
    return {"name": side.name, "record_type": "A", "targets": ["192.0.2.77"]}


def transfer_of(side: Side) -> dict[str, Any]:
    return {
        "kind": "transfer",
        "selection": {"record_set_ids": [side.fresh.pk]},
        "target_owner": side.target.owner_id,
        "target_intent": "same",
        "reason": "It moves.",
    }


def _reason(_: Side) -> dict[str, Any]:
    return {"reason": "It must be."}


_ACTIONS = {
    "operates_all": "operate",
    "operates_everywhere": "operate",
    "operates_its_name": "operate",
    "operates_its_guarded_name": "operate",
    "requests_its_name": "request",
    "runs_its_name": "request",
    **{action: action for action in ("request", "approve", "operate")},
}
_BY_PUBLIC_ID = ("transfers", "loop-runs", "hand-overs")
_KIND_OF_ID = {"owners": "owner", "providers": "provider"}
_PLACE_OF_NOUN: dict[str, Callable[[Side], Mapping[str, Any]]] = {
    "record-sets": of("record"),
    "owners": of("owner"),
    "instances": of("instance"),
    "clusters": of("cluster"),
    "registry-profiles": of("profile"),
    "providers": of("provider"),
    "held-snapshots": of("held"),
    "findings": of("name_finding"),
    "freezes": of("freeze"),
    "loops": of("loop"),
    "guard-endpoints": of("guard"),
    "desired-endpoints": of("desired"),
    "guard-decisions": of("decision"),
    "guard-change-sets": of("guard_step"),
    "held-deletes": of("held_delete"),
    "contention": of("contention"),
    "sync-runs": of("sync_run"),
    "grants": of("grant"),
    "loop-runs": of("run", "public_id"),
    "transfers": of_transfer("verified"),
    "hand-overs": of_hand_over("running"),
}

# A row of these is not everybody's.
_OF_PEOPLE = ("audit-entries", "tokens", "saved-filters")
_NESTED: dict[str, Callable[[Side], Mapping[str, Any]]] = {
    "record-sets/<int:pk>/events/": of("record"),
    "transfers/<transfer:public_id>/items/": of_transfer("verified"),
    "transfers/<transfer:public_id>/steps/": of_transfer("verified"),
    "hand-overs/<transfer:public_id>/items/": of_hand_over("running"),
    "loops/<int:pk>/endpoints/": of("loop"),
}

READ: dict[tuple[str, str], Operation] = {
    **{("get", f"{noun}/"): Operation(reads, is_written=False) for noun in _PLACE_OF_NOUN},
    # What is taken away is noted.
    **{("get", f"{noun}/export/"): Operation(reads) for noun in (*_PLACE_OF_NOUN, *_OF_PEOPLE)},
    **{
        ("get", f"{noun}/<{_KIND_OF_ID.get(noun, 'int')}:pk>/"): Operation(reads, place, is_written=False)
        for noun, place in _PLACE_OF_NOUN.items()
        if noun not in _BY_PUBLIC_ID
    },
    ("get", "transfers/<transfer:public_id>/"): Operation(
        reads, _PLACE_OF_NOUN["transfers"], is_written=False
    ),
    ("get", "hand-overs/<transfer:public_id>/"): Operation(reads, of_hand_over("running"), is_written=False),
    **{("get", route): Operation(reads, place, is_written=False) for route, place in _NESTED.items()},
    **{("get", f"{route}export/"): Operation(reads, place) for route, place in _NESTED.items()},
    ("get", "loop-runs/<uuid:public_id>/"): Operation(reads, of("run", "public_id"), is_written=False),
    ("get", "providers/<provider:pk>/zone-file/"): Operation(reads, of("provider")),
    ("get", "providers/<provider:pk>/history/record-sets/"): Operation(
        reads, of("provider"), is_written=False
    ),
    ("get", "providers/<provider:pk>/history/differences/"): Operation(
        reads, of("provider"), is_written=False
    ),
    ("get", "audit-entries/"): Operation(reads, is_written=False),
    ("get", "audit-entries/<int:sequence>/"): Operation(reads, lambda _: {"sequence": 1}, is_written=False),
    ("get", "tokens/"): Operation(reads, is_written=False),
    ("get", "saved-filters/"): Operation(reads, is_written=False),
    ("get", "saved-filters/<int:pk>/"): Operation(
        administers_and_reads, of("saved_filter"), is_written=False
    ),
    ("get", "tokens/<int:pk>/"): Operation(may_never, of("token"), is_written=False),  # somebody else's
    ("get", "schema/"): Operation(is_anybody, is_written=False),  # what the API is, and nothing in it
    ("get", "docs/"): Operation(is_anybody, is_written=False),
}

ACTS: dict[tuple[str, str], Operation] = {
    ("post", "owners/"): Operation(administers, body=lambda side: {"owner_id": f"new of {side.key}"}),
    ("patch", "owners/<owner:pk>/"): Operation(
        administers, of("owner"), lambda _: {"policy": "upsert-only"}, needs_version_of="owners"
    ),
    ("post", "instances/"): Operation(
        administers, body=lambda side: {"owner": side.owner.owner_id, "name": f"new of {side.key}"}
    ),
    ("patch", "instances/<int:pk>/"): Operation(
        administers, of("instance"), lambda _: {"policy": "upsert-only"}, needs_version_of="instances"
    ),
    ("post", "clusters/"): Operation(administers, body=lambda side: {"name": f"new of {side.key}"}),
    ("patch", "clusters/<int:pk>/"): Operation(
        administers, of("cluster"), lambda _: {"name": "renamed"}, needs_version_of="clusters"
    ),
    ("post", "clusters/<int:pk>/connection-tests/"): Operation(administers, of("cluster"), is_written=False),
    ("post", "registry-profiles/"): Operation(
        administers, body=lambda side: {"name": f"new of {side.key}", "kind": "txt"}
    ),
    ("patch", "registry-profiles/<int:pk>/"): Operation(
        administers, of("profile"), lambda _: {"name": "renamed"}, needs_version_of="registry-profiles"
    ),
    ("post", "registry-profiles/<int:pk>/connection-tests/"): Operation(
        operates_all, of("profile"), is_written=False
    ),
    ("post", "providers/"): Operation(
        administers, body=lambda side: {"name": f"new of {side.key}", "url": "http://127.0.0.1:2"}
    ),
    ("patch", "providers/<provider:pk>/"): Operation(
        administers, of("provider"), lambda _: {"description": "ours"}, needs_version_of="providers"
    ),
    ("post", "providers/<provider:pk>/syncs/"): Operation(operates_all, of("provider")),
    ("post", "providers/<provider:pk>/visits/"): Operation(operates_all, of("provider")),
    ("post", "providers/<provider:pk>/connection-tests/"): Operation(
        operates_all, of("provider"), is_written=False
    ),
    ("post", "providers/<provider:pk>/accept-restored/"): Operation(
        operates_all, of("provider"), _reason, before=is_restored
    ),
    ("post", "providers/accept-all-restored/"): Operation(operates_all, body=_reason, before=is_restored),
    ("post", "providers/<provider:pk>/approval-change/confirm/"): Operation(administers, of("provider")),
    ("post", "providers/<provider:pk>/approval-change/cancel/"): Operation(administers, of("provider")),
    ("post", "held-snapshots/<int:pk>/accept/"): Operation(operates_all, of("held"), _reason),
    ("post", "held-snapshots/<int:pk>/reject/"): Operation(operates_all, of("held"), _reason),
    ("post", "findings/<int:pk>/acknowledge/"): Operation(operates_its_name, of("name_finding")),
    ("post", "transfers/"): Operation(on_both_sides("request"), body=transfer_of),
    ("post", "transfers/preview/"): Operation(previews, body=transfer_of, is_written=False),
    ("post", "transfers/<transfer:public_id>/approve/"): Operation(
        on_both_sides("approve"),
        of_transfer("requested"),
        lambda side: {"fingerprint": side.transfers["requested"].plan_fingerprint},
    ),
    ("post", "transfers/<transfer:public_id>/reject/"): Operation(
        on_both_sides("approve"), of_transfer("requested"), _reason
    ),
    ("post", "transfers/<transfer:public_id>/cancel/"): Operation(
        on_both_sides("request"), of_transfer("requested"), _reason
    ),
    ("post", "transfers/<transfer:public_id>/undo/"): Operation(
        on_both_sides("request"),
        of_transfer("verified"),
        lambda _: {"reason": "It was wrong.", "confirmation": "undo 1 record set"},
    ),
    ("post", "transfers/<transfer:public_id>/decide/"): Operation(
        on_both_sides("operate", "apply"),
        of_transfer("needs_operator"),
        lambda _: {"decision": "keep_as_is", "reason": "It stays."},
    ),
    ("post", "hand-overs/"): Operation(on_both_sides("request"), body=hand_over_of, before=clear_hand_overs),
    ("post", "hand-overs/preview/"): Operation(
        on_both_sides("request"), body=hand_over_of, before=clear_hand_overs, is_written=False
    ),
    ("post", "hand-overs/<transfer:public_id>/approve/"): Operation(
        on_both_sides("approve"),
        of_hand_over("requested"),
        lambda side: {"fingerprint": side.hand_overs["requested"].fingerprint},
        before=enforce_both,
    ),
    ("post", "hand-overs/<transfer:public_id>/reject/"): Operation(
        on_both_sides("approve"), of_hand_over("requested"), _reason
    ),
    ("post", "hand-overs/<transfer:public_id>/cancel/"): Operation(
        steers("plan"), of_hand_over("running"), _reason
    ),
    ("post", "hand-overs/<transfer:public_id>/pause/"): Operation(
        steers("plan"), of_hand_over("running"), _reason
    ),
    ("post", "hand-overs/<transfer:public_id>/resume/"): Operation(
        steers("apply"), of_hand_over("paused"), _reason
    ),
    ("post", "hand-overs/<transfer:public_id>/next-wave/"): Operation(
        steers("apply"), of_hand_over("running"), _reason
    ),
    ("post", "loops/"): Operation(
        administers, body=lambda side: {"owner": side.target.owner_id, "provider": side.key}
    ),
    ("patch", "loops/<int:pk>/"): Operation(
        administers, of("loop"), lambda _: {"interval_seconds": 300}, needs_version_of="loops"
    ),
    ("put", "loops/<int:pk>/endpoints/"): Operation(
        runs_its_name,
        of("loop"),
        lambda side: {"endpoints": [endpoint_of(side)]},
        needs_version_of="endpoints",
    ),
    ("post", "loops/<int:pk>/endpoints/"): Operation(runs_its_name, of("loop"), endpoint_of),
    ("delete", "loops/<int:pk>/endpoints/<int:endpoint_pk>/"): Operation(
        runs_its_name,
        lambda side: {"pk": side.loop.pk, "endpoint_pk": side.loop.endpoints.get().pk},
    ),
    ("post", "loops/<int:pk>/plan/"): Operation(requests_its_name, of("loop"), is_written=False),
    ("post", "loops/<int:pk>/run/"): Operation(runs_its_name, of("loop")),
    ("post", "guard-endpoints/"): Operation(
        administers,
        body=lambda side: {
            "slug": f"new-of-{side.key}",
            "provider": side.key,
            "instance": side.spare_instance.pk,
        },
    ),
    ("patch", "guard-endpoints/<int:pk>/"): Operation(
        administers, of("guard"), lambda _: {"deadline_seconds": 20}, needs_version_of="guard-endpoints"
    ),
    ("post", "guard-endpoints/<int:pk>/mode/"): Operation(
        administers, of("guard"), lambda _: {"mode": "paused"}
    ),
    ("post", "guard-endpoints/<int:pk>/credential/"): Operation(administers, of("guard")),
    ("delete", "guard-endpoints/<int:pk>/credential/"): Operation(administers, of("guard")),
    **{
        ("post", f"held-deletes/{act}/"): Operation(
            operates_its_guarded_name, body=lambda side: {"ids": [side.held_delete.pk]}
        )
        for act in ("release", "keep")
    },
    ("post", "freezes/"): Operation(
        operates_all, body=lambda side: {"provider": side.provider.pk, "reason": "Change stop."}
    ),
    **{
        ("delete", f"{noun}/<{_KIND_OF_ID.get(noun, 'int')}:pk>/"): Operation(
            administers, _PLACE_OF_NOUN[noun], needs_version_of="any", may_conflict=True
        )
        for noun in (
            "owners",
            "instances",
            "clusters",
            "registry-profiles",
            "providers",
            "loops",
            "guard-endpoints",
        )
    },
    ("delete", "freezes/<int:pk>/"): Operation(operates_all, of("freeze")),
    ("post", "transfers/<transfer:public_id>/undo/preview/"): Operation(
        previews, of_transfer("verified"), is_written=False
    ),
    ("post", "freezes/<int:pk>/lift/"): Operation(operates_all, of("freeze"), _reason),
    ("post", "tokens/"): Operation(may_never, body=lambda _: {"name": "another", "scopes": ["read"]}),
    ("delete", "tokens/<int:pk>/"): Operation(administers, of("token")),
    ("post", "saved-filters/"): Operation(
        may_have_settings,
        body=lambda _: {"name": "conflicts", "list": "record-sets", "filters": {"state": "conflict"}},
    ),
    ("patch", "saved-filters/<int:pk>/"): Operation(
        may_never, of("saved_filter"), lambda _: {"name": "other"}, needs_version_of="saved-filters"
    ),
    ("delete", "saved-filters/<int:pk>/"): Operation(
        deletes_of_anybody, of("saved_filter"), needs_version_of="saved-filters"
    ),
}

# The same operations on what concerns more than one name, provider or person.
MORE_ACTS: dict[tuple[str, str, str], Operation] = {
    ("post", "findings/<int:pk>/acknowledge/", "of a whole provider"): Operation(
        operates_all, of("wide_finding")
    ),
    ("post", "providers/accept-all-restored/", "where several wait"): Operation(
        operates_everywhere, body=_reason, before=are_all_restored
    ),
    **{
        ("post", f"held-deletes/{act}/", "of a whole guard endpoint"): Operation(
            operates_its_guarded_name, body=lambda side: {"guard_endpoint": side.guard.slug}
        )
        for act in ("release", "keep")
    },
    ("post", "freezes/", "of all providers"): Operation(administers, body=_reason),
    ("put", "loops/<int:pk>/endpoints/", "emptied"): Operation(
        runs_its_name, of("loop"), lambda _: {"endpoints": []}, needs_version_of="endpoints"
    ),
    ("post", "transfers/<transfer:public_id>/decide/", "looked at again"): Operation(
        on_both_sides("operate", "apply"),
        of_transfer("needs_operator"),
        lambda _: {"decision": "look_again", "reason": "It may show by now."},
    ),
    **{
        ("post", "transfers/<transfer:public_id>/approve/", f"for the {each}"): Operation(
            rule,
            of_transfer("requested"),
            consent_to_transfer(each),
            before=must_agree,
        )
        for each, rule in (("giver", for_giver("approve")), ("taker", for_taker("approve")))
    },
    **{
        ("post", "hand-overs/<transfer:public_id>/approve/", f"for the {each}"): Operation(
            rule,
            of_hand_over("requested"),
            consent_to_hand_over(each),
            before=must_agree_to_a_hand_over,
        )
        for each, rule in (("giver", for_giver("approve")), ("taker", for_taker("approve")))
    },
    ("post", "transfers/", "where both sides agree"): Operation(
        on_one_side("request"), body=transfer_of, before=must_agree
    ),
    ("post", "transfers/<transfer:public_id>/reject/", "where both sides agree"): Operation(
        on_one_side("approve"), of_transfer("requested"), _reason, before=must_agree
    ),
    ("post", "transfers/<transfer:public_id>/cancel/", "where both sides agree"): Operation(
        on_one_side("request"), of_transfer("requested"), _reason, before=must_agree
    ),
    ("post", "transfers/<transfer:public_id>/undo/", "where both sides agree"): Operation(
        on_one_side("request"),
        of_transfer("verified"),
        lambda _: {"reason": "It was wrong.", "confirmation": "undo 1 record set"},
        before=must_agree,
    ),
    ("post", "transfers/<transfer:public_id>/decide/", "where both sides agree"): Operation(
        on_both_sides("operate", "apply"),
        of_transfer("needs_operator"),
        lambda _: {"decision": "keep_as_is", "reason": "It stays."},
        before=must_agree,
    ),
    ("post", "hand-overs/", "where both sides agree"): Operation(
        on_one_side("request"), body=hand_over_of, before=must_agree_to_a_new_hand_over
    ),
    ("post", "hand-overs/<transfer:public_id>/reject/", "where both sides agree"): Operation(
        on_one_side("approve"), of_hand_over("requested"), _reason, before=must_agree
    ),
    **{
        ("post", f"hand-overs/<transfer:public_id>/{act}/", "where both sides agree"): Operation(
            steers_one_side("plan"), of_hand_over("running"), _reason, before=must_agree
        )
        for act in ("cancel", "pause")
    },
    ("post", "hand-overs/<transfer:public_id>/resume/", "where both sides agree"): Operation(
        steers_one_side("apply"), of_hand_over("paused"), _reason, before=must_agree
    ),
}
