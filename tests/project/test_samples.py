"""The samples hold what a first look should find."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dnsadmin.free_port import find_free_port
from dnsadmin.prepare import prepare_state
from dnsadmin.samples.zones import EDGE_PREFIX, SHOP_PREFIX, build_sample_zones
from providers.registries.claim import DEFAULT_PROFILE, ClaimVerdict, OwnershipState, Pairing, TxtProfile
from providers.registries.pairing import pair

pytestmark = [pytest.mark.deep, pytest.mark.one_database]

KEY = b"k" * 32


def _pairings() -> dict[str, Pairing]:
    registered = {
        "edge-dns": [TxtProfile(reference="edge", prefix=EDGE_PREFIX, encryption_key=KEY)],
        "legacy-dns": [TxtProfile(reference="shop", prefix=SHOP_PREFIX)],
    }
    return {
        zone.provider: pair(zone.endpoints, [DEFAULT_PROFILE, *registered.get(zone.provider, ())])
        for zone in build_sample_zones(KEY)
    }


def test_there_are_about_two_thousand_record_sets() -> None:
    count = sum(len(pairing.records) for pairing in _pairings().values())

    assert 1_800 <= count <= 2_200


def test_two_clusters_share_a_zone_and_a_part_of_it_is_unmanaged() -> None:
    records = _pairings()["public-dns"].records

    owners = Counter(record.owner_id for record in records)
    assert owners["blue-cluster"] >= 200
    assert owners["green-cluster"] >= 200
    assert owners[""] >= 15


def test_the_encrypted_owner_is_readable_with_its_key_only() -> None:
    (edge,) = [zone for zone in build_sample_zones(KEY) if zone.provider == "edge-dns"]

    with_key = _pairings()["edge-dns"]
    without_key = pair(edge.endpoints, [DEFAULT_PROFILE, TxtProfile(prefix=EDGE_PREFIX)])

    assert {claim.owner_id for claim in with_key.claims} == {"edge-cluster"}
    assert {claim.owner_id for claim in without_key.claims} == {""}
    assert {record.state for record in without_key.records} == {OwnershipState.UNKNOWN}


def test_the_legacy_zone_has_one_of_everything_that_goes_wrong() -> None:
    pairing = _pairings()["legacy-dns"]

    verdicts = Counter(claim.verdict for claim in pairing.claims)
    states = Counter(record.state for record in pairing.records)
    assert verdicts[ClaimVerdict.ORPHAN] == 40
    assert verdicts[ClaimVerdict.SUPERSEDED] == 12
    assert verdicts[ClaimVerdict.UNREADABLE] == 1
    assert states[OwnershipState.CONFLICT] == 6
    assert states[OwnershipState.UNKNOWN] == 1


def test_a_sample_provider_leaves_the_port_of_the_web_role_alone(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    web, other = find_free_port(), find_free_port()
    servers = [
        {"name": name, "description": "", "path": str(tmp_path / name), "port": port}
        for name, port in (("public-dns", web), ("legacy-dns", other))
    ]
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "state.json").write_text(json.dumps({"edge_key": "", "servers": servers}))

    ran = subprocess.run(
        [sys.executable, "-m", "dnsadmin.samples", "prepare"],
        env={**os.environ, "DNSADMIN_STATE_DIR": str(tmp_path), "PORT": str(web)},
        capture_output=True,
        text=True,
        check=True,
    )

    moved, kept = (server["port"] for server in json.loads(ran.stdout))
    assert moved not in (web, other)
    assert kept == other
