"""Who only reads is shown everything, and offered nothing that would be refused."""

import pytest
from django.utils import timezone

from registry_app.models import Freeze, Grant, HeldSnapshot
from tests.factories import make_administrator, make_finding, make_owner, make_user
from tests.registry_app.admin.world import (
    FORMS,
    address,
    make_claimed,
    make_fresh_provider,
    make_member,
    make_team,
    read_text,
    sign_in,
)

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

OWN_FORMS = ("apitoken_issue", "savedfilter_register", "transfer_request")


@pytest.mark.parametrize("name", sorted(set(FORMS) - set(OWN_FORMS)))
def test_a_form_that_would_be_refused_does_not_open(name: str) -> None:
    client = sign_in(make_user("bob"))

    response = client.get(address(name))

    assert response.status_code == 403
    assert "You may not do this" in read_text(response)


def test_the_form_of_a_row_does_not_open_either() -> None:
    owner = make_owner()

    response = sign_in(make_user("bob")).get(address("owner_edit", owner.pk))

    assert response.status_code == 403
    assert "Only an administrator may change owners." in read_text(response)


def test_record_sets_offer_acts_only_to_who_may_request_some() -> None:
    row = make_claimed(make_fresh_provider(), make_owner())
    alice = make_member("alice", make_team("team-blue", Grant.Action.REQUEST))
    url = address("recordset_change", row.pk)

    reader, requester = (sign_in(user).get(url) for user in (make_user("bob"), alice))

    assert reader.context["acts"] == []
    assert len(requester.context["acts"]) == 3


@pytest.mark.parametrize(
    ("noun", "label"),
    [("transfer", "New transfer"), ("freeze", "Freeze"), ("provider", "Register provider")],
)
def test_lists_offer_only_what_may_be_begun(noun: str, label: str) -> None:
    readers = sign_in(make_user("bob")).get(address(f"{noun}_changelist")).context["list_links"]
    administrators = sign_in(make_administrator()).get(address(f"{noun}_changelist")).context["list_links"]

    assert label not in dict(readers)
    assert label in dict(administrators)


def test_decisions_are_offered_to_who_operates_the_provider() -> None:
    now = timezone.now()
    provider = make_fresh_provider()
    held = HeldSnapshot.objects.create(provider=provider, body=b"", created_at=now, last_seen_at=now)
    freeze = Freeze.objects.create(provider=provider, reason="Change stop.", starts_at=now)
    finding = make_finding(provider=provider)
    operator = make_member("alice", make_team("team-blue", Grant.Action.OPERATE))
    pages = (
        (address("heldsnapshot_change", held.pk), "Accept this snapshot"),
        (address("freeze_change", freeze.pk), "Lift the freeze"),
        (address("finding_change", finding.pk), "Acknowledge or mute"),
    )

    reader, operated = sign_in(make_user("bob")), sign_in(operator)

    for url, button in pages:
        assert button not in read_text(reader.get(url))
        assert button in read_text(operated.get(url))
