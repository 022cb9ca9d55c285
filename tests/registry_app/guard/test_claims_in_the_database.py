"""An instance whose claims are in the database runs as with TXT records, and the zone has none."""

from pathlib import Path

import msgspec
import pytest
from pytest_django import DjangoAssertNumQueries

from providers.wire.endpoint import EndpointKey
from registry_app.database_claims import RowChange, change_rows
from registry_app.guard.claim_rows import withdraw_rows
from registry_app.guard.deadline import Deadline
from registry_app.guard.records import RecordsReader
from registry_app.guard.view_readings import ViewReader
from registry_app.models import DatabaseClaim, GuardDecision, GuardEndpoint, HeldDelete
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import make_provider
from tests.providers.planning.planned import wanted
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.keeping import kept, list_rows, make_database_profile
from tests.registry_app.guard.serving import Guarded
from tests.registry_app.reconcile.syncing import sync

pytestmark = [pytest.mark.django_db(transaction=True)]
BLUE = "blue-cluster"


def list_records(guard: Guarded) -> set[tuple[str, str, tuple[str, ...]]]:
    """What the zone has."""
    return {(each.dns_name, each.record_type, each.targets) for each in guard.reference.backend.records()}


def test_it_creates_changes_and_deletes_and_the_zone_has_no_claim(tmp_path: Path) -> None:
    with (
        kept(tmp_path, [make_record("nobody.example.org")]) as guard,
        Instance(Settings(guard.url, BLUE), [wanted("www.example.org"), wanted("api.example.org")]) as blue,
    ):
        created = [blue.run_once().outcome for _ in range(2)]
        rows = list_rows()
        blue.desired = [wanted("www.example.org", targets=["192.0.2.9"]), wanted("nobody.example.org")]
        changed = [blue.run_once().outcome for _ in range(2)]

        assert created == [Outcome.CHANGED, Outcome.QUIET], blue.last_result
        assert changed == [Outcome.CHANGED, Outcome.QUIET], blue.last_result
        assert rows == {("www.example.org", "A"): (BLUE, True), ("api.example.org", "A"): (BLUE, True)}
        assert list_rows() == {("www.example.org", "A"): (BLUE, True)}
        assert list_records(guard) == {
            ("nobody.example.org", "A", ("192.0.2.1",)),
            ("www.example.org", "A", ("192.0.2.9",)),
        }
    assert not GuardDecision.objects.exists()


def test_what_is_anothers_by_its_txt_record_is_shown_as_its_in_the_format_of_the_instance(
    tmp_path: Path,
) -> None:
    zone = [make_record("green.example.org"), make_claim("green.example.org", owner="green-cluster")]
    with kept(tmp_path, zone, prefix="own-") as guard:
        shown = guard.read()

    claims = [each for each in shown if each.record_type == "TXT"]
    assert [each.dns_name for each in claims] == ["own-a-green.example.org"]
    assert "external-dns/owner=green-cluster" in claims[0].targets[0]
    assert len(shown) == 2


def test_what_is_in_conflict_is_shown_as_nobodys_whatever_the_provider_says_with_it(tmp_path: Path) -> None:
    labelled = msgspec.structs.replace(make_record("www.example.org"), labels={"owner": BLUE, "more": "x"})
    with kept(tmp_path, [labelled, make_claim("www.example.org", owner="green-cluster")]) as guard:
        profile = guard.endpoint.instance.registry_profile
        assert profile is not None
        text = f"heritage=external-dns,external-dns/owner={BLUE}"
        change_rows(profile.pk, [RowChange(EndpointKey("www.example.org", "A", ""), None, text)])

        (shown,) = guard.read()

    assert (shown.dns_name, shown.labels) == ("www.example.org", {"more": "x"})


def test_two_owners_whose_claims_would_have_one_name_are_both_shown_as_nobodys(tmp_path: Path) -> None:
    zone = [
        make_record("*.example.org"),
        make_claim("*.example.org", owner=BLUE),
        make_record("any.example.org"),
        make_claim("any.example.org", owner="green-cluster"),
        make_record("long." + ".".join(["x" * 60] * 4)),
        make_claim("long." + ".".join(["x" * 60] * 4), owner=BLUE),
    ]
    with kept(tmp_path, zone, wildcard_replacement="any", prefix="much-longer-") as guard:
        shown = guard.read()

    assert {each.record_type for each in shown} == {"A"}
    assert len(shown) == 3


def test_another_owner_and_the_mirror_see_whose_it_is(tmp_path: Path) -> None:
    with (
        kept(tmp_path, []) as guard,
        Instance(Settings(guard.url, BLUE), [wanted("www.example.org")]) as blue,
    ):
        blue.run_once()

        sync(guard.endpoint.provider)
        rows = guard.endpoint.provider.record_sets.values_list("owner__owner_id", "state")

        assert list(rows) == [(BLUE, "owned")]


def test_claims_alone_are_stored_without_a_request(tmp_path: Path) -> None:
    with (
        kept(tmp_path, []) as guard,
        Instance(Settings(guard.url, BLUE), [wanted("www.example.org")]) as blue,
    ):
        blue.run_once()
        sent = len(guard.reference.history.requests("POST /records"))
        (claim,) = (each for each in guard.read() if each.record_type == "TXT")
        new = make_claim("www.example.org", owner=BLUE, resource="ingress/shop/other")

        answer = guard.apply(update_old=(claim,), update_new=(new,))

        assert answer.status_code == 204
        assert len(guard.reference.history.requests("POST /records")) == sent
    assert "ingress/shop/other" in DatabaseClaim.objects.get().text


def test_an_instance_in_observe_is_answered_with_an_error(tmp_path: Path) -> None:
    with kept(tmp_path, []) as guard:
        GuardEndpoint.objects.update(mode=GuardEndpoint.Mode.OBSERVE)

        read = guard.get("/records")
        applied = guard.apply(create=(make_record("new.example.org"), make_claim("new.example.org")))

        assert (read.status_code, applied.status_code) == (503, 503)
        assert "enforce" in read.text
        assert list_records(guard) == set()


def test_a_refused_change_set_leaves_no_owner(tmp_path: Path) -> None:
    zone = [make_record("green.example.org"), make_claim("green.example.org", owner="green-cluster")]
    with kept(tmp_path, zone) as guard:
        before = list_records(guard)

        guard.apply(create=(make_record("green.example.org", "AAAA", ("2001:db8::1",)),))
        guard.apply(delete=(zone[0],))

        assert list_records(guard) == before
    assert list_rows() == {}
    assert GuardDecision.objects.count() == 2


@pytest.mark.parametrize("back", [None, f"heritage=external-dns,external-dns/owner={BLUE}"])
def test_where_nothing_was_sent_the_row_is_as_before(back: str | None) -> None:
    profile = make_database_profile(make_provider(), "kept")
    key = EndpointKey("www.example.org", "A", "")
    text = f"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/shop/www"
    change_rows(profile.pk, [RowChange(key, None, back)] if back else [])
    change_rows(profile.pk, [RowChange(key, back, text, meant_targets=("192.0.2.1",))])
    row = {"profile": profile.pk, "text": text, "back": back}
    items = [{**key._asdict(), "action": "create", "outcome": "", "row": row}]

    withdraw_rows(items)

    left = DatabaseClaim.objects.values_list("text", "meant_targets")
    assert list(left) == ([(back, None)] if back else [])


def test_a_dry_run_stores_no_row(tmp_path: Path) -> None:
    with kept(tmp_path, []) as guard:
        GuardEndpoint.objects.update(mode=GuardEndpoint.Mode.DRY_RUN)

        answer = guard.apply(create=(make_record("new.example.org"), make_claim("new.example.org")))

        assert answer.status_code == 204
        assert list_records(guard) == set()
    assert list_rows() == {}


def test_held_deletes_are_given_back_and_keep_their_rows(tmp_path: Path) -> None:
    names = [f"app-{number}.example.org" for number in range(3)]
    with kept(tmp_path, []) as guard, Instance(Settings(guard.url, BLUE), map(wanted, names)) as blue:
        blue.run_once()
        sync(guard.endpoint.provider)
        GuardEndpoint.objects.update(most_deletes=1)
        blue.desired = [wanted(names[0])]

        outcomes = [blue.run_once().outcome for _ in range(2)]

        assert outcomes == [Outcome.CHANGED, Outcome.QUIET]
        assert len(list_records(guard)) == 3
    assert set(list_rows().values()) == {(BLUE, True)}
    assert HeldDelete.objects.filter(status="held").count() == 2


def test_its_own_view_has_its_claims(tmp_path: Path) -> None:
    zone = [
        make_record("www.green.example.org"),
        make_claim("www.green.example.org", owner="green-cluster"),
        make_record("old.blue.example.org"),
    ]
    with kept(tmp_path, zone, prefix="own.") as guard:
        owner = guard.endpoint.instance.owner
        owner.name_patterns = ["blue.example.org"]
        owner.save()
        GuardEndpoint.objects.update(has_own_view=True)
        with Instance(Settings(guard.url, BLUE, txt_prefix="own."), [wanted("www.blue.example.org")]) as blue:
            outcomes = [blue.run_once().outcome for _ in range(2)]

        assert outcomes == [Outcome.CHANGED, Outcome.QUIET]
        assert [each.dns_name for each in guard.read()] == [
            "old.blue.example.org",
            "www.blue.example.org",
            "own.a-www.blue.example.org",
        ]


def test_an_unchanged_zone_is_built_once(
    tmp_path: Path, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with kept(tmp_path, [make_record("www.example.org")]):
        reader = ViewReader(RecordsReader())
        endpoint = GuardEndpoint.objects.get()

        first = reader.read(endpoint, Deadline(30))
        with django_assert_max_num_queries(6):
            second = reader.read(endpoint, Deadline(30))

    assert second is first
