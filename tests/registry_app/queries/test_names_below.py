"""Which names have something below them that is not an owner's own."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry_app.models import Owner, OwnershipState, Provider
from registry_app.queries.names_below import find_others_below
from tests.factories import make_owner, make_provider, make_record_set

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider() -> Provider:
    provider, green = make_provider("below"), make_owner("green-cluster")
    blue = make_owner("blue-cluster")
    for name, owner, state in (
        ("a.own.example.org", blue, OwnershipState.OWNED),
        ("own.example.org", green, OwnershipState.OWNED),
        ("b.other.example.org", green, OwnershipState.OWNED),
        ("a.other.example.org", green, OwnershipState.OWNED),
        ("deep.under.doubt.example.org", None, OwnershipState.CONFLICT),
        ("a.nobody.example.org", None, OwnershipState.UNMANAGED),
        ("other-example.org", green, OwnershipState.OWNED),
    ):
        make_record_set(provider, name, owner=owner, state=state)
    make_record_set(make_provider("elsewhere"), "a.own.example.org", owner=green)
    return provider


def test_all_names_are_looked_up_in_one_statement(provider: Provider) -> None:
    blue = Owner.objects.get(owner_id="blue-cluster")
    names = {f"{each}.example.org" for each in ("own", "other", "doubt", "nobody", "free", "a.other")}

    with CaptureQueriesContext(connection) as queries:
        others = find_others_below(provider, blue, names, whatever=False)
    whatever = find_others_below(provider, blue, names, whatever=True)

    assert len(queries) == 1
    assert others == {
        "other.example.org": "a.other.example.org",
        "doubt.example.org": "deep.under.doubt.example.org",
    }
    assert whatever == {**others, "nobody.example.org": "a.nobody.example.org"}


def test_what_only_ends_alike_is_not_below(provider: Provider) -> None:
    blue = Owner.objects.get(owner_id="blue-cluster")

    found = find_others_below(provider, blue, {"example.org", "ample.org"}, whatever=True)

    assert found == {"example.org": "deep.under.doubt.example.org"}
