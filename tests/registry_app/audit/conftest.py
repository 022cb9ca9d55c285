"""The warm process that acts are forked from."""

from tests.registry_app.transfer.conftest import forks

__all__ = ["forks"]
