"""What `deploy/` has fits together, and fits dnsadmin: settings, roles, ports, Kubernetes' own schemas."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from dnsadmin import __version__
from dnsadmin.env import BASE_DIR
from dnsadmin.roles import ROLES

pytestmark = pytest.mark.one_database

_DEPLOY = BASE_DIR / "deploy"
_CHART = _DEPLOY / "helm" / "dnsadmin"
_KUBERNETES = "1.31"
_EVERYTHING = (
    "guard.enabled=true,guard.tlsSecret=guard,ingress.enabled=true,ingress.className=nginx,ingress.tlsSecret=web,"
    "credentialsSecret=providers,beat.persistence.enabled=false,worker.replicas=5,image.tag=next"
)
needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")


def test_plain_manifests_are_what_kubernetes_takes() -> None:
    manifests = _read_manifests((_DEPLOY / "kubernetes" / "dnsadmin.yaml").read_text(encoding="utf-8"))

    containers = dict(_list_containers(manifests))
    assert set(containers) == set(ROLES)
    for container in containers.values():
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["image"] == f"dnsadmin:{__version__}"


@needs_helm
def test_plain_manifests_are_those_of_the_chart_where_helm_is_installed() -> None:
    rendered = _render("existingSecret=dnsadmin,guard.enabled=true")

    assert rendered == (_DEPLOY / "kubernetes" / "dnsadmin.yaml").read_text(encoding="utf-8")


@needs_helm
def test_every_setting_of_the_chart_is_what_kubernetes_takes_where_helm_is_installed() -> None:
    manifests = _read_manifests(_render(f"existingSecret=dnsadmin,{_EVERYTHING}"))

    containers = dict(_list_containers(manifests))
    guard = {each["name"]: each.get("value") for each in containers["guard"]["env"]}
    assert guard["DNSADMIN_GUARD_TLS_KEY"] == "/run/secrets/guard/tls.key"
    assert containers["guard"]["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert "PersistentVolumeClaim" not in {each["kind"] for each in manifests}
    linted = subprocess.run(
        ["helm", "lint", "--strict", "--set", "existingSecret=dnsadmin", str(_CHART)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout


@needs_helm
@pytest.mark.parametrize("values", ["image.tag=1", "existingSecret=dnsadmin,web.replica=3"])
def test_the_chart_refuses_what_cannot_run_where_helm_is_installed(values: str) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        _render(values)


def test_every_version_is_ours() -> None:
    chart = yaml.safe_load((_CHART / "Chart.yaml").read_text(encoding="utf-8"))
    compose = (_DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8")

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert re.findall("image: dnsadmin:(.*)", compose) == [__version__]


def test_every_variable_is_one_that_dnsadmin_reads() -> None:
    texts = [path.read_text(encoding="utf-8") for path in _DEPLOY.rglob("*") if path.is_file()]
    named = {name for text in texts for name in re.findall(r"\bDNSADMIN_[A-Z_]+\b", text)}
    code = "".join(path.read_text(encoding="utf-8") for path in (BASE_DIR / "dnsadmin").rglob("*.py"))

    assert len(named) > 10
    assert {name for name in named if f'"{name}"' not in code} == set()


def test_the_compose_file_starts_every_role() -> None:
    compose = yaml.safe_load((_DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8"))
    ours = {name: each for name, each in compose["services"].items() if each.get("read_only")}

    assert {role for each in ours.values() for role in each["command"]} == set(ROLES)
    for service in ours.values():
        folder = _DEPLOY / "compose" / service["build"]["context"]
        assert (folder / service["build"]["dockerfile"]).is_file()
        assert set(service["depends_on"]) <= set(compose["services"])


def test_the_image_takes_every_folder_of_the_product() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", (_DEPLOY / "Containerfile").read_text(), re.MULTILINE))
    let_in = set(re.findall("^!(.*)$", (BASE_DIR / ".dockerignore").read_text(), re.MULTILINE))

    assert copied == {"dnsadmin", "providers", "registry_app", "templates"}
    assert copied <= let_in
    assert all((BASE_DIR / name).exists() for name in let_in)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_units_are_what_systemd_takes_where_it_is_installed(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.symlink_to("/bin/true")
    for unit in (_DEPLOY / "systemd").iterdir():
        text = unit.read_text(encoding="utf-8").replace("/opt/dnsadmin/bin/python", str(python))
        (tmp_path / unit.name).write_text(text, encoding="utf-8")

    names = [f"dnsadmin@{role}.service" for role in ROLES if role != "migrate"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names, "dnsadmin-migrate.service", "dnsadmin.target"],
        cwd=tmp_path,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def _render(values: str) -> str:
    options = ["--kube-version", f"{_KUBERNETES}.0", "--set", values]
    rendered = subprocess.run(
        ["helm", "template", "dnsadmin", str(_CHART), *options], capture_output=True, text=True, check=True
    )
    return rendered.stdout


def _read_manifests(text: str) -> list[dict[str, Any]]:
    """Each of them as Kubernetes takes it, without a field that it does not know."""
    manifests = [each for each in yaml.safe_load_all(text) if each]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, _KUBERNETES, strict=True)
    return manifests


def _list_containers(manifests: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with its role."""
    for manifest in manifests:
        if manifest["kind"] in ("Deployment", "Job"):
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            (role,) = container["args"]
            yield role, container
