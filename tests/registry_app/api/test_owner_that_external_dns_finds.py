"""Which owner ExternalDNS finds of a record set, and what we warn of: in the API and on its page."""

import msgspec
import pytest
from django.test import Client
from django.urls import reverse

from providers.wire.endpoint import Endpoint
from registry_app.models import RecordSet, RegistryProfile
from tests.factories import make_administrator, make_provider, make_user
from tests.reference_server import make_claim, make_record
from tests.registry_app.api.client import API, make_client, read
from tests.registry_app.reconcile.serving import serve

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

_BLUE = {"registry_profile": "", "owner": "blue-cluster", "by": "claim", "txt_name": "a-www.example.org"}
_LABEL = {"registry_profile": "", "owner": "blue-cluster", "by": "label", "txt_name": ""}


def _labelled(owner: str) -> Endpoint:
    return msgspec.structs.replace(make_record(), labels={"owner": owner})


def _texts(*owners: str) -> tuple[str, ...]:
    return tuple(make_claim(owner=owner).targets[0] for owner in owners)


# The zone beside www A, its state, the owner that each profile finds, part of the warning.
_TABLE: list[tuple[list[Endpoint], str, list[dict[str, str]], str]] = [
    ([make_record(), make_claim()], "owned", [_BLUE], ""),
    (
        [make_record(), make_claim(), make_record("www.example.org", "TXT", _texts("green-cluster"))],
        "owned",
        [_BLUE],
        "www.example.org names green-cluster, and ExternalDNS ignores it. ExternalDNS uses the one at",
    ),
    (
        [
            make_record(),
            make_record("a-www.example.org", "TXT", _texts("blue-cluster", "green-cluster")),
        ],
        "owned",
        [_BLUE],
        "reads only the first text of a TXT record",
    ),
    (
        [make_record(), make_record("a-www.example.org.", "TXT", _texts("blue-cluster"))],
        "unmanaged",
        [],
        "a-www.example.org. TXT is not where it looks for the claim of www.example.org A",
    ),
    ([_labelled("blue-cluster")], "owned", [_LABEL], ""),
    (
        [_labelled("green-cluster"), make_claim()],
        "owned",
        [_BLUE],
        "with the label owner=green-cluster: an instance that finds no claim uses green-cluster",
    ),
]


def test_the_api_and_the_page_say_what_is_believed_and_what_we_warn_of(client: Client) -> None:
    api = make_client(make_user("alice"), "read")
    client.force_login(make_administrator())
    for number, (zone, state, beliefs, warning) in enumerate(_TABLE):
        provider = make_provider(f"zone-{number}")
        serve(provider, zone)
        row = RecordSet.objects.get(provider=provider, record_type="A")

        answer = read(api.get(f"{API}/record-sets/{row.pk}/"))
        page = client.get(reverse("admin:registry_app_recordset_change", args=[row.pk])).content.decode()

        assert (answer["state"], answer["beliefs"]) == (state, beliefs), zone
        assert [warning in each for each in answer["warnings"]] == ([True] if warning else []), answer[
            "warnings"
        ]
        for belief in beliefs:
            assert f"<strong>{belief['owner']}</strong>" in page
        assert warning.split(":")[0] in page
        assert answer["labels"] == dict(zone[0].labels)


def test_a_wildcard_claim_without_the_replacement_is_not_believed_by_instances_that_replace_it() -> None:
    api = make_client(make_user("alice"), "read")
    RegistryProfile.objects.create(name="any", wildcard_replacement="any")
    provider = make_provider()
    serve(provider, [make_record("*.example.org"), make_claim("*.example.org")])
    row = RecordSet.objects.get(record_type="A")

    answer = read(api.get(f"{API}/record-sets/{row.pk}/"))

    assert (answer["state"], answer["owner"], answer["beliefs"]) == ("unmanaged", None, [])
    assert [claim["verdict"] for claim in answer["claims"]] == ["ignored"]
    assert "ignores the claim at a-*.example.org" in answer["why"]
