"""The plausibility rule, over counts alone."""

from dataclasses import replace
from typing import Any

import pytest

from registry_app.mirror.plausibility import Comparison, Holding, LostClaims, Thresholds, find_reasons

NORMAL = Comparison(item_count=200, known=100, still_there=100, claims_known=100, claims_seen=100, owned=100)
EMPTY = replace(NORMAL, item_count=0, still_there=0, owned=0, claims_seen=0)
LIMITS = Thresholds()


def _codes(thresholds: Thresholds = LIMITS, **values: Any) -> list[str]:
    return [reason.code for reason in find_reasons(replace(NORMAL, **values), thresholds)]


def test_a_snapshot_like_the_last_one_is_plausible() -> None:
    assert _codes() == []


@pytest.mark.parametrize(("still_there", "codes"), [(70, []), (69, ["shrunk"])])
def test_it_may_lose_thirty_percent_and_no_more(still_there: int, codes: list[str]) -> None:
    assert _codes(still_there=still_there, owned=still_there) == codes


@pytest.mark.parametrize(("known", "codes"), [(9, []), (10, ["shrunk"])])
def test_fewer_than_ten_known_record_sets_may_shrink(known: int, codes: list[str]) -> None:
    assert _codes(known=known, still_there=1, owned=1) == codes


def test_an_empty_response_is_held_where_something_was_known() -> None:
    assert [reason.code for reason in find_reasons(EMPTY, LIMITS)] == ["empty"]


def test_an_empty_response_is_plausible_where_nothing_was_known() -> None:
    assert find_reasons(Comparison(item_count=0), LIMITS) == []


def test_an_empty_response_is_plausible_where_it_is_allowed() -> None:
    assert find_reasons(replace(EMPTY, allow_empty=True), LIMITS) == []


def test_allowing_the_empty_response_does_not_allow_a_shrunk_one() -> None:
    assert _codes(still_there=10, owned=10, allow_empty=True) == ["shrunk"]


@pytest.mark.parametrize(("changed", "codes"), [(30, []), (31, ["owners_changed"])])
def test_the_owners_of_thirty_percent_may_change_and_no_more(changed: int, codes: list[str]) -> None:
    assert _codes(owner_changed=changed) == codes


def test_claims_that_are_all_gone_are_held() -> None:
    assert _codes(claims_seen=0) == ["claims_gone"]


def test_claims_that_dnsadmin_removed_may_all_be_gone() -> None:
    assert _codes(claims_known=0, claims_seen=0) == []


@pytest.mark.parametrize(("lost", "codes"), [(30, []), (31, ["claims_lost"])])
def test_who_cannot_compare_owners_may_miss_thirty_percent_of_the_claims_and_no_more(
    lost: int, codes: list[str]
) -> None:
    assert _codes(claims_seen=100 - lost, claims_lost=lost) == codes


def test_owners_who_lost_their_claims_are_named_and_the_rest_counted() -> None:
    losses = [
        LostClaims(Holding("1", f"owner-{number}"), "crd", known=2, shown=0, still_present=2)
        for number in range(7)
    ]

    (found,) = find_reasons(replace(NORMAL, lost_claims=losses), LIMITS)

    assert found.code == "store_emptied"
    assert "all 2 claims of owner-4 in the crd registry, and those of 2 more owners." in found.text
    assert "14 record sets that they claimed are still there." in found.text
    assert "owner-5" not in found.text


def test_another_service_behind_the_address_is_held() -> None:
    assert "another_service" in _codes(known=3, still_there=0, owned=0)


def test_another_domain_filter_is_held() -> None:
    assert _codes(is_filter_changed=True) == ["domain_filter_changed"]


@pytest.mark.parametrize(("set_aside", "codes"), [(2, []), (3, ["set_aside"])])
def test_one_percent_may_be_set_aside_and_no_more(set_aside: int, codes: list[str]) -> None:
    assert _codes(set_aside=set_aside) == codes


def test_what_was_set_aside_before_is_no_news() -> None:
    assert _codes(set_aside=30, set_aside_before=30) == []


@pytest.mark.parametrize(("new_owners", "codes"), [(500, []), (501, ["new_owners"])])
def test_it_may_name_five_hundred_owners_that_nobody_knew(new_owners: int, codes: list[str]) -> None:
    assert _codes(new_owners=new_owners) == codes


def test_a_provider_may_have_limits_of_its_own() -> None:
    strict = Thresholds(missing_percent=10, owners_changed_percent=5)

    assert _codes(strict, still_there=90, owned=90) == []
    assert _codes(strict, still_there=89, owned=89) == ["shrunk"]
    assert _codes(strict, owner_changed=5) == []
    assert _codes(strict, owner_changed=6) == ["owners_changed"]
