"""Outcomes of listed sessions, one line each: the answer and the agreement."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.errors import SessionNotFound, StorageError
from roundtable.report import unmarked
from roundtable.report.view import short_name
from roundtable.results.findings import interim_mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.api import Roundtable
    from roundtable.core.types.storage import SessionSummary
    from roundtable.results.debate_result import DebateResult

__all__ = ["Outcome", "Outcomes"]

_MOST: Final = 1_000
_CHARS: Final = 160


class Outcome(NamedTuple):
    """The current outcome of a session."""

    answer: str
    """Its answer in one line, or the reason why it has none; empty before the first complete round."""
    agreement: str
    """The agreement, in words; empty if there is nothing to compare."""


class Outcomes:
    """The outcomes of sessions that were listed lately. A session is read again only when it has changed."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, int], Outcome] = OrderedDict()

    async def of(self, table: Roundtable, tenant: str, entries: Iterable[SessionSummary]) -> dict[str, Outcome]:
        """Return the outcomes of sessions by id; sessions that cannot be read are left out.

        Args:
            table: Table of the tenant.
            tenant: Name of the tenant.
            entries: The sessions.
        """
        outcomes: dict[str, Outcome] = {}
        for entry in entries:
            key = tenant, entry.id, entry.last_seq
            if entry.error is not None or not entry.current_round:
                continue
            outcome = self._known.get(key)
            if outcome is None:
                try:
                    outcome = _outcome(await table.session(entry.id))
                except (SessionNotFound, StorageError):  # the session's own page shows the problem
                    continue
                self._known[key] = outcome
            self._known.move_to_end(key)
            outcomes[entry.id] = outcome
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return outcomes


def _outcome(result: DebateResult) -> Outcome:
    answer = result.answer
    if answer is None:
        words = f"No answer: {result.answer_reason}" if result.decision is not None else ""
    else:
        words = f"{interim_mark(result)}{answer}"
    consensus = result.consensus
    agreement = "" if consensus is None or result.team is not None else f"agreement {consensus.level_in_words}"
    return Outcome(short_name(unmarked(words), _CHARS), agreement)
