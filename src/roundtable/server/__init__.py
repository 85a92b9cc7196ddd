"""The HTTP server: teams and debates for web applications, told as server-sent events (extra `server`).

`roundtable serve` runs it. In a program, or behind an ASGI server of your own:

```python
from roundtable import Roundtable
from roundtable.server import create_app

app = create_app(Roundtable())
```

Nothing is loaded before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.server.accounts import Limits
    from roundtable.server.answers import ErrorBody
    from roundtable.server.app import create_app
    from roundtable.server.chat import MultiAgentRequest
    from roundtable.server.serving import serve
    from roundtable.server.state import ServerOptions

__all__ = ["ErrorBody", "Limits", "MultiAgentRequest", "ServerOptions", "create_app", "serve"]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ErrorBody": "answers",
        "Limits": "accounts",
        "MultiAgentRequest": "chat",
        "ServerOptions": "state",
        "create_app": "app",
        "serve": "serving",
    },
)
