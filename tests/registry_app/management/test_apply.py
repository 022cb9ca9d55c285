"""`dnsadmin_apply`: a setup as a file, compared, applied and exported."""

from pathlib import Path

import pytest
import yaml

from registry_app.models import AuditEntry, Cluster, Grant, GuardEndpoint, Instance, Owner, Provider
from tests.factories import make_administrator, make_owner, make_provider, make_user
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db

SETUP = """
clusters:
  - {name: blue, environment: production}
  - {name: green}
providers:
  - name: blue-zone
    url: http://webhook.example.org:8888
    interval_seconds: 120
    authentication: bearer
    secret: env:DNSADMIN_CREDENTIAL_BLUE
registry_profiles:
  - {name: prefixed, kind: txt, prefix: "extdns-%{record_type}-", providers: [blue-zone]}
groups:
  - {name: team-blue}
owners:
  - {owner_id: blue-cluster, team: team-blue, name_patterns: ["*.blue.example.org"]}
  - {owner_id: parked}
instances:
  - owner: blue-cluster
    name: blue
    cluster: blue
    provider: blue-zone
    policy: sync
    registry_profile: prefixed
guard_endpoints:
  - {slug: blue, provider: blue-zone, instance: {owner: blue-cluster, name: blue}, mode: observe}
loops:
  - {owner: parked, provider: blue-zone}
grants:
  - {group: team-blue, action: request, owner: blue-cluster, name_suffix: Blue.example.org.}
  - {group: team-blue, action: operate, provider: blue-zone}
"""


@pytest.fixture(autouse=True)
def _people() -> None:
    make_administrator("root")
    make_user("alice")


def _apply(tmp_path: Path, text: str, *options: str, person: str = "root") -> tuple[int, str]:
    path = tmp_path / "setup.yaml"
    path.write_text(text, encoding="utf-8")
    return run_command("dnsadmin_apply", str(path), "--as", person, *options)


def test_it_is_shown_then_applied_and_changes_nothing_the_second_time(tmp_path: Path) -> None:
    make_owner("blue-cluster", status=Owner.Status.DISCOVERED)
    tried, text = _apply(tmp_path, SETUP, "--dry-run")
    after_trial = Cluster.objects.count(), AuditEntry.objects.count()
    applied, told = _apply(tmp_path, SETUP)
    entries = AuditEntry.objects.count()
    again, nothing = _apply(tmp_path, SETUP)

    assert (tried, after_trial) == (2, (0, 0))
    assert "+ owners blue-cluster" in text
    assert text.endswith("12 would be registered, 0 would be changed.\n")
    assert (applied, told) == (0, text.replace("would be ", ""))
    assert (again, nothing) == (0, "Nothing differs.\n")
    assert AuditEntry.objects.count() == entries
    assert Provider.objects.get().secret == "env:DNSADMIN_CREDENTIAL_BLUE"
    assert Owner.objects.get(owner_id="blue-cluster").status == Owner.Status.REGISTERED
    assert GuardEndpoint.objects.get().instance == Instance.objects.get(name="blue")
    assert Grant.objects.filter(name_suffix="blue.example.org").count() == 1


def test_what_is_exported_is_what_was_applied(tmp_path: Path) -> None:
    _apply(tmp_path, SETUP)
    Provider.objects.filter().update(description="by hand")
    secret = Provider.objects.get()
    secret.url_query = "token=hidden-one"
    secret.save()

    code, text = run_command("dnsadmin_apply", "--export", "--as", "root")

    exported, wanted = yaml.safe_load(text), yaml.safe_load(SETUP)
    wanted["providers"][0]["description"] = "by hand"
    wanted["grants"][0]["name_suffix"] = "blue.example.org"
    del (
        wanted["registry_profiles"][0]["kind"],
        wanted["guard_endpoints"][0]["mode"],
    )  # as if nothing were said
    assert code == 0
    assert text.startswith("# not exported, no reference: providers blue-zone url_query\n")
    assert "hidden-one" not in text
    assert exported == wanted
    assert _apply(tmp_path, text) == (0, "Nothing differs.\n")


def test_only_what_differs_is_changed(tmp_path: Path) -> None:
    _apply(tmp_path, SETUP)
    make_provider("by-hand", url="http://webhook.example.org:9999")
    text = """
providers:
  - {name: blue-zone, interval_seconds: 300, secret: "env:DNSADMIN_CREDENTIAL_OTHER"}
guard_endpoints:
  - {slug: blue, instance: {owner: blue-cluster, name: blue}, mode: enforce, delete_percent: 20}
"""

    code, changes = run_json("dnsadmin_apply", *_write(tmp_path, text), "--as", "root")

    assert code == 0
    assert [(each["act"], each["list"], each["row"]) for each in changes] == [
        ("change", "providers", "blue-zone"),
        ("change", "guard_endpoints", "blue"),
    ]
    assert changes[0]["fields"]["interval_seconds"] == {"before": 120, "after": 300}
    assert changes[1]["fields"]["mode"] == {"before": "observe", "after": "enforce"}
    assert Provider.objects.count() == 2
    assert Provider.objects.get(name="blue-zone").authentication == "bearer"


def test_a_looser_approval_is_asked_for_once(tmp_path: Path) -> None:
    _apply(tmp_path, SETUP)
    text = "providers: [{name: blue-zone, approval_policy: none}]"

    first, _ = _apply(tmp_path, text)
    entries = AuditEntry.objects.count()
    second, told = _apply(tmp_path, text)

    assert (first, second, told) == (0, 0, "Nothing differs.\n")
    assert AuditEntry.objects.count() == entries
    assert Provider.objects.get().approval_policy == Provider.ApprovalPolicy.OTHER_PERSON


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("zones: []", "zones"),
        ("providers: {name: x}", "providers"),
        ("- a", "setup"),
        ("providers: [{name: new, url: http://h.example.org, secret: plain-secret}]", "providers.0.secret"),
        ("providers: [{name: new, url: 'http://me:plain-secret@h.example.org'}]", "providers.0.url"),
        ("providers: [{name: new}]", "providers.0.url"),
        ("providers: [{url: http://h.example.org}]", "providers.0.name"),
        ("clusters: [{name: blue}, {name: new, colour: 1}]", "clusters.1.colour"),
        ("owners: [{owner_id: new, policy: sync}]", "owners.0.policy"),
        ("instances: [{owner: nobody, name: x}]", "instances.0.owner"),
        ("guard_endpoints: [{slug: x, provider: p, instance: 7}]", "guard_endpoints.0.instance"),
        ("clusters: [{name: new}, {name: on}]", "may be text or a truth value"),
        ("clusters: [{name: new}, {name: a, name: b}]", "the key is there twice"),
        ("a: &x [1]\nb: *x", "alias"),
        ("clusters: []\n---\nclusters: []", "2 documents"),
    ],
)
def test_what_cannot_be_applied_is_named_and_nothing_is_kept(tmp_path: Path, text: str, place: str) -> None:
    code, told = _apply(tmp_path, text)

    assert code == 1
    assert place in told
    assert "plain-secret" not in told
    assert (Cluster.objects.count(), Provider.objects.count(), Owner.objects.count()) == (0, 0, 0)


def test_only_an_administrator_applies_and_exports(tmp_path: Path) -> None:
    code, told = _apply(tmp_path, SETUP, person="alice")
    exporting, text = run_command("dnsadmin_apply", "--export", "--as", "alice")

    assert (code, exporting) == (1, 1)
    assert "alice may not change" in told
    assert "providers" not in text
    assert Cluster.objects.count() == 0


def _write(tmp_path: Path, text: str) -> tuple[str]:
    path = tmp_path / "other.yaml"
    path.write_text(text, encoding="utf-8")
    return (str(path),)
