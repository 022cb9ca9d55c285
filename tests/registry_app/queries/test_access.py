"""Who may do what: nobody may anything by default, and a grant reaches exactly as far as it says."""

import pytest
from django.contrib.auth.models import Group, User

from registry_app.actor import SYSTEM, Actor
from registry_app.models import Finding, Grant, Owner, Provider
from registry_app.queries.access import may_acknowledge, may_act, may_administer, may_operate, may_read

REQUEST, APPROVE, OPERATE = Grant.Action.REQUEST, Grant.Action.APPROVE, Grant.Action.OPERATE


class World:
    """team-blue with alice; two providers, two owners."""

    def __init__(self) -> None:
        self.team = Group.objects.create(name="team-blue")
        self.alice_row = User.objects.create(username="alice")
        self.alice_row.groups.add(self.team)
        self.alice = Actor(kind="user", name="alice", user_id=self.alice_row.pk)
        self.public = Provider.objects.create(name="public-dns", url="http://127.0.0.1:1")
        self.edge = Provider.objects.create(name="edge-dns", url="http://127.0.0.1:2")
        self.blue = Owner.objects.create(owner_id="blue-cluster")
        self.green = Owner.objects.create(owner_id="green-cluster")

    def grant(self, **narrowed: object) -> None:
        Grant.objects.create(group=self.team, action=REQUEST, **narrowed)

    def may(self, actor: Actor | None = None, **changed: object) -> bool:
        asked: dict[str, object] = {"provider": self.public, "owner": self.blue, "names": ["www.example.org"]}
        return may_act(actor or self.alice, REQUEST, **(asked | changed))  # type: ignore[arg-type]


@pytest.fixture
def world(db: None) -> World:
    return World()


def test_without_a_grant_the_answer_is_no(world: World) -> None:
    assert not world.may()


def test_nobody_may_nothing(world: World) -> None:
    world.grant()
    nobody = Actor(kind="user", name="")

    assert not world.may(nobody)
    assert not may_read(nobody)
    assert not may_administer(nobody)
    assert not may_operate(nobody, world.public)


def test_a_grant_for_everything_covers_everything(world: World) -> None:
    world.grant()

    assert world.may()
    assert world.may(provider=world.edge, owner=None)


def test_a_grant_of_one_action_is_none_of_another(world: World) -> None:
    world.grant()

    asked = {"provider": world.public, "owner": world.blue, "names": ["www.example.org"]}
    allowed = may_act(world.alice, APPROVE, **asked)  # type: ignore[arg-type]

    assert not allowed


def test_a_check_that_is_given_no_names_says_no_even_to_administrators(world: World) -> None:
    world.grant()
    root = Actor(kind="user", name="root", user_id=1, is_superuser=True)

    answers = [world.may(actor, names=[]) for actor in (world.alice, root, SYSTEM)]

    assert answers == [False, False, False]


@pytest.mark.parametrize("narrowed", ["name", "owner", "provider"])
def test_a_whole_provider_is_operated_only_under_a_grant_for_all_of_it(world: World, narrowed: str) -> None:
    narrowings: dict[str, dict[str, object]] = {
        "name": {"name_suffix": "example.org"},
        "owner": {"owner": world.blue},
        "provider": {"provider": world.edge},
    }
    Grant.objects.create(group=world.team, action=OPERATE, **narrowings[narrowed])
    refused = may_operate(world.alice, world.public)

    Grant.objects.create(group=world.team, action=OPERATE, provider=world.public)

    assert not refused
    assert may_operate(world.alice, world.public)


def test_a_finding_is_acknowledged_by_who_operates_what_it_is_about(world: World) -> None:
    Grant.objects.create(group=world.team, action=OPERATE, name_suffix="shop.example.org")
    about = {"provider": world.public, "kind": Finding.Kind.LEGACY_CLAIM}
    findings = {
        "its name": Finding(**about, name="www.shop.example.org", owner=world.blue),
        "another name": Finding(**about, name="www.example.org", owner=world.blue),
        "all of an owner": Finding(**about, owner=world.blue),
        "the whole provider": Finding(**about),
        "dnsadmin itself": Finding(kind=Finding.Kind.LOOP_STUCK),
    }

    allowed = {what for what, finding in findings.items() if may_acknowledge(world.alice, finding)}

    assert allowed == {"its name"}


def test_what_stands_between_two_owners_is_no_matter_for_who_operates_one(world: World) -> None:
    Grant.objects.create(group=world.team, action=OPERATE, owner=world.blue)
    about = {"provider": world.public, "name": "www.example.org", "owner": world.blue}
    split = Finding(kind=Finding.Kind.SPLIT_OWNER, **about)
    legacy = Finding(kind=Finding.Kind.LEGACY_CLAIM, **about)

    assert not may_acknowledge(world.alice, split)
    assert may_acknowledge(world.alice, legacy)


def test_a_grant_narrowed_to_a_provider_ends_there(world: World) -> None:
    world.grant(provider=world.public)

    assert world.may()
    assert not world.may(provider=world.edge)


def test_a_grant_narrowed_to_an_owner_covers_neither_another_nor_the_unmanaged(world: World) -> None:
    world.grant(owner=world.blue)

    assert world.may()
    assert not world.may(owner=world.green)
    assert not world.may(owner=None)


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("shop.example.org", True),
        ("www.shop.example.org", True),
        ("workshop.example.org", False),
        ("example.org", False),
    ],
)
def test_a_grant_narrowed_to_a_suffix_covers_names_at_and_below_it(
    world: World, name: str, *, covered: bool
) -> None:
    world.grant(name_suffix="shop.example.org")

    assert world.may(names=[name]) is covered


def test_every_name_must_be_covered(world: World) -> None:
    world.grant(name_suffix="shop.example.org")
    world.grant(name_suffix="blog.example.org")

    assert world.may(names=["a.shop.example.org", "a.blog.example.org"])
    assert not world.may(names=["a.shop.example.org", "a.wiki.example.org"])


def test_an_inactive_person_loses_every_grant(world: World) -> None:
    world.grant()
    User.objects.update(is_active=False)

    assert not world.may()


def test_a_token_is_bound_by_its_scopes_and_owners(world: World) -> None:
    world.grant()
    own = {"kind": "token", "name": "ci", "user_id": world.alice_row.pk}
    planner = Actor(**own, scopes=frozenset({"plan"}), owner_ids=frozenset({"blue-cluster"}))  # type: ignore[arg-type]
    reader = Actor(**own, scopes=frozenset({"read"}))  # type: ignore[arg-type]

    assert world.may(planner)
    assert not world.may(planner, owner=world.green)
    assert not world.may(planner, owner=None)
    assert not world.may(reader)
    assert may_read(reader)
    assert not may_read(planner)


def test_even_a_superuser_is_bound_by_the_scopes_of_the_token_in_use(world: World) -> None:
    token = Actor(kind="token", name="ci", user_id=1, is_superuser=True, scopes=frozenset({"read"}))

    assert not world.may(token)
    assert not may_administer(token)
    assert may_administer(SYSTEM)


def test_an_administrators_token_narrowed_to_an_owner_administers_nothing(world: World) -> None:
    narrowed = Actor(
        kind="token", name="ci", user_id=1, is_superuser=True, owner_ids=frozenset({"blue-cluster"})
    )

    assert not may_administer(narrowed)
