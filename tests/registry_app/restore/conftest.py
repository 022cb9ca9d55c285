"""A state folder of its own for each test, and the row that a migrated database has."""

from pathlib import Path

import pytest
from pytest_django import Settings

from registry_app.outside_copy import fetch_generation


@pytest.fixture(autouse=True)
def _state_folder(settings: Settings, tmp_path: Path, transactional_db: None) -> None:
    settings.DNSADMIN_STATE_DIR = str(tmp_path / "state")
    fetch_generation()
