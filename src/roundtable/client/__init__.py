"""A client for the HTTP server: it runs debates and teams on a server, and returns the types of the library.

```python
from roundtable.client import RoundtableClient


async def main() -> None:
    async with RoundtableClient("https://debates.example.org", token="rt_...") as client:
        result = await client.debate("Tea or coffee?", rounds=2)
        print(result.answer)
```

`SyncRoundtableClient` has the same methods without `await`. Modules are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.client.client import RoundtableClient, SessionPage
    from roundtable.client.connection import ServerError
    from roundtable.client.keywords import (
        ConversationKeywords,
        DebateKeywords,
        ExtendKeywords,
        ForkKeywords,
        ResumeKeywords,
    )
    from roundtable.client.streams import EventStream
    from roundtable.client.sync import SyncEventStream, SyncRoundtableClient

__all__ = [
    "ConversationKeywords",
    "DebateKeywords",
    "EventStream",
    "ExtendKeywords",
    "ForkKeywords",
    "ResumeKeywords",
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
        "ConversationKeywords": "keywords",
        "DebateKeywords": "keywords",
        "EventStream": "streams",
        "ExtendKeywords": "keywords",
        "ForkKeywords": "keywords",
        "ResumeKeywords": "keywords",
        "RoundtableClient": "client",
        "ServerError": "connection",
        "SessionPage": "client",
        "SyncEventStream": "sync",
        "SyncRoundtableClient": "sync",
    },
)
