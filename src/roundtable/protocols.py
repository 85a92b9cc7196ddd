"""The protocols that users and plugins implement; no code runs here.

A class satisfies a protocol by having its methods; it does not have to import the protocol. `roundtable.testing`
checks signatures, because `isinstance` on a protocol compares names only.
"""

from __future__ import annotations

from roundtable.core.protocols import *  # noqa: F403 - the same names under the path that is promised
from roundtable.core.protocols import __all__ as __all__  # noqa: PLC0414 - type checkers see what is public here
