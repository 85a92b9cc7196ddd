"""Doubles, servers and suites: for testing programs that use the library, and plugins that extend it.

Doubles need nothing else. Suites, strategies and servers are modules of their own, to be imported by name; they need
the extra `testing`. The suites hold plugins to the contract whose number is `roundtable.plugins.HOST_API`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.testing.app_server import serving
    from roundtable.testing.doubles import FaultyModel, RecordingObserver
    from roundtable.testing.scripted import Delay, ScriptedModel, scripted_agents
    from roundtable.testing.storage_samples import ManualClock

SUITES = (
    "analyzer_suite",
    "exit_suite",
    "key_value_suite",
    "mode_suite",
    "provider_suite",
    "rule_suite",
    "storage_lease_laws",
    "storage_list_laws",
    "storage_log_laws",
    "storage_suite",
    "suite",
    "tool_suite",
)
"""Modules with laws."""

if "pytest" in sys.modules:
    # Before any suite is imported: a law that fails in somebody's tests then shows the values it compared.
    import pytest

    pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in SUITES))

__all__ = [
    "Delay",
    "FaultyModel",
    "ManualClock",
    "RecordingObserver",
    "ScriptedModel",
    "scripted_agents",
    "serving",
]

_HOME = {
    "Delay": "scripted",
    "FaultyModel": "doubles",
    "ManualClock": "storage_samples",
    "RecordingObserver": "doubles",
    "ScriptedModel": "scripted",
    "scripted_agents": "scripted",
    "serving": "app_server",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
