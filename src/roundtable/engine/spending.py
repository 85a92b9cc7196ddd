"""What one run of a debate may still spend, by its budget and by what its log says was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from roundtable.errors import BudgetExceeded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from roundtable._ledger import Ledger
    from roundtable.record import Fold
    from roundtable.types import AnyTurn, Budget

__all__ = ["Funds", "TimeLimit", "seconds_of"]


class TimeLimit(NamedTuple):
    """When a run ends at the latest, and what to say then."""

    seconds: float | None
    """From now; `None` never."""
    reason: str
    """Exit reason."""
    details: str
    """The same in words."""


class Funds:
    """The money, tokens, calls and seconds of one run; a block round the run.

    Args:
        ledger: Where calls are reserved and settled.
        fold: State of the session.
        budget: Limits for this run; those stored with the session when left out.
    """

    def __init__(self, ledger: Ledger, fold: Fold, budget: Budget | None) -> None:
        self._ledger = ledger
        self._fold = fold
        self._account = ledger.open(fold.record.id, budget or fold.record.config.budget)
        self._account.catch_up(fold.usage)

    @property
    def refused(self) -> bool:
        """Whether a call was refused."""
        return self._account.refusal is not None

    def check(self) -> str | None:
        """Say why no further call can be made; `None` while one may. Counts what the log has and no meter saw."""
        self._account.catch_up(self._fold.usage)
        return self._account.check()

    def refusal(self, why: str) -> BudgetExceeded | None:
        """Give the error of a debate that could make no call at all; `None` where answers are stored."""
        if any(held.turns for held in self._fold.rounds):
            return None
        return BudgetExceeded(why, details={"sessionId": self._fold.record.id})

    def time_limit(self, deadline_s: float | None) -> TimeLimit:
        """Give the nearer one of a deadline and the seconds that the budget leaves."""
        origin = self._fold.record.forked_from
        shared = 0 if origin is None else origin.at_round
        own = (held for held in self._fold.rounds if held.number > shared)
        used = seconds_of(turn for held in own for turn in held.turns.values())
        left = self._ledger.seconds_left(self._fold.record.id, used)
        if left is not None and (deadline_s is None or left < deadline_s):
            return TimeLimit(
                left, "budget", f"the seconds of the budget are used up; {left:.3g} were left for this run"
            )
        return TimeLimit(deadline_s, "deadline", f"the deadline of {deadline_s or 0:g} s passed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say that the run is over."""
        self._ledger.close(self._fold.record.id)


def seconds_of(turns: Iterable[AnyTurn]) -> float:
    """Give the seconds during which at least one turn was taken; what lies between counts for nothing."""
    spans = sorted((turn.timestamp.timestamp() - turn.duration_s, turn.timestamp.timestamp()) for turn in turns)
    total, reached = 0.0, float("-inf")
    for begin, end in spans:
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
