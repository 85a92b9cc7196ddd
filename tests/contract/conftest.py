"""What the tests of the contract share."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run each promise once: other suites show that it holds on trio as well."""
    return "asyncio"
