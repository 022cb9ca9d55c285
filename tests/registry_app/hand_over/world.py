"""Two guarded instances that share a provider, and the hand-over of one's names to the other."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.hand_over.advance_hand_over import advance_hand_over
from registry_app.hand_over.decide_hand_over import approve_hand_over
from registry_app.hand_over.request_hand_over import HandOverRequest, preview_hand_over, request_hand_over
from registry_app.models import GuardEndpoint, HandOver, Owner, Provider
from registry_app.queries.transfer import due_transfers
from registry_app.transfer.send.run_transfer import run_transfer
from tests.external_dns.instance import Instance
from tests.external_dns.settings import Settings
from tests.factories import make_instance, make_owner
from tests.registry_app.guard.serving import Guarded, guarded
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.transfer.world import make_alice, make_bob

BLUE, GREEN = "blue-cluster", "green-cluster"
_LIMITS = {"max_transfer_percent": 100, "max_transfer_count": 10_000}


@dataclass
class Clusters:
    """The provider, and the instances of both clusters."""

    guard: Guarded
    blue: Instance
    green: Instance

    @property
    def provider(self) -> Provider:
        return Provider.objects.get(pk=self.guard.endpoint.provider_id)

    def records(self) -> dict[tuple[str, str], tuple[str, ...]]:
        zone = self.guard.reference.backend.records()
        return {(each.dns_name, each.record_type): each.targets for each in zone if each.record_type != "TXT"}

    def owners(self) -> dict[str, int]:
        """How many claims name each owner."""
        texts = [each for each in self.guard.reference.backend.records() if each.record_type == "TXT"]
        return {owner: sum(f"owner={owner}" in each.targets[0] for each in texts) for owner in (BLUE, GREEN)}

    def build_request(self, **values: Any) -> HandOverRequest:
        """All of blue-cluster to green-cluster, unless said otherwise."""
        return HandOverRequest(
            **{
                "provider": self.provider,
                "from_owner": Owner.objects.get(owner_id=BLUE),
                "to_owner": Owner.objects.get(owner_id=GREEN),
                "ends_at": fetch_now() + timedelta(days=7),
                "reason": "The shop moves.",
                **values,
            }
        )

    def begin(self, **values: Any) -> HandOver:
        """A hand-over that was requested by alice and approved by bob."""
        request = self.build_request(**values)
        fingerprint = preview_hand_over(make_alice(), request).fingerprint
        row = request_hand_over(make_alice(), request, fingerprint=fingerprint)
        return approve_hand_over(make_bob(), row.public_id, fingerprint=fingerprint)

    def work(self, row: HandOver) -> None:
        """What the scheduler does within half a minute: it moves what is wanted, and syncs."""
        for _ in range(2):
            HandOver.objects.update(next_run_at=None)
            advance_hand_over(row.pk)
            for transfer_id in due_transfers():
                run_transfer(transfer_id)
            sync(self.provider)


def states(row: HandOver) -> dict[str, str]:
    """The state of each name."""
    return dict(row.items.values_list("name", "state"))


@contextmanager
def open_clusters(folder: Path, zone: list[Endpoint], **provider: Any) -> Iterator[Clusters]:
    """Both clusters behind the guard, which enforces; blue wants all that it has."""
    with ExitStack() as stack:
        settings: dict[str, Any] = {"mode": GuardEndpoint.Mode.ENFORCE, "first_changes_at": fetch_now()}
        guard = stack.enter_context(guarded(folder, zone, value_exact=False, **settings))
        Provider.objects.update(**{**_LIMITS, "approval_policy": "other_person", **provider})
        green = GuardEndpoint.objects.create(
            provider=guard.endpoint.provider,
            instance=make_instance(make_owner(GREEN), policy="sync"),
            slug="green",
            **settings,
        )
        blue_url, green_url = guard.url, f"{guard.guard_url}/{green.slug}"
        desired = [each for each in zone if each.record_type != "TXT"]
        yield Clusters(
            guard,
            stack.enter_context(Instance(Settings(blue_url, BLUE), desired)),
            stack.enter_context(Instance(Settings(green_url, GREEN))),
        )
