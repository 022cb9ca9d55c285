"""ExternalDNS's conflict rules, one by one."""

import msgspec
import pytest

from providers.planning.planned_changes import Policy
from providers.registries.claim import TxtProfile
from providers.wire.domain_filter import DomainFilter
from tests.providers.planning.planned import BLUE, GREEN, apply, plan, reasons, wanted
from tests.reference_server import make_claim, make_record

WWW = "www.example.org"
MINE = [make_record(WWW), make_claim(WWW, resource="ingress/shop/www")]
FOREIGN = [make_record(WWW), make_claim(WWW, owner=GREEN)]


def test_what_is_as_wanted_is_not_touched() -> None:
    assert plan(MINE, [wanted("WWW.Example.org.", targets=["192.0.2.1"])]).is_empty()


def test_what_is_missing_is_created_with_its_claim() -> None:
    after = apply([], [wanted(WWW, resource="ingress/shop/www")])

    assert [(each.dns_name, each.record_type) for each in after] == [(WWW, "A"), (f"a-{WWW}", "TXT")]
    assert after[1].targets == (
        f'"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/shop/www"',
    )


def test_what_is_not_wanted_any_more_goes_with_its_claim() -> None:
    assert apply(MINE, []) == []


def test_other_targets_are_an_update_and_the_claim_stays() -> None:
    after = apply(MINE, [wanted(WWW, targets=["192.0.2.9"])])

    assert after[0].targets == ("192.0.2.9",)
    assert after[1] == MINE[1]


@pytest.mark.parametrize("ttl", [0, 60])
def test_an_update_sends_the_ttl_that_is_wanted_and_none_where_none_is(ttl: int) -> None:
    after = apply(MINE, [wanted(WWW, targets=["192.0.2.9"], ttl=ttl)])

    assert after[0].record_ttl == ttl


@pytest.mark.parametrize(("ttl", "count"), [(0, 0), (300, 0), (60, 1)])
def test_a_ttl_counts_only_where_one_is_wanted(ttl: int, count: int) -> None:
    assert len(plan(MINE, [wanted(WWW, ttl=ttl)]).updates) == count


def test_other_properties_are_an_update() -> None:
    planned = plan(MINE, [wanted(WWW, properties=[("aws/weight", "10")])])

    assert len(planned.updates) == 1


def test_another_type_of_its_own_name_is_created_and_the_former_one_deleted() -> None:
    after = apply(MINE, [wanted(WWW, "CNAME", ["lb.example.net"])])

    assert {(each.dns_name, each.record_type) for each in after} == {
        (WWW, "CNAME"),
        (f"cname-{WWW}", "TXT"),
    }


def test_a_cname_wanted_beside_other_types_is_dropped() -> None:
    planned = plan([], [wanted(WWW), wanted(WWW, "CNAME", ["lb.example.net"])])

    assert [each.record_type for each in planned.creates] == ["A"]
    assert "a CNAME cannot exist beside them" in reasons(planned)[f"{WWW} CNAME"]


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        (["192.0.2.1", "192.0.2.2"], ["192.0.2.9"], ("192.0.2.9",)),
        (["192.0.2.2"], ["192.0.2.1"], ("192.0.2.1",)),
        (["192.0.2.9"], ["a.example.net"], ("192.0.2.9",)),
    ],
)
def test_of_several_candidates_the_one_with_the_least_targets_wins(
    first: list[str], second: list[str], winner: tuple[str, ...]
) -> None:
    one, other = wanted(WWW, targets=first), wanted(WWW, targets=second)

    assert plan([], [one, other]).creates[0].targets == winner
    assert plan([], [other, one]).creates[0].targets == winner


def test_the_candidate_of_the_same_resource_keeps_what_it_has() -> None:
    same = wanted(WWW, targets=["192.0.2.1"], resource="ingress/shop/www")
    other = wanted(WWW, targets=["192.0.2.0"], resource="ingress/blog/www")

    assert plan(MINE, [other, same]).is_empty()


def test_the_candidate_without_a_resource_keeps_what_has_none() -> None:
    same = wanted(WWW, targets=["192.0.2.1"])
    other = wanted(WWW, targets=["192.0.2.0"], resource="ingress/blog/www")

    assert plan([make_record(WWW), make_claim(WWW)], [other, same]).is_empty()


def test_the_resource_that_the_provider_returns_counts_where_the_claim_names_none() -> None:
    record = msgspec.structs.replace(make_record(WWW), labels={"resource": "ingress/shop/www", "owner": BLUE})
    same = wanted(WWW, targets=["192.0.2.1"], resource="ingress/shop/www")
    other = wanted(WWW, targets=["192.0.2.0"], resource="ingress/blog/www")

    for zone in ([record], [record, make_claim(WWW)]):
        assert plan(zone, [other, same]).is_empty()


@pytest.mark.parametrize(
    ("zone", "reason"),
    [
        (FOREIGN, f"{GREEN} owns it"),
        ([make_record(WWW)], "nobody owns it"),
        ([*MINE, make_claim(WWW, owner=GREEN, profile=TxtProfile(prefix="x."))], "its claims disagree"),
    ],
)
def test_what_is_not_ours_is_left_alone_and_the_reason_said(zone: list[object], reason: str) -> None:
    planned = plan(zone, [wanted(WWW, targets=["192.0.2.9"]), wanted(WWW, "AAAA", ["2001:db8::1"])])  # type: ignore[arg-type]  # endpoints

    assert planned.is_empty()
    assert reason in reasons(planned)[f"{WWW} A"]
    assert reason in reasons(planned)[f"{WWW} AAAA"]


def test_a_set_beside_another_owners_set_of_the_same_name_is_left_alone() -> None:
    theirs = [
        make_record(WWW, set_identifier="green"),
        make_claim(WWW, owner=GREEN, set_identifier="green"),
    ]

    planned = plan(theirs, [wanted(WWW, set_identifier="blue")])

    assert planned.is_empty()
    assert "Another owner has a record set at the same name" in reasons(planned)[f"{WWW} A"]


@pytest.mark.parametrize(
    ("standing", "record_type", "targets"),
    [
        (make_record(WWW, "MX", ("10 mail.example.org",)), "CNAME", ["lb.example.net"]),
        (make_record(WWW, "TXT", ('"v=spf1 -all"',)), "CNAME", ["lb.example.net"]),
    ],
)
def test_a_cname_is_not_created_beside_what_stands_there(
    standing: object, record_type: str, targets: list[str]
) -> None:
    planned = plan([standing], [wanted(WWW, record_type, targets)])  # type: ignore[list-item]  # an endpoint

    assert planned.is_empty()
    assert "cannot exist beside" in reasons(planned)[f"{WWW} CNAME"]


@pytest.mark.parametrize(
    ("policy", "creates", "updates", "deletes"),
    [(Policy.SYNC, 1, 1, 1), (Policy.UPSERT_ONLY, 1, 1, 0), (Policy.CREATE_ONLY, 1, 0, 0)],
)
def test_the_policy_says_what_may_be_done(policy: Policy, creates: int, updates: int, deletes: int) -> None:
    zone = [*MINE, make_record("old.example.org"), make_claim("old.example.org")]
    desired = [wanted(WWW, targets=["192.0.2.9"]), wanted("new.example.org")]

    planned = plan(zone, desired, policy=policy)

    assert (len(planned.creates), len(planned.updates), len(planned.deletes)) == (creates, updates, deletes)


def test_what_is_outside_the_domain_filter_is_not_looked_at() -> None:
    zone = [*MINE, make_record("www.example.net"), make_claim("www.example.net")]

    planned = plan(zone, [wanted("new.example.net")], domain_filter=DomainFilter(include=("example.org",)))

    assert [each.key.name for each in planned.deletes] == [WWW]
    assert planned.creates == ()
    assert "outside the domain filter" in reasons(planned)["new.example.net A"]


def test_types_that_are_not_managed_are_not_looked_at() -> None:
    zone = [make_record(WWW, "MX", ("10 mail.example.org",)), make_claim(WWW, "MX")]

    planned = plan(zone, [wanted("new.example.org", "MX", ["10 mail.example.org"])])

    assert planned.is_empty()
    assert "not managed" in reasons(planned)["new.example.org MX"]


def test_a_name_that_cannot_exist_is_left_alone_and_fails_no_other() -> None:
    planned = plan([], [wanted("not a name"), wanted(WWW)])

    assert len(planned.creates) == 1
    assert "cannot exist" in reasons(planned)["not a name A"]


def test_without_ownership_everything_in_reach_is_its_own_and_nothing_is_claimed() -> None:
    zone = [make_record("old.example.org"), make_record(WWW)]

    after = apply(zone, [wanted(WWW, targets=["192.0.2.9"]), wanted("new.example.org")], has_ownership=False)

    assert {each.dns_name: each.targets for each in after} == {
        WWW: ("192.0.2.9",),
        "new.example.org": ("192.0.2.1",),
    }
