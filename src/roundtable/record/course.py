"""Which events may follow in which state of a session; every storage holds to it.

```
created -> active <-> paused -> completed       any -> error
completed -> active by `extend` alone           error -> active by `resume` alone
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.errors import SessionConflict
from roundtable.record.progress import Progress, advance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.types import DurableEvent, SessionStatus

__all__ = ["follow"]

_FROM: Final[dict[str, tuple[SessionStatus, ...]]] = {
    "debate_start": ("created", "active"),
    "conversation_start": ("created", "active"),
    "round_start": ("created", "active"),
    "pause": ("created", "active"),
    "stop": ("created", "active", "paused"),
    "resume": ("created", "active", "paused", "error"),
    "to paused": ("created", "active"),
    "to completed": ("created", "active", "paused"),
    "to created": (),
    "to active": (),
    "to error": (),
}
"""States from which each step leads on; what is not listed may follow in any state."""


def follow(session_id: str, progress: Progress, events: Iterable[DurableEvent]) -> Progress:
    """Give the progress after these events.

    Raises:
        SessionConflict: One of them cannot follow in the state reached by then.

    Example:
        >>> from roundtable.types import Control, utc_now
        >>> done = Progress("completed", 1, 1, 2)
        >>> follow("s1", done, [Control(session_id="s1", timestamp=utc_now(), action="pause")])
        Traceback (most recent call last):
        ...
        roundtable.errors.SessionConflict: session 's1' is completed; 'pause' cannot follow
    """
    for event in events:
        step = _step(event)
        if progress.status not in _FROM.get(step, (progress.status,)):
            msg = f"session {session_id!r} is {progress.status}; {step!r} cannot follow"
            raise SessionConflict(msg, details={"status": progress.status, "step": step})
        progress = advance(progress, (event,))
    return progress


def _step(event: DurableEvent) -> str:
    match event.type:
        case "control":
            return event.action
        case "debate_complete":
            return f"to {event.status}"
        case "conversation_complete":
            return "to completed"
        case _:
            return event.type
