"""Who may do what: nobody may anything by default, and a grant reaches exactly as far as it says."""

import pytest
from django.contrib.auth.models import Group, User

from registry_app.actor import SYSTEM, Actor
from registry_app.models import Grant, Owner, Provider
from registry_app.queries.access import may_act, may_administer, may_operate, may_read

REQUEST, APPROVE = Grant.Action.REQUEST, Grant.Action.APPROVE


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

    allowed = may_act(world.alice, APPROVE, provider=world.public, owner=world.blue, names=[])

    assert not allowed


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
