"""What the client's tests share."""

import pytest

from tests.providers.client.certificates import Authority


@pytest.fixture(scope="session")
def authority() -> Authority:
    """The authority that signs our providers' certificates."""
    return Authority()
