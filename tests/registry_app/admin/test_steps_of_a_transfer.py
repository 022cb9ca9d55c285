"""What was sent and read: as it begins on the page of a transfer, and whole at an address of its own."""

import pytest
from django.utils import timezone

from registry_app.models import Transfer, TransferStep
from tests.factories import make_administrator, make_owner, make_user
from tests.registry_app.admin.world import address, make_fresh_provider, make_transfer, read_text, sign_in

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

LONG = '{"create": ["' + "x" * 100_000 + '"]}'


def _make_transfer() -> Transfer:
    return make_transfer(make_fresh_provider(), make_owner(), make_owner("green-cluster"))


def _make_step(transfer: Transfer, batch: int, **values: object) -> TransferStep:
    now = timezone.now()
    step = {"phase": "write", "batch": batch, "body_digest": "d", "epoch": 1, "stored_at": now}
    return TransferStep.objects.create(transfer=transfer, **{**step, "change_set": LONG, **values})


def test_a_page_of_many_large_change_sets_stays_small() -> None:
    transfer = _make_transfer()
    for batch in range(60):
        _make_step(transfer, batch, read_back=[LONG])

    page = read_text(sign_in(make_administrator()).get(address("transfer_change", transfer.pk)))

    assert len(page) < 1_000_000
    assert "50 of 60 change sets." in page


def test_all_of_a_large_change_set_is_one_click_away() -> None:
    transfer = _make_transfer()
    step = _make_step(transfer, 0, read_back={"www.example.org": ["as wanted"]})
    client = sign_in(make_user("dora"))
    sent = address("transfer_step", transfer.pk, step.pk, "sent")

    page = read_text(client.get(address("transfer_change", transfer.pk)))
    whole = client.get(sent)

    assert f'href="{sent}"' in page
    assert whole.headers["Content-Type"].startswith("text/plain")
    assert read_text(whole) == LONG


def test_what_is_short_stands_on_the_page_whole() -> None:
    transfer = _make_transfer()
    _make_step(transfer, 0, change_set='{"create": []}', read_back={"name": "www.example.org"})

    page = read_text(sign_in(make_user("dora")).get(address("transfer_change", transfer.pk)))

    assert "{&quot;create&quot;: []}" in page
    assert "  &quot;name&quot;: &quot;www.example.org&quot;" in page
    assert "Everything that was read" not in page


def test_a_step_that_needs_eyes_comes_first() -> None:
    transfer = _make_transfer()
    for batch in range(3):
        _make_step(transfer, batch, change_set="{}", status="verified" if batch < 2 else "needs_operator")

    response = sign_in(make_user("dora")).get(address("transfer_change", transfer.pk))

    assert [step.batch for step in response.context["steps"]] == [2, 0, 1]


def test_a_step_of_another_transfer_is_not_found() -> None:
    transfer = _make_transfer()
    step = _make_step(transfer, 0)
    client = sign_in(make_user("dora"))

    answers = [
        client.get(address("transfer_step", pk, step.pk, part))
        for pk, part in ((transfer.pk + 1, "sent"), (transfer.pk, "secret"))
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
