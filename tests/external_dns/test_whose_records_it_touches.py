"""One instance beside others: what it believes, what it asks for, and what it leaves alone."""

from collections.abc import Sequence

import msgspec
import pytest

from providers.backends.memory import ApplyMode, MemoryBackend
from providers.planning.planned_changes import Policy
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from tests.external_dns.instance import Instance, Outcome, Result
from tests.external_dns.settings import Settings
from tests.providers.planning.planned import wanted
from tests.reference_server import make_claim, make_record
from tests.servers.provider_server import WebhookServer

_NAME = "www.example.org"
_OWNED = [make_record(_NAME), make_claim(_NAME)]
_FOREIGN = [make_record(_NAME), make_claim(_NAME, owner="green-cluster")]


def _run(
    zone: Sequence[Endpoint],
    desired: Sequence[Endpoint],
    *,
    provider_filter: DomainFilter | None = None,
    **settings: object,
) -> Result:
    """One loop of blue-cluster over a zone."""
    server = WebhookServer(MemoryBackend(zone, mode=ApplyMode.EACH, domain_filter=provider_filter))
    server.start()
    try:
        values = Settings(server.url, "blue-cluster", **settings)  # type: ignore[arg-type]
        with Instance(values, desired) as instance:
            return instance.run_once()
    finally:
        server.stop()


def _names(endpoints: Sequence[Endpoint]) -> list[str]:
    return [f"{each.dns_name} {each.record_type}" for each in endpoints]


@pytest.mark.parametrize(
    "zone",
    [
        _FOREIGN,
        [make_record(_NAME)],
        [make_record(_NAME, "AAAA", ("2001:db8::1",)), make_claim(_NAME, "AAAA", "green-cluster")],
        [make_record(_NAME, "AAAA", ("2001:db8::1",)), make_claim(_NAME, "A")],
        [make_record("WWW.example.org"), make_claim(_NAME)],
        [make_record(_NAME), make_record(f"a-{_NAME}", "TXT", ('"v=spf1 -all"', *make_claim(_NAME).targets))],
    ],
)
def test_what_another_owns_or_nobody_is_neither_updated_nor_joined_nor_deleted(zone: list[Endpoint]) -> None:
    for desired in ([wanted(_NAME, targets=("192.0.2.9",))], []):
        assert _run(zone, desired).outcome is Outcome.QUIET


def test_a_type_goes_even_where_the_type_that_should_come_may_not() -> None:
    zone = [*_OWNED, make_record(_NAME, "AAAA", ("2001:db8::1",)), make_claim(_NAME, "AAAA", "green-cluster")]

    sent = _run(zone, [wanted(_NAME, "CNAME", ("other.example.org",))]).sent

    assert _names(sent.delete) == [f"{_NAME} A", f"a-{_NAME} TXT"]
    assert sent.create == ()


def test_an_owner_that_the_provider_returns_counts_where_there_is_no_claim() -> None:
    labelled = msgspec.structs.replace(make_record(_NAME), labels={"owner": "blue-cluster"})

    assert _names(_run([labelled], []).sent.delete) == [f"{_NAME} A", f"a-{_NAME} TXT"]
    assert _run([labelled, make_claim(_NAME, owner="green-cluster")], []).outcome is Outcome.QUIET


def test_a_claim_that_is_there_already_is_not_created_again() -> None:
    sent = _run([make_claim(_NAME, owner="green-cluster")], [wanted(_NAME)]).sent

    assert _names(sent.create) == [f"{_NAME} A"]


def test_another_candidate_wins_where_the_claim_has_no_resource() -> None:
    desired = [
        wanted(_NAME, targets=("192.0.2.1",), resource="ingress/shop/one"),
        wanted(_NAME, targets=("192.0.2.2",), resource="ingress/shop/two"),
    ]
    record = make_record(_NAME, targets=("192.0.2.2",))

    named = _run([record, make_claim(_NAME, resource="ingress/shop/two")], desired)
    unnamed = _run([record, make_claim(_NAME)], desired)

    assert named.outcome is Outcome.QUIET
    assert [each.targets for each in unnamed.sent.update_new if each.record_type == "A"] == [("192.0.2.1",)]


@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        (Policy.SYNC, {"create", "update", "delete"}),
        (Policy.UPSERT_ONLY, {"create", "update"}),
        (Policy.CREATE_ONLY, {"create"}),
    ],
)
def test_a_policy_drops_what_it_forbids(policy: Policy, parts: set[str]) -> None:
    zone = [*_OWNED, make_record("old.example.org"), make_claim("old.example.org")]
    desired = [wanted(_NAME, targets=("192.0.2.9",)), wanted("new.example.org")]

    sent = _run(zone, desired, policy=policy).sent

    assert {name for name, part in _parts(sent).items() if part} == parts


def _parts(sent: ChangeSet) -> dict[str, tuple[Endpoint, ...]]:
    return {"create": sent.create, "update": sent.update_new, "delete": sent.delete}


def test_it_looks_only_at_its_types_and_at_names_in_both_filters() -> None:
    zone = [
        *_OWNED,
        make_record("mx.example.org", "MX", ("10 mail.example.org",)),
        make_claim("mx.example.org", "MX"),
    ]
    both = DomainFilter(include=("b.example.org",))

    def run(**settings: object) -> Result:
        return _run(zone, [wanted("a.b.example.org"), wanted("a.c.example.org")], **settings)  # type: ignore[arg-type]

    assert _names(run().sent.delete) == [f"{_NAME} A", f"a-{_NAME} TXT"]
    assert "mx.example.org MX" in _names(run(managed_types=("A", "MX")).sent.delete)
    assert _names(run(managed_types=("AAAA",)).sent.create) == []
    for result in (run(domain_filter=both), run(provider_filter=both)):
        assert _names(result.sent.create) == ["a.b.example.org A", "a-a.b.example.org TXT"]
        assert result.sent.delete == ()


def test_all_that_is_desired_is_posted_before_any_filter_and_each_once() -> None:
    desired = [
        wanted("a.example.org", targets=("192.0.2.2", "192.0.2.1", "192.0.2.2")),
        wanted("b.example.org"),
    ]
    desired += [wanted("a.example.org", targets=("192.0.2.1", "192.0.2.2")), wanted("b.example.org", "MX")]

    sent = _run([], desired, managed_types=("A", "MX")).sent

    assert [(each.dns_name, each.record_type, each.targets) for each in sent.create[:3]] == [
        ("a.example.org", "A", ("192.0.2.1", "192.0.2.2")),
        ("b.example.org", "A", ("192.0.2.1",)),
        ("b.example.org", "MX", ("192.0.2.1",)),
    ]


def test_a_dry_run_writes() -> None:
    assert _run([], [wanted(_NAME)], is_dry_run=True).outcome is Outcome.CHANGED


def test_one_new_spelling_of_an_address_hides_what_comes_after_it() -> None:
    """What ExternalDNS does, and a reason not to trust its silence."""
    zone = [
        make_record(_NAME, "AAAA", ("2001:db8::1", "2001:db8::2")),
        make_claim(_NAME, "AAAA"),
    ]

    quiet = _run(zone, [wanted(_NAME, "AAAA", ("2001:db8:0::1", "2001:db8::3"))])

    assert quiet.outcome is Outcome.QUIET
    assert _run(zone, [wanted(_NAME, "AAAA", ("2001:db8::1", "2001:db8::3"))]).outcome is Outcome.CHANGED


@pytest.mark.parametrize(
    "values", [{"owner_id": ""}, {"txt_prefix": "a", "txt_suffix": "b"}, {"encryption_key": b"x"}]
)
def test_flags_with_which_external_dns_does_not_start_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="ExternalDNS does not start"):
        Settings(**{"base_url": "http://127.0.0.1:1", "owner_id": "blue-cluster", **values})  # type: ignore[arg-type]
