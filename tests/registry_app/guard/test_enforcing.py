"""The guard enforces: an instance changes what is its own, and nothing else (rules G1 to G9)."""

from pathlib import Path

import pytest

from providers.wire.endpoint import Endpoint
from registry_app.models import GuardDecision, GuardEndpoint, GuardRule, GuardStep, Owner
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import make_instance
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.guard.serving import Guarded, guarded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
ENFORCE, OBSERVE = GuardEndpoint.Mode.ENFORCE, GuardEndpoint.Mode.OBSERVE
NEW = make_record("new.example.org", ttl=0)
RULE = GuardRule


def _green(name: str = "green.example.org", record_type: str = "A") -> list[Endpoint]:
    return [make_record(name, record_type), make_claim(name, record_type, "green-cluster")]


def _rules(outcome: str = "refused") -> list[tuple[str, str]]:
    rows = GuardDecision.objects.filter(outcome=outcome).order_by("name", "rule")
    return [(row.name, row.rule) for row in rows]


def _records(guard: Guarded) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(each.dns_name, each.record_type): each.targets for each in guard.reference.backend.records()}


def test_an_instance_creates_updates_and_deletes_what_is_its_own(tmp_path: Path) -> None:
    zone = make_zone("blue-cluster", 5)
    desired = [each for each in zone if each.record_type != "TXT"]
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        with Instance(Settings(guard.url, "blue-cluster"), [*desired, NEW]) as instance:
            created = instance.run_once()
            quiet = instance.run_once()
            instance.desired = [*desired[1:], make_record("new.example.org", targets=("192.0.2.77",))]
            changed = instance.run_once()
            again = instance.run_once()
        found = _records(guard)

    outcomes = [created.outcome, quiet.outcome, changed.outcome, again.outcome]
    assert outcomes == [Outcome.CHANGED, Outcome.QUIET, Outcome.CHANGED, Outcome.QUIET]
    assert found["new.example.org", "A"] == ("192.0.2.77",)
    assert ("app-00000.example.org", "A") not in found
    assert ("a-app-00000.example.org", "TXT") not in found
    assert list(GuardStep.objects.values_list("status", flat=True)) == ["verified", "verified"]
    assert not GuardDecision.objects.exists()


def test_what_is_another_owners_stays_and_the_rest_is_done(tmp_path: Path) -> None:
    green = _green()
    stolen = make_record("green.example.org", targets=("203.0.113.9",))
    with guarded(tmp_path, green, mode=ENFORCE) as guard:
        answer = guard.apply(
            create=(NEW, make_claim("new.example.org")),
            update_old=(green[0], green[1]),
            update_new=(stolen, make_claim("green.example.org")),
        )
        found = guard.reference.backend.records()

    assert answer.status_code == 204
    assert all(each in found for each in green)
    assert {each.dns_name for each in found} == {
        "green.example.org",
        "a-green.example.org",
        "new.example.org",
        "a-new.example.org",
    }
    assert _rules() == [("green.example.org", RULE.NOT_OWNER)]


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"delete": tuple(_green())}, RULE.NOT_OWNER),
        ({"delete": (make_claim("green.example.org", owner="green-cluster"),)}, None),
        ({"create": (make_record("green.example.org", "AAAA", ("2001:db8::1",)),)}, RULE.FOREIGN_NAME),
        ({"create": (make_record("green.example.org", set_identifier="eu"),)}, RULE.FOREIGN_SET),
        ({"create": (make_claim("green.example.org"),)}, RULE.CLAIM),
        ({"create": (make_claim("nothing.example.org"),)}, RULE.CLAIM),
        ({"create": (NEW, make_claim("new.example.org", owner="green-cluster"))}, RULE.CLAIM),
        ({"create": (make_record("nobody.example.org", "AAAA", ("2001:db8::1",)),)}, RULE.FOREIGN_NAME),
        ({"create": (make_record("*.example.org"), make_claim("*.example.org"))}, RULE.SHADOWS),
        ({"create": (make_record("example.org", "NS", ("ns.example.net",)),)}, RULE.SHADOWS),
        ({"create": (make_record("stra\u00dfe.example.org"),)}, RULE.AMBIGUOUS),
        ({"create": (NEW,), "delete": (NEW,)}, RULE.AMBIGUOUS),
    ],
)
def test_a_request_that_would_change_what_is_not_its_own_changes_nothing(
    tmp_path: Path, asked: dict[str, tuple[Endpoint, ...]], rule: str | None
) -> None:
    zone = [*_green(), make_record("nobody.example.org")]
    with guarded(tmp_path, zone, mode=ENFORCE) as guard:
        before = guard.reference.zone_bytes()
        answer = guard.apply(**asked)

        assert answer.status_code == 204
        assert guard.reference.zone_bytes() == before
    assert [found for _, found in _rules()] == ([rule] if rule else [])


def test_a_delete_and_a_create_at_one_name_go_together_or_not_at_all(tmp_path: Path) -> None:
    own = [make_record("www.example.org", "CNAME", ("lb.example.net",)), make_claim(record_type="CNAME")]
    new = (make_record(), make_claim())
    with guarded(tmp_path, own, mode=ENFORCE) as guard:
        alone = guard.apply(create=new)
        stayed = list(guard.reference.backend.records()) == own
        together = guard.apply(create=new, delete=tuple(own))
        replaced = {each.dns_name: each.record_type for each in guard.reference.backend.records()}

    assert (alone.status_code, together.status_code) == (204, 204)
    assert stayed
    assert replaced == {"www.example.org": "A", "a-www.example.org": "TXT"}
    assert _rules() == [("www.example.org", RULE.NAME_IN_USE)]


def test_while_it_observes_all_is_sent_and_what_enforce_would_refuse_is_kept(tmp_path: Path) -> None:
    green = _green()
    with guarded(tmp_path, green, mode=OBSERVE) as guard:
        answer = guard.apply(delete=tuple(green))
        left = guard.reference.backend.records()

    assert answer.status_code == 204
    assert list(left) == []
    assert _rules("would_refuse") == [("green.example.org", RULE.NOT_OWNER)]


def test_the_same_refusal_again_is_one_row_with_a_count(tmp_path: Path) -> None:
    with guarded(tmp_path, _green(), mode=ENFORCE) as guard:
        for _ in range(3):
            guard.apply(delete=tuple(_green()))

    row = GuardDecision.objects.get()
    assert (row.count, row.asked) == (3, "delete A")
    assert guard.endpoint.counts.get().count == 3


def test_a_create_of_what_is_its_own_already_is_an_update(tmp_path: Path) -> None:
    with guarded(tmp_path, [make_record(), make_claim()], mode=ENFORCE) as guard:
        answer = guard.apply(create=(make_record(targets=("192.0.2.9",)), make_claim()))
        found = _records(guard)

    assert answer.status_code == 204
    assert found["www.example.org", "A"] == ("192.0.2.9",)


def test_a_set_identifier_beside_another_owner_needs_both_to_share_the_name(tmp_path: Path) -> None:
    green = [
        make_record("www.example.org", set_identifier="green"),
        make_claim(owner="green-cluster", set_identifier="green"),
    ]
    blue = (make_record(set_identifier="blue"), make_claim(set_identifier="blue"))
    with guarded(tmp_path, green, mode=ENFORCE, shared_names=["www.example.org"]) as guard:
        guard.apply(create=blue)
        alone = len(list(guard.reference.backend.records()))
        GuardEndpoint.objects.create(
            provider=guard.endpoint.provider,
            instance=make_instance(Owner.objects.get(owner_id="green-cluster")),
            slug="green",
            shared_names=["www.example.org"],
        )
        guard.apply(create=blue)
        shared = len(list(guard.reference.backend.records()))

    assert (alone, shared) == (2, 4)
    assert _rules() == [("www.example.org", RULE.FOREIGN_SET)]


def test_in_a_dry_run_nothing_is_sent_and_what_enforce_would_refuse_is_kept(tmp_path: Path) -> None:
    green = _green()
    with guarded(tmp_path, green, mode=GuardEndpoint.Mode.DRY_RUN) as guard:
        before = guard.reference.zone_bytes()
        answer = guard.apply(delete=tuple(green), create=(NEW, make_claim("new.example.org")))

        assert answer.status_code == 204
        assert guard.reference.zone_bytes() == before
    assert _rules("would_refuse") == [("green.example.org", RULE.NOT_OWNER)]
    assert not GuardStep.objects.exists()


def test_what_a_request_leaves_behind_is_bounded(tmp_path: Path) -> None:
    strays = tuple(make_claim(f"stray-{number}.example.org") for number in range(1_100))
    with guarded(tmp_path, _green(), mode=ENFORCE, deadline_seconds=60) as guard:
        answers = [guard.apply(create=strays).status_code for _ in range(2)]

    assert answers == [204, 204]
    assert GuardDecision.objects.count() == 1_000
    assert guard.endpoint.counts.get().count == 2_200
