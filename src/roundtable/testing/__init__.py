"""Test doubles, servers and suites, for programs that use the library and for plugins.

Doubles need no extra. Suites, strategies and servers are separate modules that need the extra `testing`. The suites
test the plugin contract of version `roundtable.plugins.HOST_API`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.base.network import without_network
    from roundtable.testing.doubles import (
        Delay,
        FaultyModel,
        ManualClock,
        RecordingObserver,
        ScriptedModel,
        scripted_agents,
    )
    from roundtable.testing.servers import serving
    from roundtable.testing.vendor_server import VendorAnswer, VendorRefusal, VendorServer

SUITES = (
    "analyzer_suite",
    "exit_suite",
    "key_value_suite",
    "mode_suite",
    "observer_suite",
    "provider_request_laws",
    "provider_suite",
    "rule_suite",
    "storage_log_laws",
    "storage_suite",
    "suite",
    "tool_suite",
)
"""Modules with conformance tests."""

if "pytest" in sys.modules:
    # This must come before any suite is imported, so that a failing test shows the values that it compared.
    import pytest

    pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in SUITES))

__all__ = [
    "Delay",
    "FaultyModel",
    "ManualClock",
    "RecordingObserver",
    "ScriptedModel",
    "VendorAnswer",
    "VendorRefusal",
    "VendorServer",
    "scripted_agents",
    "serving",
    "without_network",
]

_HOME = {
    "Delay": "doubles",
    "FaultyModel": "doubles",
    "ManualClock": "doubles",
    "RecordingObserver": "doubles",
    "ScriptedModel": "doubles",
    "VendorAnswer": "vendor_server",
    "VendorRefusal": "vendor_server",
    "VendorServer": "vendor_server",
    "scripted_agents": "doubles",
    "serving": "servers",
    "without_network": ".core.base.network",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
