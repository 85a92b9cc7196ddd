"""What holds for all tests."""

from __future__ import annotations

from roundtable.http import HttpClient


def pytest_configure() -> None:
    """Run on what most users have; `tests/integration/test_fast.py` turns the other transport on."""
    HttpClient.fast = False
