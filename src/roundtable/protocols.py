"""What plugins implement: agents, models, modes, storages, tools, observers, rules, exits, and what makes them."""

from __future__ import annotations

from roundtable.core.protocols import *  # noqa: F403 - the same names under the path that is promised
