"""A write to several ConfigMaps takes no longer than one deadline, as long as its lease was asked for."""

import time

import pytest

from providers.http.bounded_http import Limits
from providers.http.errors import OutcomeUnknown
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.configmap_registry import ConfigMapStore
from tests.kubernetes_api.faults import slow
from tests.kubernetes_api.server import NAMESPACE, KubernetesApi
from tests.providers.stores.configmap.maps import make_store, make_text
from tests.reference_server import make_record

OWNERS = ["blue-cluster", "green-cluster", "red-cluster"]


def test_slow_maps_share_one_deadline_and_asking_again_completes_the_change() -> None:
    with KubernetesApi() as api:
        changes = [
            StoredClaimChange(make_record(f"{owner}.example.org"), None, make_text(owner)) for owner in OWNERS
        ]
        store = ConfigMapStore(api.client(Limits(seconds=1.0)), NAMESPACE, max_items=100)
        api.faults.plan("create /configmaps", slow(0.7), times=3)

        started = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            store.write(changes)
        seconds = time.monotonic() - started
        api.faults.clear()
        make_store(api).write(changes)

        assert seconds < 1.6
        texts = sorted(claim.text for claim in make_store(api).fetch_claims())
        assert texts == [make_text(owner) for owner in OWNERS]
