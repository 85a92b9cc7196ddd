"""The HTTP server: teams and debates for web applications, streamed as server-sent events (extra `server`).

`roundtable serve` runs it. In a program, or behind your own ASGI server:

```python
from roundtable import Roundtable
from roundtable.server import create_app

app = create_app(Roundtable())
```

Modules are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.server.app import create_app
    from roundtable.server.approvals import ServerApproval
    from roundtable.server.quota import Limits
    from roundtable.server.response_bodies import ErrorBody
    from roundtable.server.routes.chat import MultiAgentRequest
    from roundtable.server.serving import serve
    from roundtable.server.state import ServerOptions

__all__ = ["ErrorBody", "Limits", "MultiAgentRequest", "ServerApproval", "ServerOptions", "create_app", "serve"]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ErrorBody": "response_bodies",
        "Limits": "quota",
        "MultiAgentRequest": "routes.chat",
        "ServerApproval": "approvals",
        "ServerOptions": "state",
        "create_app": "app",
        "serve": "serving",
    },
)
