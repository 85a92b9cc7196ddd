"""A client of the HTTP server: debates and teams that run elsewhere, with the types of the library.

```python
from roundtable.client import RoundtableClient


async def main() -> None:
    async with RoundtableClient("https://debates.example.org", token="rt_...") as client:
        result = await client.debate("Tea or coffee?", rounds=2)
        print(result.answer)
```

`SyncRoundtableClient` is the same without `await`. Nothing is loaded before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.client.client import (
        ConversationRequest,
        DebateRequest,
        ForkRequest,
        GoOnRequest,
        RoundtableClient,
        SessionPage,
    )
    from roundtable.client.failures import ServerError
    from roundtable.client.streams import EventStream
    from roundtable.client.sync import SyncEventStream, SyncRoundtableClient

__all__ = [
    "ConversationRequest",
    "DebateRequest",
    "EventStream",
    "ForkRequest",
    "GoOnRequest",
    "RoundtableClient",
    "ServerError",
    "SessionPage",
    "SyncEventStream",
    "SyncRoundtableClient",
]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ConversationRequest": "client",
        "DebateRequest": "client",
        "EventStream": "streams",
        "ForkRequest": "client",
        "GoOnRequest": "client",
        "RoundtableClient": "client",
        "ServerError": "failures",
        "SessionPage": "client",
        "SyncEventStream": "sync",
        "SyncRoundtableClient": "sync",
    },
)
