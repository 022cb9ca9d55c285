"""What a user gets who generates a client from `docs/openapi.yaml`: one that can move ownership."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from registry_app.models import Provider, Transfer
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator
from tests.reference_server import make_zone
from tests.registry_app.api.client import make_token
from tests.registry_app.transfer.world import BLUE, GREEN, World, open_world

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True), pytest.mark.one_database]

_DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi.yaml"
_PACKAGE = "generated_dnsadmin_client"
_COUNT = 100


class Program:
    """A user's program: the generated package, and a token."""

    def __init__(self, address: str, username: str) -> None:
        _, token = make_token(make_administrator(username))
        self._client = _module("client").AuthenticatedClient(
            base_url=address, token=token, raise_on_unexpected_status=True
        )

    def ask(self, operation: str, *ids: Any, **values: Any) -> Any:
        """The parsed answer of one operation, such as `transfers.transfers_create`."""
        return _module(f"api.{operation}").sync(*ids, client=self._client, **values)


@pytest.fixture(scope="module")
def _package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("client")
    # It takes a while, and is needed here alone.
    from openapi_python_client import generate
    from openapi_python_client.config import Config, ConfigFile, MetaType

    config = ConfigFile(post_hooks=[], package_name_override=_PACKAGE)
    complaints = generate(
        config=Config.from_sources(
            config, MetaType.NONE, _DOCUMENT, "utf-8", overwrite=True, output_path=folder / _PACKAGE
        )
    )
    assert [str(complaint) for complaint in complaints] == []
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture
def world() -> Iterator[World]:
    policy = Provider.ApprovalPolicy.OTHER_PERSON
    with open_world(make_zone(BLUE, _COUNT), approval_policy=policy) as opened:
        yield opened


@pytest.mark.usefixtures("_package")
def test_it_moves_a_hundred_record_sets(world: World, live_server: LiveServer) -> None:
    models = _module("models")
    alice, bob = (Program(live_server.url, name) for name in ("alice", "bob"))
    before = world.reference.zone_bytes()
    asked = models.TransferBody(
        kind=models.TransferBodyKindEnum.TRANSFER,
        selection=models.SelectionBody(owner=BLUE),
        target_owner=GREEN,
        target_intent=models.TargetIntentEnum.SAME,
        reason="Green takes the shop over.",
    )

    (plan,) = alice.ask("transfers.transfers_preview_create", body=asked, limit=3).plans
    asked.confirmation = plan.confirmation_text
    asked.fingerprints = models.TransferBodyFingerprints.from_dict({str(plan.provider.id): plan.fingerprint})
    tried = alice.ask("transfers.transfers_create", body=asked, dry_run=True)
    assert (len(tried.transfers), Transfer.objects.count()) == (1, 0)
    (transfer,) = alice.ask("transfers.transfers_create", body=asked, idempotency_key="k1").transfers
    approval = models.ApprovalBody(fingerprint=transfer.plan_fingerprint)
    approved = bob.ask("transfers.transfers_approve_create", transfer.id, body=approval)
    run_transfer(Transfer.objects.get(public_id=transfer.id).pk)

    shown = bob.ask("transfers.transfers_retrieve", transfer.id)
    items = bob.ask("transfers.transfers_items_list", transfer.id, limit=1000).items
    assert (plan.item_count, len(plan.items), approved.status.value) == (_COUNT, 3, "approved")
    assert (shown.status.value, shown.progress.verified) == ("verified", _COUNT)
    assert {item.status.value for item in items} == {"verified"}
    assert world.reference.zone_bytes() == before.replace(BLUE.encode(), GREEN.encode())


@pytest.mark.usefixtures("_package")
def test_a_refusal_is_a_problem_it_can_read(world: World, live_server: LiveServer) -> None:
    models = _module("models")
    alice = Program(live_server.url, "alice")
    asked = models.TransferBody(
        kind=models.TransferBodyKindEnum.TRANSFER,
        selection=models.SelectionBody(owner=BLUE),
        reason="No target.",
    )

    problem = alice.ask("transfers.transfers_create", body=asked)

    assert isinstance(problem, models.Problem)
    assert (problem.status, problem.todo != "") == (422, True), problem


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{_PACKAGE}.{name}")
