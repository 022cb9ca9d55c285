"""A change set taken apart."""

import pytest

from providers.backends.errors import ChangeImpossible, ChangeRefused
from providers.backends.single_change import is_same_value, single_changes
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.reference_server import make_record


def test_it_orders_deletes_before_updates_before_creates() -> None:
    change_set = ChangeSet(
        create=(make_record("new.example.org"),),
        update_old=(make_record("kept.example.org"),),
        update_new=(make_record("kept.example.org", targets=("192.0.2.9",)),),
        delete=(make_record("gone.example.org"),),
    )

    changes = single_changes(change_set)

    assert [each.key.name for each in changes] == ["gone.example.org", "kept.example.org", "new.example.org"]
    assert [(each.old is None, each.new is None) for each in changes] == [
        (False, True),
        (False, False),
        (True, False),
    ]


def test_it_pairs_updates_by_identity_not_by_position() -> None:
    one, two = make_record("one.example.org"), make_record("two.example.org")
    new_one = make_record("ONE.example.org.", targets=("192.0.2.11",))
    new_two = make_record("two.example.org", targets=("192.0.2.12",))

    changes = single_changes(ChangeSet(update_old=(one, two), update_new=(new_two, new_one)))

    assert [(each.old, each.new) for each in changes] == [(one, new_one), (two, new_two)]


@pytest.mark.parametrize(
    "change_set",
    [
        ChangeSet(update_old=(make_record(),)),
        ChangeSet(update_new=(make_record(),)),
        ChangeSet(update_old=(make_record("a.example.org"),), update_new=(make_record("b.example.org"),)),
        ChangeSet(create=(make_record(), make_record("WWW.example.org"))),
        ChangeSet(update_old=(make_record(),), update_new=(make_record(),), delete=(make_record(),)),
    ],
    ids=["old alone", "new alone", "other names", "created twice", "updated and deleted"],
)
def test_it_refuses_a_change_set_that_contradicts_itself(change_set: ChangeSet) -> None:
    with pytest.raises(ChangeRefused, match="Nothing was applied"):
        single_changes(change_set)


def test_it_lets_a_record_set_be_deleted_and_created_again_in_one_request() -> None:
    changes = single_changes(ChangeSet(create=(make_record(ttl=60),), delete=(make_record(),)))

    assert [each.new is None for each in changes] == [True, False]


@pytest.mark.parametrize("name", ["", "a..example.org", "x" * 64 + ".example.org", "two words.example.org"])
def test_it_calls_a_name_that_cannot_exist_impossible(name: str) -> None:
    with pytest.raises(ChangeImpossible, match="cannot exist"):
        single_changes(ChangeSet(create=(make_record(name),)))


def test_it_calls_a_record_without_a_type_impossible() -> None:
    with pytest.raises(ChangeImpossible, match="without a record type"):
        single_changes(ChangeSet(create=(make_record(record_type=""),)))


def test_the_same_value_does_not_depend_on_the_order_of_targets_nor_on_labels() -> None:
    held = make_record(targets=("192.0.2.1", "192.0.2.2"))
    sent = Endpoint(
        dns_name="www.example.org",
        targets=("192.0.2.2", "192.0.2.1"),
        record_type="A",
        record_ttl=300,
        labels={"owner": "blue-cluster"},
    )

    assert is_same_value(held, sent)


@pytest.mark.parametrize(
    "other",
    [
        make_record(ttl=301),
        make_record(targets=("192.0.2.2",)),
        make_record(targets=("192.0.2.1", "192.0.2.1")),
        Endpoint(
            dns_name="www.example.org",
            targets=("192.0.2.1",),
            record_type="A",
            record_ttl=300,
            provider_specific=(ProviderSpecificProperty("alias", "true"),),
        ),
    ],
    ids=["ttl", "target", "target twice", "property"],
)
def test_another_ttl_target_or_property_is_another_value(other: Endpoint) -> None:
    assert not is_same_value(make_record(), other)
