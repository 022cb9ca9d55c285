"""What is deployed beside dnsadmin, and the page about it, name the metrics that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dnsadmin.operations import OperationsApplication
from dnsadmin.state_metrics import StateCollector
from registry_app import metrics
from tests.project.operations.scraping import ask, served

_ROOT = Path(__file__).parents[3]
_ALERTS = _ROOT / "deploy" / "prometheus" / "alerts.yaml"
_DASHBOARD = _ROOT / "deploy" / "grafana" / "dnsadmin.json"
_METRIC = re.compile(r"\bdnsadmin_[a-z0-9_]+\b")
_ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
_PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(_PROMTOOL is None, reason="promtool is missing (Debian: prometheus)")


def _list_families() -> dict[str, set[str]]:
    """Each metric by its name in the documents, with the names of its samples."""
    families = [*metrics.REGISTRY.collect(), *StateCollector().collect()]
    return {
        f"{family.name}{'_total' if family.type == 'counter' else ''}": {
            f"{family.name}{ending}" for ending in _ENDINGS[family.type]
        }
        for family in families
    }


def _list_expressions() -> list[str]:
    rules = [rule for group in yaml.safe_load(_ALERTS.read_text())["groups"] for rule in group["rules"]]
    panels: list[dict[str, Any]] = json.loads(_DASHBOARD.read_text())["panels"]
    targets = [target for panel in panels for target in panel.get("targets", [])]
    return [each["expr"] for each in (*rules, *targets)]


@pytest.mark.django_db(transaction=True)
def test_every_metric_that_a_panel_or_an_alert_names_exists() -> None:
    expressions = _list_expressions()

    named = {name for expression in expressions for name in _METRIC.findall(expression)}

    assert len(expressions) > 40
    assert named - set().union(*_list_families().values()) == set()


@pytest.mark.django_db(transaction=True)
def test_the_page_about_monitoring_has_every_metric_and_no_other() -> None:
    text = (_ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")

    documented = set(re.findall(r"^\| `(dnsadmin_[a-z0-9_]+)`", text, flags=re.MULTILINE))

    assert documented == _list_families().keys()


def test_every_alert_is_explained() -> None:
    text = (_ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rules = [rule for group in yaml.safe_load(_ALERTS.read_text())["groups"] for rule in group["rules"]]

    missing = [rule["alert"] for rule in rules if f"`{rule['alert']}`" not in text]

    assert missing == []


@needs_promtool
def test_the_rules_are_valid_and_fire_when_they_should(tmp_path: Path) -> None:
    shutil.copy(_ALERTS, tmp_path / "alerts.yaml")
    shutil.copy(Path(__file__).with_name("alerts_test.yaml"), tmp_path)

    checked = _run_promtool("check", "rules", str(_ALERTS))
    tested = _run_promtool("test", "rules", str(tmp_path / "alerts_test.yaml"))

    assert (checked.returncode, tested.returncode) == (0, 0), checked.stdout + tested.stdout


@needs_promtool
@pytest.mark.django_db(transaction=True)
def test_a_scrape_is_as_prometheus_wants_it() -> None:
    with served(OperationsApplication(has_state=True, is_private=True)) as url:
        text = ask(f"{url}/metrics").text

    checked = _run_promtool("check", "metrics", typed=text)

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def _run_promtool(*arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    assert _PROMTOOL is not None
    return subprocess.run([_PROMTOOL, *arguments], input=typed, capture_output=True, text=True, check=False)
