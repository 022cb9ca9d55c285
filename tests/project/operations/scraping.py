"""The three paths of a role, over HTTP, and the metrics in what they answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from providers.servers.granian_server import GranianServer
from registry_app import metrics

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

TOKEN = "t0ken-of-the-monitoring"
Labels = frozenset[tuple[str, str]]


@contextmanager
def served(application: "WSGIApplication") -> Iterator[str]:
    """The URL of an application."""
    server = GranianServer(application)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def ask(url: str, **headers: str) -> requests.Response:
    """One GET; a redirect is an answer."""
    return requests.get(url, headers=headers, timeout=30, allow_redirects=False)


class Scrape:
    """What one scrape of `/metrics` showed."""

    def __init__(self, url: str) -> None:
        answer = ask(f"{url}/metrics", Authorization=f"Bearer {TOKEN}")
        assert answer.status_code == 200, answer.text
        self.text = answer.text
        self._samples: dict[tuple[str, Labels], float] = {}
        for family in text_string_to_metric_families(answer.text):
            for sample in family.samples:
                self._samples[sample.name, frozenset(sample.labels.items())] = sample.value

    def value(self, name: str, **labels: str) -> float | None:
        """The sample with exactly these labels."""
        return self._samples.get((name, frozenset(labels.items())))

    def labelled(self, name: str) -> Mapping[Labels, float]:
        """All samples of a name."""
        return {labels: value for (known, labels), value in self._samples.items() if known == name}


class Counted:
    """How much each counter grew since: other tests of this process count, too."""

    def __init__(self) -> None:
        self._before = self._read()

    def __call__(self, name: str, **labels: str) -> float:
        key = (name, frozenset(labels.items()))
        return self._read().get(key, 0.0) - self._before.get(key, 0.0)

    def _read(self) -> dict[tuple[str, Labels], float]:
        families = text_string_to_metric_families(generate_latest(metrics.REGISTRY).decode())
        return {
            (each.name, frozenset(each.labels.items())): each.value
            for family in families
            for each in family.samples
        }
