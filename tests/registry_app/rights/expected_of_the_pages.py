"""Every address of the web admin, and who may. One that is not here fails the test that collects them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from registry_app.admin.hand_over_form import sign_draft as sign_hand_over
from registry_app.admin.transfer_form import Draft, sign_draft
from registry_app.models import Owner
from registry_app.transfer.plan.transfer_request import Selection
from tests.registry_app.rights.callers import Caller
from tests.registry_app.rights.expected_of_the_api import (
    Rule,
    action_of,
    administers,
    are_all_restored,
    consent_to_hand_over,
    consent_to_transfer,
    endpoint_of,
    for_giver,
    for_taker,
    is_restored,
    may_never,
    must_agree,
    must_agree_to_a_hand_over,
    of,
    on_both_sides,
    on_one_side,
    operates_all,
    operates_everywhere,
    operates_its_guarded_name,
    operates_its_name,
    requests_its_name,
    runs_its_name,
    steers,
)
from tests.registry_app.rights.objects import Side, clear_hand_overs, enforce_both

Place = Callable[[Side], Mapping[str, Any]]


@dataclass(frozen=True)
class Page:
    """What a page shows, and to which callers."""

    rule: Rule
    place: Place = field(default=lambda _: {})


@dataclass(frozen=True)
class Button:
    """What a post to an address does, and who may. What is not `written` only reads."""

    rule: Rule
    place: Place = field(default=lambda _: {})
    form: Callable[[Side], Mapping[str, Any]] = field(default=lambda _: {})
    is_written: bool = True
    may_conflict: bool = False  # allowed, and in the way of something open
    before: Callable[[Side], object] = field(default=lambda _: None)  # what is so while it is asked
    is_edit: bool = False  # sent with all that its form shows an administrator

    @property
    def action(self) -> str:
        return action_of(self.rule)


def is_staff(caller: Caller, _: Side) -> bool:
    return caller.is_staff


def is_not_signed_in(caller: Caller, _: Side) -> bool:
    return not caller.is_staff


def acts_somewhere(action: str) -> Rule:
    def rule(caller: Caller, _: Side) -> bool:
        granted = {reach.action for reach in caller.reaches}
        return caller.is_staff and (caller.is_administrator or action in granted)

    return rule


def by_object(name: str) -> Place:
    return lambda side: {"object_id": getattr(side, name).pk}


def of_transfer(status: str, **more: str) -> Place:
    return lambda side: {"pk": side.transfers[status].pk, **more}


_NOUNS: dict[str, Place] = {
    "cluster": by_object("cluster"),
    "contention": by_object("contention"),
    "desiredendpoint": by_object("desired"),
    "guarddecision": by_object("decision"),
    "guardstep": by_object("guard_step"),
    "helddelete": by_object("held_delete"),
    "finding": by_object("name_finding"),
    "freeze": by_object("freeze"),
    "guardendpoint": by_object("guard"),
    "heldsnapshot": by_object("held"),
    "instance": by_object("instance"),
    "loop": by_object("loop"),
    "looprun": by_object("run"),
    "owner": by_object("owner"),
    "provider": by_object("provider"),
    "recordset": by_object("record"),
    "registryprofile": by_object("profile"),
    "syncrun": by_object("sync_run"),
    "transfer": lambda side: {"object_id": side.transfers["verified"].pk},
    "handover": lambda side: {"object_id": side.hand_overs["running"].pk},
    "auditentry": lambda _: {"object_id": 1},
    "grant": by_object("grant"),
    "apitoken": by_object("token"),
    "savedfilter": by_object("saved_filter"),
}
# Rows of somebody else, which nobody sees but an administrator.
_OF_PEOPLE = ("apitoken", "savedfilter")
# Django's own screens of people, and of sign-ins that failed: administrators'.
_DJANGO = ("auth_user", "auth_group", "axes_accessattempt", "axes_accesslog", "axes_accessfailurelog")
_DJANGO_VIEWS = ("changelist", "add", "change", "delete", "history", "password_change")

_SEARCHED = ("cluster", "guardendpoint", "instance", "owner", "provider", "registryprofile")
_REMOVED = {
    "cluster": "cluster",
    "instance": "instance",
    "owner": "owner",
    "provider": "provider",
    "registryprofile": "profile",
    "loop": "loop",
    "guardendpoint": "guard",
}
_FORMS: dict[str, Page] = {
    "cluster_register": Page(administers),
    "cluster_edit": Page(administers, of("cluster")),
    "owner_register": Page(administers),
    "owner_edit": Page(administers, of("owner")),
    "instance_register": Page(administers),
    "instance_edit": Page(administers, of("instance")),
    "guardendpoint_register": Page(administers),
    "guardendpoint_edit": Page(administers, of("guard")),
    "helddelete_release": Page(acts_somewhere("operate")),
    "helddelete_keep": Page(acts_somewhere("operate")),
    "provider_register": Page(administers),
    "provider_edit": Page(administers, of("provider")),
    "provider_directory": Page(is_staff),
    "registryprofile_register": Page(administers),
    "registryprofile_edit": Page(administers, of("profile")),
    "loop_register": Page(administers),
    "loop_edit": Page(administers, of("loop")),
    "loop_declare": Page(is_staff, of("loop")),
    "grant_give": Page(administers),
    "apitoken_issue": Page(is_staff),
    "savedfilter_register": Page(is_staff),
    "savedfilter_edit": Page(may_never, of("saved_filter")),
    "savedfilter_remove": Page(administers, of("saved_filter")),
    "freeze_start": Page(acts_somewhere("operate")),
    "finding_acknowledge": Page(is_staff, of("name_finding")),
    "transfer_request": Page(is_staff),
    "handover_request": Page(acts_somewhere("request")),
    "transfer_undo": Page(is_staff, of_transfer("verified")),
    "owner_decommission": Page(administers, of("owner")),
    **{f"{noun}_search": Page(is_staff) for noun in _SEARCHED},
    **{f"{noun}_remove": Page(administers, of(name)) for noun, name in _REMOVED.items()},
    "transfer_progress": Page(is_staff, of_transfer("verified")),
    "transfer_step": Page(
        is_staff, lambda side: {**of_transfer("verified")(side), "step_pk": side.step.pk, "part": "sent"}
    ),
}

PAGES: dict[str, Page] = {
    "admin:index": Page(is_staff),
    "admin:search": Page(is_staff),
    "admin:password_change": Page(is_staff),
    "admin:password_change_done": Page(is_staff),
    "admin:jsi18n": Page(is_staff),
    "admin:app_list": Page(is_staff, lambda _: {"app_label": "registry_app"}),
    "admin:login": Page(is_not_signed_in),  # others are led on
    **{f"admin:registry_app_{name}": page for name, page in _FORMS.items()},
    **{f"admin:registry_app_{noun}_changelist": Page(is_staff) for noun in _NOUNS},
    **{
        f"admin:registry_app_{noun}_change": Page(administers if noun in _OF_PEOPLE else is_staff, place)
        for noun, place in _NOUNS.items()
    },
    # What Django would let people do to rows past the mutations.
    **{f"admin:registry_app_{noun}_add": Page(may_never) for noun in _NOUNS},
    **{f"admin:registry_app_{noun}_delete": Page(may_never, place) for noun, place in _NOUNS.items()},
    "admin:auth_user_changelist": Page(administers),
    "admin:auth_user_add": Page(administers),
    "admin:auth_group_changelist": Page(administers),
    "admin:auth_group_add": Page(administers),
    "admin:auth_user_change": Page(administers, lambda side: {"object_id": side.token.user.pk}),
    "admin:auth_user_delete": Page(administers, lambda side: {"object_id": side.token.user.pk}),
    "admin:auth_user_history": Page(administers, lambda side: {"object_id": side.token.user.pk}),
    "admin:auth_user_password_change": Page(administers, lambda side: {"id": side.token.user.pk}),
    **{f"admin:{each}_changelist": Page(administers) for each in _DJANGO if each.startswith("axes")},
}
# Shown to nobody, or no page of ours: what Django has beside the pages above.
UNUSED = (
    {f"registry_app_{noun}_history" for noun in _NOUNS}
    | {f"{each}_{view}" for each in _DJANGO for view in _DJANGO_VIEWS}
    | {"logout", "autocomplete", "view_on_site"}
)


def _form_of_loop(side: Side, owner: Owner) -> dict[str, Any]:
    return {
        "owner": owner.pk,
        "provider": side.provider.pk,
        "policy": "sync",
        "managed_types": "A",
        "interval_seconds": 300,
    }


def _draft_of(side: Side) -> Draft:
    return Draft(
        kind="transfer",
        selection=Selection(record_set_ids=(side.fresh.pk,)),
        target_owner_id=side.target.owner_id,
        target_intent="same",
        reason="It moves.",
    )


def _draft_of_hand_over(side: Side) -> dict[str, Any]:
    return {
        "provider": side.provider.pk,
        "from_owner": side.owner.pk,
        "to_owner": side.target.pk,
        "names": [side.name],
        "name_suffix": "",
        "namespace": "",
        "waves_by": "",
        "wave_size": None,
        "wave_values": [],
        "verdicts": "both",
        "ends_at": (timezone.now() + timedelta(days=1)).isoformat(),
        "reason": "It moves.",
        "ticket": "",
    }


BUTTONS: dict[str, Button] = {
    **{
        f"{noun}_edit": Button(administers, of(name), is_edit=True)
        for noun, name in {
            "cluster": "cluster",
            "instance": "instance",
            "owner": "owner",
            "guardendpoint": "guard",
            "provider": "provider",
            "registryprofile": "profile",
        }.items()
    },
    "loop_edit": Button(administers, of("loop"), lambda side: _form_of_loop(side, side.owner)),
    "provider_register": Button(
        administers,
        form=lambda side: {"name": f"new of {side.key}", "url": "http://127.0.0.1:2"},
        is_edit=True,
    ),
    "registryprofile_register": Button(
        administers, form=lambda side: {"name": f"new of {side.key}"}, is_edit=True
    ),
    "cluster_register": Button(administers, form=lambda side: {"name": f"new of {side.key}"}),
    "cluster_test": Button(administers, of("cluster"), is_written=False),
    "owner_register": Button(
        administers,
        form=lambda side: {"owner_id": f"new of {side.key}", "status": "registered", "policy": "unknown"},
    ),
    "instance_register": Button(
        administers,
        form=lambda side: {"owner": side.owner.pk, "name": f"new of {side.key}", "policy": "unknown"},
    ),
    "guardendpoint_register": Button(
        administers,
        form=lambda side: {
            "slug": f"new-of-{side.key}",
            "provider": side.provider.pk,
            "instance": side.spare_instance.pk,
            "mode": "observe",
            "deadline_seconds": 15,
            "max_body_bytes": 1_000_000,
            "delete_percent": 30,
            "most_deletes": 500,
            "window_seconds": 3_600,
        },
    ),
    "guardendpoint_mode": Button(administers, of("guard"), lambda _: {"mode": "paused"}),
    **{
        f"helddelete_{act}": Button(
            operates_its_guarded_name, form=lambda side: {"ids": side.held_delete.pk, "reason": "So."}
        )
        for act in ("release", "keep")
    },
    "guardendpoint_issue": Button(administers, of("guard")),
    "guardendpoint_unissue": Button(administers, of("guard")),
    "owner_decommission": Button(administers, of("owner")),
    "transfer_request": Button(
        on_both_sides("request"),
        form=lambda side: {"step": "request", "draft": sign_draft(_draft_of(side))},
    ),
    "handover_request": Button(
        on_both_sides("request"),
        form=lambda side: {"step": "request", "draft": sign_hand_over(_draft_of_hand_over(side))},
        before=clear_hand_overs,
    ),
    "provider_sync": Button(operates_all, of("provider")),
    "provider_test": Button(operates_all, of("provider"), is_written=False),
    "provider_accept_restored": Button(
        operates_all, of("provider"), lambda _: {"reason": "Looked at."}, before=is_restored
    ),
    "provider_accept_all_restored": Button(
        operates_everywhere, form=lambda _: {"reason": "Looked at."}, before=are_all_restored
    ),
    "provider_approval_confirm": Button(administers, of("provider")),
    "provider_approval_cancel": Button(administers, of("provider")),
    "registryprofile_test": Button(operates_all, of("profile"), is_written=False),
    "loop_register": Button(
        administers,
        form=lambda side: _form_of_loop(side, side.target),
    ),
    "loop_run": Button(runs_its_name, of("loop")),
    "loop_declare": Button(
        runs_its_name, of("loop"), lambda side: {**endpoint_of(side), "targets": "192.0.2.77", "ttl": 0}
    ),
    "loop_withdraw": Button(
        runs_its_name, lambda side: {"pk": side.loop.pk, "endpoint_pk": side.loop.endpoints.get().pk}
    ),
    "loop_plan": Button(requests_its_name, of("loop"), is_written=False),
    "heldsnapshot_accept": Button(operates_all, of("held"), lambda _: {"reason": "Right.", "seen": "d"}),
    "heldsnapshot_reject": Button(operates_all, of("held"), lambda _: {"reason": "Wrong.", "seen": "d"}),
    "finding_acknowledge": Button(operates_its_name, of("name_finding"), lambda _: {"reason": "Known."}),
    "freeze_start": Button(
        operates_all, form=lambda side: {"provider": side.provider.pk, "reason": "Change stop."}
    ),
    **{f"{noun}_remove": Button(administers, of(name), may_conflict=True) for noun, name in _REMOVED.items()},
    "freeze_remove": Button(operates_all, of("freeze")),
    "freeze_lift": Button(operates_all, of("freeze")),
    "grant_give": Button(administers, form=lambda side: {"group": side.team.pk, "action": "request"}),
    "grant_take": Button(administers, lambda side: {"pk": side.grant.pk}),
    "apitoken_issue": Button(is_staff, form=lambda _: {"name": "mine", "scopes": ["read"]}),
    "savedfilter_register": Button(
        is_staff,
        form=lambda _: {"name": "other", "list_name": "record-sets", "filters": "state=conflict"},
    ),
    "savedfilter_edit": Button(
        may_never, of("saved_filter"), lambda _: {"name": "other", "filters": "type=A"}
    ),
    "savedfilter_remove": Button(administers, of("saved_filter")),
    "apitoken_revoke": Button(administers, of("token")),
    "auditentry_verify": Button(is_staff, is_written=False),
    "transfer_undo": Button(
        on_both_sides("request"),
        of_transfer("verified"),
        lambda _: {"reason": "It was wrong.", "confirmation": "undo 1 record set"},
    ),
}
_ACTS_ON_TRANSFERS: dict[str, tuple[str, str]] = {
    "approve": ("requested", "approve"),
    "reject": ("requested", "approve"),
    "cancel": ("requested", "request"),
    "look_again": ("needs_operator", "operate"),
    "send_again": ("needs_operator", "operate"),
    "keep_as_is": ("needs_operator", "operate"),
}
ACTS_ON_TRANSFERS: dict[str, Button] = {
    act: Button(
        on_both_sides(action),
        of_transfer(status, action=act),
        lambda side: {"reason": "So.", "fingerprint": side.transfers["requested"].plan_fingerprint},
    )
    for act, (status, action) in _ACTS_ON_TRANSFERS.items()
}
_CONSENTS = (("giver", for_giver("approve")), ("taker", for_taker("approve")))
for _side, _rule in _CONSENTS:
    ACTS_ON_TRANSFERS[f"consent for the {_side}"] = replace(
        ACTS_ON_TRANSFERS["approve"],
        rule=_rule,
        form=consent_to_transfer(_side),
        before=must_agree,
    )
for _act, _one_side in (("reject", on_one_side("approve")), ("cancel", on_one_side("request"))):
    ACTS_ON_TRANSFERS[f"{_act} where both sides agree"] = replace(
        ACTS_ON_TRANSFERS[_act], rule=_one_side, before=must_agree
    )


def _act_on_hand_over(act: str, status: str, rule: Rule) -> Button:
    return Button(
        rule,
        lambda side: {"pk": side.hand_overs[status].pk, "action": act},
        lambda side: {"reason": "So.", "fingerprint": side.hand_overs[status].fingerprint},
        before=enforce_both,
    )


ACTS_ON_HAND_OVERS: dict[str, Button] = {
    "approve": _act_on_hand_over("approve", "requested", on_both_sides("approve")),
    "reject": _act_on_hand_over("reject", "requested", on_both_sides("approve")),
    **{act: _act_on_hand_over(act, "running", steers()) for act in ("cancel", "pause", "next_wave")},
    "resume": _act_on_hand_over("resume", "paused", steers()),
}
for _side, _rule in _CONSENTS:
    ACTS_ON_HAND_OVERS[f"consent for the {_side}"] = replace(
        ACTS_ON_HAND_OVERS["approve"],
        rule=_rule,
        form=consent_to_hand_over(_side),
        before=must_agree_to_a_hand_over,
    )
