"""Many findings at once: one request that fixes them all, or one acknowledgement for each."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from registry_app.admin.transfer_form import read_selection
from registry_app.models import AuditEntry, Claim, Finding, Grant, Owner, Provider, RecordSet
from tests.factories import make_administrator, make_finding, make_owner, make_record_set, make_user
from tests.registry_app.admin.world import (
    address,
    make_claimed,
    make_fresh_provider,
    make_member,
    make_team,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db


def _act(client: Client, action: str, *findings: Finding) -> Any:
    picked = [row.pk for row in findings]
    answer = client.post(
        address("finding_changelist"), {"action": action, "_selected_action": picked}, follow=True
    )
    assert isinstance(answer, HttpResponse)
    return answer


def _make_orphan(provider: Provider, owner: Owner, name: str) -> Finding:
    make_claimed(provider, owner, name)
    claim = Claim.objects.get(record_name=name)
    suggestion = {"kind": "clean_up", "selection": {"claim_refs": [bytes(claim.identity).hex()]}}
    return make_finding(provider=provider, kind="orphan_claim", name=name, suggestion=suggestion)


def _make_unmanaged(provider: Provider, name: str, *, target: str = "blue-cluster") -> Finding:
    make_record_set(provider, name)
    selection = {"provider_id": provider.pk, "names": [name], "record_types": ["A"]}
    suggestion = {"kind": "adopt", "target_owner_id": target, "selection": selection}
    return make_finding(provider=provider, kind="unmanaged_in_pattern", name=name, suggestion=suggestion)


def test_orphans_of_one_kind_are_cleaned_up_by_one_request() -> None:
    provider = make_fresh_provider()
    blue = make_owner()
    findings = [_make_orphan(provider, blue, f"{number}.example.org") for number in range(3)]

    form = _act(sign_in(make_administrator()), "fix_picked", *findings).context["form"]

    assert form["kind"].value() == "clean_up"
    picked = read_selection(form["picked"].value())
    assert set(picked.claim_ids) == set(Claim.objects.values_list("pk", flat=True))


def test_unmanaged_records_are_adopted_by_one_request_with_the_owner_all_suggest() -> None:
    provider = make_fresh_provider()
    make_owner()
    findings = [_make_unmanaged(provider, f"{number}.example.org") for number in range(3)]
    make_record_set(provider, "another.example.org")

    form = _act(sign_in(make_administrator()), "fix_picked", *findings).context["form"]

    assert (form["kind"].value(), form["target_owner_id"].value()) == ("adopt", "blue-cluster")
    wanted = RecordSet.objects.exclude(name="another.example.org").values_list("pk", flat=True)
    assert set(read_selection(form["picked"].value()).record_set_ids) == set(wanted)


def test_fixes_that_differ_are_not_thrown_together() -> None:
    provider = make_fresh_provider()
    blue = _make_unmanaged(provider, "blue.example.org")
    green = _make_unmanaged(provider, "green.example.org", target="green-cluster")

    page = read_text(_act(sign_in(make_administrator()), "fix_picked", blue, green))

    assert "These findings do not suggest the same fix." in page


def test_findings_without_a_fix_have_none_together() -> None:
    held = make_finding(kind="snapshot_held", suggestion={"kind": "accept_snapshot", "held_snapshot_id": 1})

    page = read_text(_act(sign_in(make_administrator()), "fix_picked", held))

    assert "These findings do not suggest the same fix." in page


def test_each_finding_is_acknowledged_in_its_own_name() -> None:
    provider = make_fresh_provider()
    findings = [make_finding(provider=provider, name=f"{number}.example.org") for number in range(2)]

    page = read_text(_act(sign_in(make_administrator("root")), "acknowledge_picked", *findings))

    assert "Acknowledged: 2 findings." in page
    assert set(Finding.objects.values_list("state", "acknowledged_by")) == {("acknowledged", "root")}
    assert AuditEntry.objects.filter(action="finding.acknowledged").count() == 2


def test_who_operates_one_provider_acknowledges_nothing_of_another() -> None:
    blue, green = make_fresh_provider("blue-zone"), make_fresh_provider("green-zone")
    team = make_team("team-blue", Grant.Action.OPERATE)
    Grant.objects.update(provider=blue)
    finding = make_finding(provider=green)

    page = read_text(_act(sign_in(make_member("alice", team)), "acknowledge_picked", finding))

    assert "alice may not acknowledge this finding." in page
    assert Finding.objects.get().state == "open"


def test_who_only_reads_is_offered_no_act() -> None:
    make_finding(provider=make_fresh_provider())

    response = sign_in(make_user("bob")).get(address("finding_changelist"))

    assert not response.context["cl"].model_admin.get_actions(response.wsgi_request)
