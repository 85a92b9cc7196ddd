"""What holds for all tests."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from roundtable.http import HttpClient

TRIO_IN_CI = frozenset(
    {
        "test_bad_hour.py",
        "test_budget_crash.py",
        "test_command_agents.py",
        "test_command_debates.py",
        "test_command_ends.py",
        "test_context_requests.py",
        "test_control.py",
        "test_control_leases.py",
        "test_faults.py",
        "test_fetch_guard.py",
        "test_fetch_url.py",
        "test_fork.py",
        "test_judges.py",
        "test_client.py",
        "test_client_streams.py",
        "test_local_model.py",
        "test_mcp_http.py",
        "test_mcp_runs.py",
        "test_mcp_server.py",
        "test_mcp_stdio.py",
        "test_providers_http.py",
        "test_search_services.py",
        "test_session_files.py",
        "test_sessions_kept.py",
        "test_storage_faults.py",
        "test_storage_salvage.py",
        "test_storage_threads.py",
        "test_synthesis.py",
        "test_teams.py",
        "test_tool_debates.py",
    }
)
"""Files of many seconds: every day they run on asyncio alone, in CI on trio as well."""


def pytest_configure() -> None:
    """Run on what most users have, and try laws on few examples; `tests/integration/test_fast.py` is for aiohttp."""
    HttpClient.fast = False
    settings.register_profile("everyday", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    if "CI" not in os.environ:  # there hypothesis has a profile of its own, of five times as many examples
        settings.load_profile("everyday")


def pytest_collection() -> None:
    """Look for no garbage while tests are found: there is none, and looking took a third of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from here on, and not among what is there until the end."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what is marked as slow by its file and its backend to CI; before the marks are asked for."""
    for item in items:
        call = getattr(item, "callspec", None)
        if item.path.name in TRIO_IN_CI and call is not None and "trio" in str(call.params.get("anyio_backend")):
            item.add_marker(pytest.mark.slow)
