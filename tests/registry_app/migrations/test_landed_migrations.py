"""A migration that landed is never edited."""

import hashlib
from pathlib import Path

from tests.registry_app.migrations.landed import read_landed

_FOLDER = Path(__file__).parents[3] / "registry_app" / "migrations"


def test_no_migration_that_landed_was_edited_or_removed() -> None:
    for name, digest in read_landed().items():
        found = hashlib.sha256((_FOLDER / f"{name}.py").read_bytes()).hexdigest()
        assert found == digest, f"{name} landed: make a new migration instead of editing it."
