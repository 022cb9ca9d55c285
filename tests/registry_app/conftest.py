"""The warm process that acts are forked from, one for each process of a test run: a fixture that other
packages import would be another one in each of them."""

from collections.abc import Iterator

import pytest
from django.db import connection

from tests.registry_app.transfer.forking import Forks, warm_process


@pytest.fixture(scope="session")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with warm_process(_database_url()) as warm:
        yield warm


def _database_url() -> str:
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{told['NAME']}"
    login = f"{told['USER']}:{told['PASSWORD']}" if told["PASSWORD"] else told["USER"]
    return f"postgres://{login}@{told['HOST']}:{told['PORT']}/{told['NAME']}"
