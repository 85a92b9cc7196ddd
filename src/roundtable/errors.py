"""The errors that callers can tell apart, each with a hint on what to do."""

from __future__ import annotations

from roundtable.core.errors import *  # noqa: F403 - the same names under the path that is promised
