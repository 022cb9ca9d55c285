"""A run of thousands of changes is still a page that opens."""

import pytest

from registry_app.models import LoopStep
from tests.factories import make_administrator, make_owner
from tests.registry_app.admin.world import address, make_fresh_provider, make_loop_run, read_text, sign_in

pytestmark = pytest.mark.django_db


def test_the_page_of_a_large_run_shows_how_it_begins() -> None:
    run = make_loop_run(make_fresh_provider(), make_owner())
    step = LoopStep.objects.get()
    items = [{**step.items[0], "name": f"host-{number}.example.org"} for number in range(1_000)]
    LoopStep.objects.filter(pk=step.pk).update(items=items, change_set="x" * 500_000)

    page = read_text(sign_in(make_administrator()).get(address("looprun_change", run.pk)))

    assert "host-99.example.org" in page
    assert "host-100.example.org" not in page
    assert "The first 100 of 1000. The API has all of them." in page
    assert "of 500000 characters that were sent" in page
    assert len(page) < 500_000
