"""Doubles, servers and suites: for testing programs that use the library, and plugins that extend it.

Scripted models are imported at once and need nothing else. Suites and servers are modules of their own, to be imported
by name; they need the extra `testing`.
"""

from __future__ import annotations

from roundtable.testing.scripted import Delay, ScriptedModel, scripted_agents

__all__ = ["Delay", "ScriptedModel", "scripted_agents"]
