"""The rules by which a snapshot is not believed, over counts alone."""

from dataclasses import replace

import pytest

from registry_app.mirror.lost_claims import Holding, LostClaims
from registry_app.reconcile.rows.plan import Tally
from registry_app.reconcile.suspicion import Circumstances, find_suspicions

NORMAL = Circumstances(
    item_count=200,
    set_aside=0,
    set_aside_before=0,
    claims_removed_by_us=0,
    allow_empty=False,
    is_filter_changed=False,
    new_owners=0,
)


def _tally(**values: int) -> Tally:
    tally = Tally(known=100, still_there=100, seen=100, owned=100, claims_known=100, claims_seen=100)
    for field, count in values.items():
        setattr(tally, field, count)
    return tally


def _codes(tally: Tally, around: Circumstances = NORMAL) -> list[str]:
    return [suspicion.code for suspicion in find_suspicions(tally, around)]


def test_a_snapshot_like_the_last_one_is_believed() -> None:
    assert _codes(_tally()) == []


@pytest.mark.parametrize(("still_there", "codes"), [(70, []), (69, ["shrunk"])])
def test_it_may_lose_thirty_percent_and_no_more(still_there: int, codes: list[str]) -> None:
    assert _codes(_tally(still_there=still_there, owned=still_there)) == codes


@pytest.mark.parametrize(("known", "codes"), [(9, []), (10, ["shrunk"])])
def test_fewer_than_ten_known_record_sets_may_shrink(known: int, codes: list[str]) -> None:
    assert _codes(_tally(known=known, still_there=1, seen=1, owned=1)) == codes


def test_an_empty_answer_is_not_believed_where_something_was_known() -> None:
    empty = replace(NORMAL, item_count=0)

    assert _codes(_tally(still_there=0, seen=0, owned=0, claims_seen=0), empty) == ["empty"]


def test_an_empty_answer_is_believed_where_nothing_was_known() -> None:
    empty = replace(NORMAL, item_count=0)
    nothing = Tally()

    assert _codes(nothing, empty) == []


def test_an_empty_answer_is_believed_where_it_is_allowed() -> None:
    allowed = replace(NORMAL, item_count=0, allow_empty=True)

    assert _codes(_tally(still_there=0, seen=0, owned=0, claims_seen=0), allowed) == []


def test_allowing_the_empty_answer_does_not_allow_a_shrunk_one() -> None:
    allowed = replace(NORMAL, allow_empty=True)

    assert _codes(_tally(still_there=10, seen=10, owned=10), allowed) == ["shrunk"]


@pytest.mark.parametrize(("changed", "codes"), [(30, []), (31, ["owners_changed"])])
def test_the_owners_of_thirty_percent_may_change_and_no_more(changed: int, codes: list[str]) -> None:
    assert _codes(_tally(owner_changed=changed)) == codes


def test_claims_that_are_all_gone_are_not_believed() -> None:
    assert _codes(_tally(claims_seen=0)) == ["claims_gone"]


def test_claims_that_transfers_of_ours_removed_may_all_be_gone() -> None:
    assert _codes(_tally(claims_known=3, claims_seen=0), replace(NORMAL, claims_removed_by_us=3)) == []


def test_owners_who_lost_their_claims_are_told_by_name_and_the_rest_counted() -> None:
    tally = _tally()
    tally.lost_claims = [
        LostClaims(Holding("1", f"owner-{number}"), "crd", known=2, shown=0, standing=2)
        for number in range(7)
    ]

    (found,) = find_suspicions(tally, NORMAL)

    assert found.code == "store_emptied"
    assert "all 2 claims of owner-4 in the crd registry, and those of 2 more owners." in found.text
    assert "14 record sets that they spoke for stand as before" in found.text
    assert "owner-5" not in found.text


def test_another_service_behind_the_address_is_not_believed() -> None:
    assert "another_service" in _codes(_tally(known=3, still_there=0, seen=80, owned=0))


def test_another_domain_filter_is_not_believed() -> None:
    assert _codes(_tally(), replace(NORMAL, is_filter_changed=True)) == ["domain_filter_changed"]


@pytest.mark.parametrize(("set_aside", "codes"), [(2, []), (3, ["set_aside"])])
def test_one_percent_may_be_set_aside_and_no_more(set_aside: int, codes: list[str]) -> None:
    assert _codes(_tally(), replace(NORMAL, set_aside=set_aside)) == codes


def test_what_was_set_aside_before_is_no_news() -> None:
    assert _codes(_tally(), replace(NORMAL, set_aside=30, set_aside_before=30)) == []


@pytest.mark.parametrize(("new_owners", "codes"), [(500, []), (501, ["new_owners"])])
def test_it_may_name_five_hundred_owners_that_nobody_knew(new_owners: int, codes: list[str]) -> None:
    assert _codes(_tally(), replace(NORMAL, new_owners=new_owners)) == codes
