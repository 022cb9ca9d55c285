"""The three paths of a role, over HTTP, and the metrics in what they answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from prometheus_client.parser import text_string_to_metric_families

from providers.servers.granian_server import GranianServer

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
