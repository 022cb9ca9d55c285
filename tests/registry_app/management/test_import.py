"""`dnsadmin_import externaldns`: a setup out of what runs, which can be applied."""

from pathlib import Path

import pytest

from registry_app.models import Instance, RegistryProfile
from tests.factories import make_administrator, make_provider
from tests.providers.sources.test_external_dns_flags import DEPLOYMENT, VALUES
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db


def _write(tmp_path: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return [str(tmp_path / f"{name}.yaml") for name in texts]


def test_what_is_printed_can_be_applied(tmp_path: Path) -> None:
    make_administrator("root")
    make_provider("zone")
    files = _write(tmp_path, blue=DEPLOYMENT, green=VALUES)

    code, text = run_command("dnsadmin_import", "externaldns", *files, "--cluster", "main")
    (tmp_path / "setup.yaml").write_text(text, encoding="utf-8")
    applied, told = run_command("dnsadmin_apply", str(tmp_path / "setup.yaml"), "--as", "root")
    again, nothing = run_command("dnsadmin_apply", str(tmp_path / "setup.yaml"), "--as", "root")

    assert code == 2
    assert "# external-dns-blue: its webhook provider is in its own pod." in text
    assert "# external-dns-blue: the value of --txt-encrypt-aes-key is in a secret or ConfigMap." in text
    assert (applied, again, nothing) == (0, 0, "Nothing differs.\n"), told
    blue, green = Instance.objects.order_by("owner__owner_id")
    assert (blue.owner.owner_id, blue.policy, str(blue.cluster)) == ("blue-cluster", "upsert-only", "main")
    assert blue.domain_include == ["a.example.org", "b.example.org"]
    assert RegistryProfile.objects.get() == blue.registry_profile
    assert (green.claim_cache_seconds, str(green.provider)) == (5400, "external-dns-green")
    assert green.domain_exclude == ["x.green.example.org", "y.green.example.org"]


def test_what_a_person_has_to_look_at_is_said() -> None:
    flags = (
        "--provider=aws --registry=dynamodb --dynamodb-table=t --migrate-from-txt-owner=old "
        "--regex-domain-filter=.* --txt-encrypt-enabled --txt-cache-interval=soon"
    )

    code, found = run_json("dnsadmin_import", "externaldns", f"--flags={flags}", "--provider", "zone")
    _, encrypted = run_json("dnsadmin_import", "externaldns", "--flags=--txt-encrypt-enabled --provider=aws")

    assert code == 2
    assert found["setup"]["registry_profiles"] == [
        {"name": "external-dns", "kind": "dynamodb", "table": "t", "providers": ["zone"]}
    ]
    for words in (
        "ExternalDNS's default",
        "--migrate-from-txt-owner",
        "--regex-domain-filter",
        "no duration",
    ):
        assert any(words in remark for remark in found["remarks"]), words
    (profile,) = encrypted["setup"]["registry_profiles"]
    assert profile["encryption_key"] == "env:DNSADMIN_CREDENTIAL_EXTERNAL_DNS"
    assert any("built-in provider aws" in remark for remark in encrypted["remarks"])


@pytest.mark.parametrize(
    "text", ["kind: Service", "a: [", "kind: Pod\nspec: {containers: [{image: external-dns, args: 3}]}"]
)
def test_a_file_without_flags_is_refused(tmp_path: Path, text: str) -> None:
    code, told = run_command("dnsadmin_import", "externaldns", *_write(tmp_path, other=text))

    assert code == 1
    assert "Nothing was read." in told
