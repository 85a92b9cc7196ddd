"""The protocols that users and plugins implement; no code runs here.

A class satisfies a protocol by having its methods; it does not have to import the protocol. `roundtable.testing`
checks signatures, because `isinstance` on a protocol compares names only.
"""

from __future__ import annotations

from roundtable.core import capabilities as _capabilities
from roundtable.core import protocols as _protocols
from roundtable.core.capabilities import *  # noqa: F403 - the same names under the path that is promised
from roundtable.core.protocols import *  # noqa: F403 - as above

__all__: list[str] = []
__all__ += _capabilities.__all__
__all__ += _protocols.__all__
