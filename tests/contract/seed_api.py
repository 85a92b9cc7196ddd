"""Everything the seeds promise, with the place where it is kept.

Each row names the issue that builds it. A row whose issue is in `DONE` is checked by import, signature and default, or
where it states none of them by a test that runs it (`showing.py`); the others say what is planned, and the docs page
*From the TypeScript API* says so too.

- issue 2: types, errors, registries, BaseAgent, the collaborative mode, engine, basic consensus, sqlite, settings
- issue 3: exits and their environment; issue 4: dialects; issue 5: gateway and the providers' agents; issue 6: modes
- issue 7: toolkit; issue 8: analysis; issue 9: sessions; issue 10: command-line agents; issue 11: MCP; issue 12: HTTP
"""

from __future__ import annotations

from contract import (
    seed_000_classes,
    seed_000_errors,
    seed_000_tools,
    seed_000_types,
    seed_001,
    seed_002,
    seed_003,
    seed_004,
)
from contract.seed_rows import Row

DONE = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
"""Issues whose rows must hold."""

ISSUES = range(2, 13)
"""Issues a row can belong to."""

ROWS: tuple[Row, ...] = (
    *seed_000_types.ROWS,
    *seed_000_classes.ROWS,
    *seed_000_tools.ROWS,
    *seed_000_errors.ROWS,
    *seed_001.ROWS,
    *seed_002.ROWS,
    *seed_003.ROWS,
    *seed_004.ROWS,
)


def is_done(row: Row) -> bool:
    """Check whether a row must hold now."""
    return row.issue in DONE


def status(row: Row) -> str:
    """Return the status of a row for the docs; what exists by chance is not promised yet."""
    return "available" if is_done(row) else "planned"
