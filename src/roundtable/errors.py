"""Every error the library raises.

```
RoundtableError
├── APIRateLimitError     API_RATE_LIMIT        retryable
├── APIAuthError          API_AUTH_FAILED
├── APINetworkError       API_NETWORK_ERROR     retryable
│   └── CircuitOpen       API_NETWORK_ERROR
├── APITimeoutError       API_TIMEOUT           retryable
├── AgentError            AGENT_ERROR
│   ├── ContextTooLong    AGENT_ERROR
│   └── ParseError        PARSE_ERROR
├── SessionError          SESSION_ERROR
│   ├── SessionNotFound   SESSION_ERROR
│   ├── SessionConflict   SESSION_ERROR
│   │   └── StaleSequence SESSION_ERROR         retryable
│   ├── SessionBusy       SESSION_ERROR         retryable
│   └── LeaseLost         SESSION_ERROR
├── StorageError          STORAGE_ERROR
├── ConfigurationError    CONFIGURATION_ERROR
├── PluginError           PLUGIN_ERROR
├── BudgetExceeded        BUDGET_EXCEEDED
├── CassetteMiss          CASSETTE_MISS
└── QuorumLost            QUORUM_LOST           retryable
```
"""

from __future__ import annotations

from roundtable.core import errors as _errors
from roundtable.core.errors import *  # noqa: F403 - the same names under the path that is promised
from roundtable.core.errors import __all__ as __all__  # noqa: PLC0414 - type checkers see what is public here

# Pickles of version 0.2 name it here.
_rebuild = _errors._rebuild  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
