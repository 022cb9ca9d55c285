"""Why this owner: one plain sentence for the record's page."""

import msgspec
import pytest

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.registries.ownership import ProfileFinding, explain_ownership
from providers.wire.endpoint import Endpoint
from tests.providers.registries.zone import BLUE, GREEN, make_record, make_txt, pair_zone

_WWW = make_record("www.example.org")


@pytest.mark.parametrize(
    ("endpoints", "sentence"),
    [
        ([_WWW], "www.example.org A is unmanaged, because it has no claim."),
        (
            [_WWW, make_txt("a-www.example.org", BLUE)],
            "blue-cluster owns www.example.org A, because the TXT record a-www.example.org names it.",
        ),
        (
            [_WWW, make_txt("www.example.org", BLUE)],
            (
                "blue-cluster owns www.example.org A, because the TXT record www.example.org names "
                "it, in the legacy format, which covers every type except AAAA."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", BLUE), make_txt("www.example.org", BLUE)],
            (
                "blue-cluster owns www.example.org A, because the TXT record a-www.example.org names it; "
                "1 more say the same."
            ),
        ),
        (
            [make_record("www.example.org", is_alias=True), make_txt("cname-www.example.org", BLUE)],
            (
                "blue-cluster owns www.example.org A, because the TXT record cname-www.example.org names it, "
                "in the `cname-` form once written for alias records."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", GREEN), make_txt("x-a-www.example.org", BLUE)],
            (
                "www.example.org A has no owner, because registry profiles disagree: profile default "
                "finds green-cluster (a-www.example.org); profile 1 finds blue-cluster "
                "(x-a-www.example.org)."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", GREEN), make_txt("www.example.org", BLUE)],
            ("green-cluster owns www.example.org A, because the TXT record a-www.example.org names it."),
        ),
        (
            [_WWW, make_txt("a-www.example.org.", GREEN)],
            (
                "www.example.org A is unmanaged: ExternalDNS finds no owner for it, because it "
                "ignores the claim at a-www.example.org.."
            ),
        ),
        (
            [msgspec.structs.replace(_WWW, labels={"owner": "blue-cluster"})],
            (
                "blue-cluster owns www.example.org A, because the provider returns it with the label "
                "owner=blue-cluster, which ExternalDNS uses if it finds no claim."
            ),
        ),
        (
            [_WWW, make_txt("a-www.example.org", "heritage=external-dns")],
            (
                "The owner of www.example.org A is unknown, because of its claim at a-www.example.org: "
                "The claim names no owner."
            ),
        ),
    ],
)
def test_it_says_in_one_sentence_why(endpoints: list[Endpoint], sentence: str) -> None:
    profiles = [DEFAULT_PROFILE, TxtProfile(reference="1", prefix="x-")]
    pairing = pair_zone(*endpoints, profiles=profiles)
    (record,) = pairing.records

    explained = explain_ownership(
        record.key,
        record.state,
        record.owner_id,
        [pairing.claims[number] for number in record.claims],
        label_owner=record.endpoint.labels.get("owner", ""),
        found=[
            ProfileFinding(
                f"profile {each.profile_reference or 'default'}",
                each.owner_id,
                pairing.claims[each.claim].endpoint.dns_name if each.claim is not None else "",
            )
            for each in record.beliefs
        ],
    )

    assert explained == sentence
