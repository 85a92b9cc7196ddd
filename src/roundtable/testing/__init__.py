"""Doubles, servers and suites: for testing programs that use the library, and plugins that extend it.

Scripted models are imported at once and need nothing else. Suites and servers are modules of their own, to be imported
by name; they need the extra `testing`.
"""

from __future__ import annotations

import sys

if "pytest" in sys.modules:
    # Before any suite is imported: a law that fails in somebody's tests then shows the values it compared.
    import pytest

    pytest.register_assert_rewrite(
        *(
            f"{__name__}.{suite}"
            for suite in ("key_value_suite", "mode_suite", "storage_lease_laws", "storage_log_laws", "storage_suite")
        )
    )

from roundtable.testing.scripted import Delay, ScriptedModel, scripted_agents

__all__ = ["Delay", "ScriptedModel", "scripted_agents"]
