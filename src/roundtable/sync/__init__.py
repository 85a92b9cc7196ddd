"""The facade for scripts and notebooks: the same methods, without `await`.

Works inside a running event loop too, as in a notebook, since everything runs on a loop of its own.
"""

from roundtable.sync.streams import DebateHandle, DebateStream, Watch
from roundtable.sync.table import Roundtable, debate_sync

__all__ = ["DebateHandle", "DebateStream", "Roundtable", "Watch", "debate_sync"]
