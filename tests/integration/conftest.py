"""What the integration tests share."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark of tests that need the embedded model."""
    config.addinivalue_line("markers", "local_model: needs the embedded model, fetched once if it is not there")
