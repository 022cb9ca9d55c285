"""`make measure`: how large the product is, and through how many files one sync and one transfer pass."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from bench.bodies import write_body
from bench.processes import prepare, product_folder, run_apart
from bench.transfer import SOURCE, TARGET, memory_server

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("dnsadmin", "providers", "registry_app")
_RECORD_SETS = 50
_LONGEST_SHOWN = 5
# Above this, ruff says how complex a function is.
_COMPLEX = 10

_Result = TypeVar("_Result")


def measure() -> None:
    """Print one line of JSON for each figure."""
    paths = [path for path in _list_product() if "migrations" not in path.parts]
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in paths}
    _print(product_lines=sum(lines.values()), product_files=len(paths))
    _print(files_under_30_lines=sum(count < 30 for count in lines.values()))
    longest = sorted((each for path in paths for each in _list_functions(path)), reverse=True)
    _print(longest_functions=[f"{name}: {count}" for count, name in longest[:_LONGEST_SHOWN]])
    _print(functions_over_40_lines=sum(count > 40 for count, _ in longest))
    _print(complex_functions=_list_complex())
    traced = _trace()
    _print(**{f"files_of_one_{name}": len(files) for name, files in traced.items()})


def trace_sync_and_transfer(provider_id: int, result: Connection) -> None:
    """The files in which a function ran: in a sync, and in a transfer from its preview to its end."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model

    from registry_app.actor import SYSTEM, Actor
    from registry_app.models import Owner, Provider, Transfer
    from registry_app.reconcile.sync import sync_provider
    from registry_app.transfer.plan.preview import preview_transfer
    from registry_app.transfer.plan.transfer_request import Selection, TransferRequest
    from registry_app.transfer.request_transfer import request_transfer
    from registry_app.transfer.send.run_transfer import run_transfer

    policy = Provider.ApprovalPolicy.NONE
    Provider.objects.filter(pk=provider_id).update(approval_policy=policy, max_transfer_percent=100)
    Owner.objects.create(owner_id=TARGET, status=Owner.Status.REGISTERED)
    user = get_user_model().objects.create_superuser("alice")
    alice = Actor(kind="user", name="alice", user_id=user.pk, is_superuser=True)
    asked = TransferRequest(
        kind=Transfer.Kind.TRANSFER,
        selection=Selection(owner_id=SOURCE),
        target_owner_id=TARGET,
        target_intent=Transfer.TargetIntent.SAME,
        reason="Measured.",
    )

    def transfer() -> str:
        seen = {plan.provider.pk: plan.fingerprint for plan in preview_transfer(alice, asked)}
        (found,) = request_transfer(alice, replace(asked, fingerprints=seen))
        run_transfer(found.pk)
        found.refresh_from_db()
        return str(found.status)

    run, sync_files = _watch(lambda: sync_provider(provider_id, actor=SYSTEM, trigger="person"))
    status, transfer_files = _watch(transfer)
    if run is None or run.status != "stored" or status != "verified":
        raise RuntimeError(f"the sync ended {run and run.status}, the transfer {status}")
    result.send({"sync": sync_files, "transfer": transfer_files})


def _trace() -> dict[str, list[str]]:
    with product_folder() as folder:
        seed = folder / "records.json"
        write_body(seed, _RECORD_SETS, owners=1, unmanaged_every=0)
        with memory_server(seed) as url:
            (provider_id,) = run_apart(prepare, folder, [url])
            return dict(run_apart(trace_sync_and_transfer, provider_id))


def _watch(act: Callable[[], _Result]) -> tuple[_Result, list[str]]:
    """What `act` returns, and the product's files in which it ran a function."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        result = act()
    finally:
        sys.setprofile(None)
    product = {str(path) for path in _list_product()}
    return result, sorted(seen & product)


def _list_product() -> Iterator[Path]:
    for package in _PACKAGES:
        yield from sorted((_ROOT / package).rglob("*.py"))


def _list_functions(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            yield count, f"{path.relative_to(_ROOT)}:{node.name}"


def _list_complex() -> list[str]:
    limit = f"lint.mccabe.max-complexity = {_COMPLEX}"
    command = ["ruff", "check", "--select", "C901", "--ignore-noqa", "--output-format", "json"]
    answer = subprocess.run(
        [sys.executable, "-m", *command, "--config", limit, *_PACKAGES],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return [str(each["message"]) for each in json.loads(answer.stdout)]


def _print(**figures: Any) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    measure()
