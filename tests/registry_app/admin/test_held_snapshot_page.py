"""A person decides on a held snapshot by its difference, in words."""

import pytest
from django.utils import timezone

from registry_app.models import HeldSnapshot
from registry_app.reconcile.rows.mirror_diff import Tally
from tests.factories import make_administrator
from tests.registry_app.admin.world import address, make_fresh_provider, read_text, sign_in

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def test_the_difference_is_told_in_words_and_figures() -> None:
    tally = Tally(known=12_000, seen=5, still_there=4)
    tally.sample("vanished", "www.example.org A")
    held = _hold({**tally.to_json(), "fingerprint": "c0ffee"})

    page = read_text(sign_in(make_administrator()).get(address("heldsnapshot_change", held.pk)))

    for label, value in (("Record sets in the mirror", 12_000), ("Gone", 11_996), ("New", 1)):
        assert f"<dt>{label}</dt><dd>{value}</dd>" in page
    assert "Gone: the first 1 of 11996" in page
    assert "www.example.org A" in page
    assert "c0ffee" not in page


def test_every_figure_of_a_difference_has_its_words() -> None:
    held = _hold(Tally().to_json() | {key: 7 for key in Tally().to_json() if key != "samples"})

    response = sign_in(make_administrator()).get(address("heldsnapshot_change", held.pk))

    untold = {"still_there"}  # the rest of those that are gone
    assert len(response.context["counts"]) == len(set(Tally().to_json()) - {"samples"} - untold)


def _hold(difference: dict[str, object]) -> HeldSnapshot:
    now = timezone.now()
    return HeldSnapshot.objects.create(
        provider=make_fresh_provider(), difference=difference, body=b"", created_at=now, last_seen_at=now
    )
