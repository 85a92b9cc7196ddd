"""What holds for all tests."""

from __future__ import annotations

import gc

import pytest

from roundtable.http import HttpClient

TRIO_IN_CI = frozenset(
    {
        "test_command_agents.py",
        "test_context_requests.py",
        "test_fetch_guard.py",
        "test_fetch_url.py",
        "test_fork.py",
        "test_judges.py",
        "test_client.py",
        "test_client_streams.py",
        "test_mcp_http.py",
        "test_mcp_runs.py",
        "test_mcp_server.py",
        "test_mcp_stdio.py",
        "test_search_services.py",
        "test_session_files.py",
        "test_sessions_kept.py",
        "test_storage_salvage.py",
        "test_synthesis.py",
        "test_teams.py",
        "test_tool_debates.py",
    }
)
"""Files of many seconds: every day they run on asyncio alone, in CI on trio as well."""


def pytest_configure() -> None:
    """Run on what most users have; `tests/integration/test_fast.py` turns the other transport on."""
    HttpClient.fast = False


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
