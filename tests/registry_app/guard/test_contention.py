"""Names where what instances want and what is owned do not agree."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from providers.wire.endpoint import Endpoint
from registry_app.models import (
    Contention,
    ContentionCheck,
    DesiredSet,
    GuardEndpoint,
    Instance,
    Owner,
    Provider,
)
from registry_app.reconcile.contention.check import check_contention, list_providers_to_check
from tests.factories import make_administrator, make_instance, make_owner
from tests.reference_server import make_claim, make_record
from tests.registry_app.api.client import API, items, make_client, read
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db(transaction=True)
WWW, OTHER = make_record(), make_record(targets=("192.0.2.9",))
KIND = Contention.Kind


@dataclass
class Two:
    """Two guard endpoints in front of one provider: of blue-cluster, and of another instance."""

    blue: Guarded
    green: Guarded

    @property
    def provider(self) -> Provider:
        return Provider.objects.get(pk=self.blue.endpoint.provider_id)

    def check(self) -> list[tuple[str, str]]:
        """Kind and name of all contention, computed now."""
        ContentionCheck.objects.update(milliseconds=0)
        check_contention(self.blue.endpoint.provider_id)
        return list(Contention.objects.order_by("name", "kind").values_list("kind", "name"))


@contextmanager
def two_instances(
    folder: Path, zone: tuple[Endpoint, ...] = (), *, second_owner: str = "green-cluster"
) -> Iterator[Two]:
    with guarded(folder, zone) as blue:
        owner = Owner.objects.filter(owner_id=second_owner).first() or make_owner(second_owner)
        Owner.objects.filter(pk=owner.pk).update(status=Owner.Status.REGISTERED)
        instance = make_instance(owner, "west")
        endpoint = GuardEndpoint.objects.create(
            provider=blue.endpoint.provider, instance=instance, slug="green"
        )
        yield Two(blue, replace(blue, endpoint=endpoint))


def test_all_that_is_wanted_and_owned_by_the_same_is_no_contention(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([WWW])
        two.green.adjust([])

        assert two.check() == []


def test_a_name_that_two_owners_want_names_both(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([WWW])
        two.green.adjust([OTHER])
        found = two.check()

    assert found == [(KIND.OWNED_BY_OTHER, "www.example.org"), (KIND.SEVERAL_OWNERS, "www.example.org")]
    row = Contention.objects.get(kind=KIND.SEVERAL_OWNERS)
    assert [(each["owner"], each["targets"]) for each in row.wanted_by] == [
        ("blue-cluster", list(WWW.targets)),
        ("green-cluster", ["192.0.2.9"]),
    ]
    assert "blue-cluster and green-cluster want it, and blue-cluster owns it" in row.advice
    assert set(row.owners.values_list("owner_id", flat=True)) == {"blue-cluster", "green-cluster"}


def test_a_name_that_two_instances_of_one_owner_want_is_another_kind(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim()), second_owner="blue-cluster") as two:
        two.blue.adjust([WWW])
        two.green.adjust([WWW])
        found = two.check()

    assert found == [(KIND.SEVERAL_INSTANCES, "www.example.org")]
    assert "the same under one owner id" in Contention.objects.get().advice


def test_what_one_wants_and_another_owns_suggests_a_transfer(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([])
        two.green.adjust([WWW])
        found = two.check()

        # Green wants it, so it is not unwanted.
        assert found == [(KIND.OWNED_BY_OTHER, "www.example.org")]
        row = Contention.objects.get()
        assert row.suggestion["target_owner_id"] == "green-cluster"
        client = make_client(make_administrator())
        (shown,) = items(client, "/contention/?kind=owned_by_other")
        suggested = shown["suggestion"]
        preview = read(client.post(suggested["path"], suggested["body"]))
    assert shown["wanted_by"][0]["owner"] == "green-cluster"
    assert [each["name"] for plan in preview["plans"] for each in plan["items"]] == ["www.example.org"]


def test_what_is_there_without_a_claim_suggests_to_adopt_it(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW,)) as two:
        two.green.adjust([WWW])
        found = two.check()

    assert found == [(KIND.NOT_OWNED, "www.example.org")]
    assert Contention.objects.get().suggestion["kind"] == "adopt"


def test_what_no_instance_of_its_owner_wants_is_unwanted_if_all_of_them_are_known(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([])
        known = two.check()
        beside = make_instance(Owner.objects.get(owner_id="blue-cluster"), "beside")
        another = two.check()
        beside.delete()
        DesiredSet.objects.update(last_seen_at=timezone.now() - timedelta(days=1))
        stale = two.check()

    assert (known, another, stale) == ([(KIND.UNWANTED, "www.example.org")], [], [])


def test_what_is_wanted_and_not_there_waits_for_the_next_sync(tmp_path: Path) -> None:
    with two_instances(tmp_path) as two:
        two.green.adjust([WWW])
        found = two.check()
        waiting = Contention.objects.get()
        GuardEndpoint.objects.filter(slug="green").update(mode=GuardEndpoint.Mode.DRY_RUN)
        two.check()
        silent = Contention.objects.get()

    assert found == [(KIND.ABSENT, "www.example.org")]
    assert "Wait for the next sync of green" in waiting.advice
    assert "dry_run" in silent.advice
    assert silent.since == waiting.since


def test_what_its_filter_or_types_exclude_is_not_wanted(tmp_path: Path) -> None:
    mail = make_record("www.example.org", "MX", ("10 mail.example.org",))
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([WWW])
        two.green.adjust([WWW, mail])
        Instance.objects.filter(guard_endpoints__slug="green").update(domain_include=["example.net"])
        filtered = two.check()
        Instance.objects.filter(guard_endpoints__slug="green").update(
            domain_include=[], managed_types=["MX"], domain_exclude=[]
        )
        by_type = two.check()

    assert filtered == []
    assert by_type == [
        (KIND.ABSENT, "www.example.org"),
        (KIND.OWNED_BY_OTHER, "www.example.org"),
        (KIND.SEVERAL_OWNERS, "www.example.org"),
    ]
    assert Contention.objects.get(kind=KIND.ABSENT).record_types == ["MX"]


def test_another_set_identifier_is_another_record_set(tmp_path: Path) -> None:
    zone = (make_record(set_identifier="blue"), make_claim(set_identifier="blue"))
    with two_instances(tmp_path, zone) as two:
        two.blue.adjust([zone[0]])
        two.green.adjust([make_record(set_identifier="green")])
        two.check()

    assert list(Contention.objects.values_list("kind", "set_identifier")) == [(KIND.ABSENT, "green")]


def test_a_stale_desired_set_is_shown_as_stale(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([WWW])
        two.green.adjust([WWW])
        two.check()
        fresh = Contention.objects.filter(is_stale=True).count()
        DesiredSet.objects.filter(guard_endpoint__slug="green").update(
            last_seen_at=timezone.now() - timedelta(days=1)
        )
        two.check()

    assert fresh == 0
    row = Contention.objects.get(kind=KIND.SEVERAL_OWNERS)
    assert row.is_stale
    assert [each["is_stale"] for each in row.wanted_by] == [False, True]
    assert "green is stale" in row.advice


def test_what_is_solved_is_gone_and_nothing_is_computed_twice(tmp_path: Path) -> None:
    with two_instances(tmp_path) as two:
        two.blue.adjust([WWW])
        absent = two.check()
        computed = ContentionCheck.objects.get().computed_at
        two.check()
        again = ContentionCheck.objects.get().computed_at
        two.blue.apply(create=(WWW, make_claim()))
        sync(two.provider)
        there = two.check()

    assert (absent, there) == ([(KIND.ABSENT, "www.example.org")], [])
    assert computed == again


def test_what_a_deleted_guard_endpoint_leaves_is_cleared(tmp_path: Path) -> None:
    with two_instances(tmp_path) as two:
        two.blue.adjust([WWW])
        found = two.check()
        GuardEndpoint.objects.all().delete()
        listed = list_providers_to_check()
        left = two.check()

        assert (len(found), listed, left) == (1, [two.provider.pk], [])
        assert list_providers_to_check() == []


def _shown(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["kind"], row["name"]) for row in rows]


def test_the_list_is_filtered_and_paged(tmp_path: Path) -> None:
    names = [f"{letter}.shop.example.org" for letter in "abc"]
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([])
        two.green.adjust([make_record(name) for name in names])
        two.check()
    client = make_client(make_administrator())

    first = read(client.get(f"{API}/contention/?limit=2"))
    rest = read(client.get(first["next"]))
    suffix = read(client.get(f"{API}/contention/?name_suffix=shop.example.org&limit=2"))

    assert _shown(first["items"] + rest["items"]) == [
        *(("absent", name) for name in names),
        ("unwanted", "www.example.org"),
    ]
    assert _shown(suffix["items"]) == [("absent", name) for name in names[:2]]
    assert _shown(read(client.get(suffix["next"]))["items"]) == [("absent", names[2])]
    assert _shown(items(client, "/contention/?owner=blue-cluster")) == [("unwanted", "www.example.org")]
    assert len(items(client, "/contention/?owner=green-cluster&provider=blue-zone&kind=absent")) == 3
    assert items(client, "/contention/?kind=not_owned") == []
    assert client.get(f"{API}/contention/?kind=other").status_code == 400


def test_the_page_shows_who_wants_it_and_links_to_what_solves_it(tmp_path: Path) -> None:
    with two_instances(tmp_path, (WWW, make_claim())) as two:
        two.blue.adjust([])
        two.green.adjust([WWW])
        two.check()
    browser = Client()
    browser.force_login(make_administrator())
    address = "/admin/registry_app/contention/"
    owner = Owner.objects.get(owner_id="blue-cluster")

    listed = browser.get(f"{address}?owner={owner.pk}&kind=owned_by_other&name_suffix=example.org")
    typed = browser.get(f"{address}?owner_name=nobody")
    page = browser.get(f"{address}{Contention.objects.get().pk}/change/").content.decode()

    assert "www.example.org" in listed.content.decode()
    assert "www.example.org" not in typed.content.decode()
    assert "Transfer it to green-cluster" in page
    assert "/transfer/request/?kind=transfer&amp;target_owner_id=green-cluster" in page
