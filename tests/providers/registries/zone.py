"""The zone the registry tests play in: records, claims and pairings of the cast, in one word each."""

from collections.abc import Sequence

from providers.registries.claim import DEFAULT_PROFILE, Claim, PairedEndpoint, Pairing, TxtProfile
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

KEY = bytes(range(32))
OTHER_KEY = bytes(range(32, 64))
BLUE = '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/web"'
GREEN = '"heritage=external-dns,external-dns/owner=green-cluster,external-dns/resource=ingress/shop/web"'


def make_record(
    name: str, record_type: str = "A", *, set_identifier: str = "", is_alias: bool = False
) -> Endpoint:
    return Endpoint(
        dns_name=name,
        targets=("192.0.2.1",),
        record_type=record_type,
        set_identifier=set_identifier,
        record_ttl=300,
        provider_specific=(ProviderSpecificProperty("alias", "true"),) if is_alias else (),
    )


def make_txt(name: str, *targets: str, set_identifier: str = "") -> Endpoint:
    return Endpoint(
        dns_name=name, targets=targets, record_type="TXT", set_identifier=set_identifier, record_ttl=300
    )


def pair_zone(*endpoints: Endpoint, profiles: Sequence[TxtProfile] = (DEFAULT_PROFILE,)) -> Pairing:
    return pair(endpoints, profiles)


def record_at(pairing: Pairing, name: str, record_type: str = "A") -> PairedEndpoint:
    (record,) = [r for r in pairing.records if r.key.name == name and r.key.record_type == record_type]
    return record


def claim_at(pairing: Pairing, txt_name: str) -> Claim:
    (claim,) = [claim for claim in pairing.claims if claim.endpoint.dns_name == txt_name]
    return claim
