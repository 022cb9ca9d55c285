"""A finding's fix is a link that opens the form filled in."""

from typing import Any

import pytest
from django.utils import timezone

from registry_app.admin.transfer_form import read_selection
from registry_app.models import Claim, LoopRun
from tests.factories import make_administrator, make_finding, make_owner
from tests.registry_app.admin.world import address, make_claimed, make_fresh_provider, read_text, sign_in

pytestmark = pytest.mark.django_db


def _follow_fix(**values: Any) -> Any:
    finding = make_finding(**values)
    client = sign_in(make_administrator())
    fix = client.get(address("finding_change", finding.pk)).context["fix"]
    return client.get(fix.address)


def test_a_transfer_is_suggested_with_names_and_target() -> None:
    provider = make_fresh_provider()
    make_claimed(provider, make_owner())
    make_owner("green-cluster")
    selection = {"provider_id": provider.pk, "names": ["www.example.org"], "record_types": ["A"]}
    suggestion = {"kind": "transfer", "target_owner_id": "green-cluster", "selection": selection}

    form = _follow_fix(provider=provider, suggestion=suggestion).context["form"]

    assert (form["kind"].value(), form["target_owner_id"].value()) == ("transfer", "green-cluster")
    assert (form["names"].value(), form["record_types"].value()) == ("www.example.org", "A")
    assert form["provider"].value() == provider.name


def test_a_clean_up_is_suggested_with_the_very_claim() -> None:
    provider = make_fresh_provider()
    make_claimed(provider, make_owner())
    claim = Claim.objects.get()
    suggestion = {"kind": "clean_up", "selection": {"claim_refs": [bytes(claim.identity).hex()]}}

    response = _follow_fix(provider=provider, suggestion=suggestion)

    assert read_selection(response.context["form"]["picked"].value()).claim_ids == (claim.pk,)
    assert "1 picked from a list" in read_text(response)


def test_a_claim_that_is_gone_is_picked_by_nobody() -> None:
    suggestion = {"kind": "clean_up", "selection": {"claim_refs": ["00" * 16]}}

    response = _follow_fix(provider=make_fresh_provider(), suggestion=suggestion)

    assert response.status_code == 200


def test_an_unregistered_owner_is_registered_where_it_stands() -> None:
    owner = make_owner("red-cluster", status="discovered")

    response = _follow_fix(owner=owner, suggestion={"kind": "register_owner", "owner_id": "red-cluster"})

    assert response.context["form"]["owner_id"].value() == "red-cluster"


def test_a_loop_that_is_stuck_leads_to_its_last_run() -> None:
    run = LoopRun.objects.create(
        owner=make_owner("parked"),
        provider=make_fresh_provider(),
        trigger=LoopRun.Trigger.SCHEDULE,
        policy="sync",
        source="declared endpoints",
        status=LoopRun.Status.REFUSED,
        reason="A freeze lasts.",
        epoch=1,
        started_at=timezone.now(),
    )

    response = _follow_fix(suggestion={"kind": "look_at_loop_run", "loop_run_id": str(run.public_id)})

    assert response.status_code == 200
    assert "A freeze lasts." in read_text(response)


_GONE = {"kind": "look_at_loop_run", "loop_run_id": "00000000-0000-0000-0000-000000000000"}


@pytest.mark.parametrize(
    "suggestion",
    [{}, {"kind": "unheard of"}, {"kind": "accept_snapshot"}, {"kind": "look_at_loop_run"}, _GONE],
)
def test_where_only_a_person_can_know_nothing_is_suggested(suggestion: dict[str, str]) -> None:
    finding = make_finding(suggestion=suggestion)

    response = sign_in(make_administrator()).get(address("finding_change", finding.pk))

    assert response.context["fix"] is None
