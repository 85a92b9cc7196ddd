"""The provider's own web search, as one agent uses it: the options that it requests, and the refusals."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.core.errors import APINetworkError, BudgetExceeded, ContextTooLong

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.core.errors import RoundtableError
    from roundtable.core.types.base import NativeSearch
    from roundtable.core.types.debate import DebateContext

__all__ = ["SEARCH_REFUSED", "Searching", "SeatSearch", "may_break_on_search", "refuses_request", "refuses_search"]

Searching: TypeAlias = "NativeSearch | Literal[False] | None"
"""The search setting of a request: options of a search, `False` to turn off a built-in search, or `None` if unset."""

SEARCH_REFUSED: Final = "the provider refused its own web search, so this agent goes on without it"
"""Start of the warning about a refused search."""

_NO_BUDGET: Final = "the budget covers no web search, so this agent goes on without it"
_INTERNAL_ERROR: Final = 500
_REFUSING_STATUSES: Final = frozenset({400, 403, 404, 405, 422, 501})
_SEARCH_WORDS: Final = re.compile(
    r"(?:web|google)[ _-]?search|grounding|search_(?:domain|recency|context)|web plugin|max_tool_calls", re.IGNORECASE
)
_TOOL_WORDS: Final = re.compile(r"\btools?\b|\bplugins?\b", re.IGNORECASE)
_MOST_SESSIONS: Final = 1000
_SHOWN_CHARS: Final = 300


class SeatSearch:
    """The web search of one agent: its options and, for each session, the refusals and the warnings to report.

    Args:
        wanted: The search setting of the agent's requests.
        notes: Warnings to add to the first answer of each session.
        built_in: Whether the model searches unless a request turns the search off.
    """

    def __init__(self, wanted: Searching, notes: Iterable[str] = (), *, built_in: bool = False) -> None:
        self.wanted: Searching = wanted
        self.off: Literal[False] | None = False if built_in else None
        """The search setting of a request that must not search."""
        self.has_worked = False
        """Whether the model has answered a request with a search."""
        self.notes: tuple[str, ...] = tuple(notes)
        self._unreported: OrderedDict[str, list[str]] = OrderedDict()
        self._refused: OrderedDict[str, None] = OrderedDict()

    def setting_for(self, context: DebateContext) -> Searching:
        """Return the search setting for a turn; a turn that may not call tools does not search."""
        if self.wanted and context.turn is not None and context.turn.tools.max == 0:
            return self.off
        return self.off if self.is_refused(context.session_id) else self.wanted

    def refuse(self, session: str, error: RoundtableError | None = None) -> None:
        """Stop searching in a session; the first refusal of a session is reported.

        Args:
            session: Id of the session.
            error: Error of the provider or the budget that refused the search; `None` if it is already recorded.
        """
        if error is not None and session not in self._refused:
            why = _NO_BUDGET if isinstance(error, BudgetExceeded) else SEARCH_REFUSED
            self._notes_of(session).append(f"{why}: {error.message[:_SHOWN_CHARS]}")
        self._refused[session] = None
        while len(self._refused) > _MOST_SESSIONS:
            self._refused.popitem(last=False)

    def is_refused(self, session: str) -> bool:
        """Check whether the provider refused to search in a session."""
        return session in self._refused

    def take_notes(self, session: str) -> tuple[str, ...]:
        """Return the warnings that were not reported in the session yet; each one is returned once."""
        notes = tuple(self._notes_of(session))
        self._unreported[session] = []
        return notes

    def _notes_of(self, session: str) -> list[str]:
        while len(self._unreported) >= _MOST_SESSIONS and session not in self._unreported:
            self._unreported.popitem(last=False)
        return self._unreported.setdefault(session, list(self.notes))


def refuses_request(error: RoundtableError) -> bool:
    """Check whether an error means that a provider will always reject the request, for whatever reason."""
    status = (error.details or {}).get("status")
    return status in _REFUSING_STATUSES and not error.retryable and not isinstance(error, ContextTooLong)


def refuses_search(error: RoundtableError) -> bool:
    """Check whether a provider's error message says that it refuses a request because of its search.

    Example:
        >>> from roundtable.errors import AgentError
        >>> message = "x answered with status 400: web_search is not supported"
        >>> refuses_search(AgentError(message, retryable=False, details={"status": 400}))
        True
    """
    if not refuses_request(error):
        return False
    is_forbidden = (error.details or {}).get("status") == 403
    return bool(_SEARCH_WORDS.search(error.message) or (not is_forbidden and _TOOL_WORDS.search(error.message)))


def may_break_on_search(error: RoundtableError) -> bool:
    """Check whether a server may have broken down because of a search instead of refusing it.

    So do small servers that expect a name for every tool: they answer with status 500, or break off the connection.

    Example:
        >>> from roundtable.errors import AgentError
        >>> may_break_on_search(AgentError("x answered with status 500", details={"status": 500}))
        True
    """
    details = error.details or {}
    if "status" in details:
        return details["status"] == _INTERNAL_ERROR
    return isinstance(error, APINetworkError) and details.get("connected") is not False
