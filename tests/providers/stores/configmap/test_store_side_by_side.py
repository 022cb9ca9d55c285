"""Several writers at once in one registry that has to be cut while they write."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from providers.http.errors import OutcomeUnknown
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.kubernetes.refusals import Conflict
from tests.kubernetes_api.server import KubernetesApi
from tests.providers.stores.configmap.maps import BLUE, GREEN, make_store, make_text, owners_of
from tests.reference_server import make_record

WRITERS = 4
WRITES = 4
NAMES_PER_WRITE = 3


def make_changes(writer: int, number: int) -> list[StoredClaimChange]:
    """Rows so large that all of them need several shards, interleaved with those of the other writers."""
    label = "x" * 40_000
    owner = GREEN if number % 2 else BLUE
    return [
        StoredClaimChange(
            make_record(f"n{number}{each}{writer}.example.org"), None, make_text(owner, f"{writer}/{label}")
        )
        for each in range(NAMES_PER_WRITE)
    ]


def write_all(api: KubernetesApi, writer: int) -> int:
    """How often this writer had to give way."""
    store = make_store(api)
    conflicts = 0
    for number in range(WRITES):
        is_made = False
        while not is_made and conflicts < 100:
            try:
                store.write(make_changes(writer, number))
                is_made = True
            except (Conflict, OutcomeUnknown):  # asked for again, it is completed
                conflicts += 1
    return conflicts


@pytest.mark.deep
def test_no_writer_loses_a_row_of_another() -> None:
    with KubernetesApi() as api:
        with ThreadPoolExecutor(WRITERS) as pool:
            conflicts = list(pool.map(lambda writer: write_all(api, writer), range(WRITERS)))

        claimed = owners_of(make_store(api))

        assert max(conflicts) < 100
        assert claimed == {
            change.record.dns_name: {GREEN if number % 2 else BLUE}
            for writer in range(WRITERS)
            for number in range(WRITES)
            for change in make_changes(writer, number)
        }
        assert len(api.objects("configmaps")) > 2
