"""Doubles, servers and suites: for testing programs that use the library, and plugins that extend it.

Nothing is loaded before it is asked for; suites and servers need the extra `testing`.
"""

from __future__ import annotations

from roundtable.testing.scripted import Delay, ScriptedModel, scripted_agents

__all__ = ["Delay", "ScriptedModel", "scripted_agents"]
