"""The remaining budget of a run: its limits minus the spending in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

from roundtable.core.base.ledger import DebateKey
from roundtable.core.errors import BudgetExceeded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from roundtable.core.base.ledger import Ledger
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.debate import AnyTurn

__all__ = ["RunBudget", "TimeLimit", "seconds_of"]

_BUDGET_HINT: Final = (
    "Set a larger budget with `budget=`, or with `--budget calls=...` on the command line; the budget counts from the "
    "start of the debate. The budget of the table applies too."
)


class TimeLimit(NamedTuple):
    """The latest end of a run, and its exit reason."""

    seconds: float | None
    """Seconds from now; `None` for no limit."""
    reason: str
    """Exit reason."""
    details: str
    """Explanation of the reason."""


class RunBudget:
    """Budget of one run: money, tokens, calls and seconds. Use it as a context manager around the run.

    Args:
        ledger: Reserves and settles calls.
        fold: State of the session.
        budget: Limits for this run; when left out, the limits stored with the session.
    """

    def __init__(self, ledger: Ledger, fold: Fold, budget: Budget | None) -> None:
        self._ledger = ledger
        self._fold = fold
        record = fold.record
        self._key = DebateKey(record.id, record.tenant, record.created_at)
        self._account = ledger.open(self._key, budget or record.config.budget)
        self._charging = ledger.charging(self._key)
        self._account.catch_up(fold.usage)

    @property
    def refused(self) -> bool:
        """Whether a call was refused."""
        return self._account.refusal is not None

    @property
    def calls_begun(self) -> int:
        """Number of calls that the run has made through the gateway."""
        return self._account.calls_begun

    def check(self) -> str | None:
        """Return why no more calls can be made, or `None`; first charges calls in the log that no ledger metered."""
        self._account.catch_up(self._fold.usage)
        return self._account.check()

    def check_start(self, *, adds_rounds: bool) -> None:
        """Check that the budget covers another call, before the run stores anything.

        The check passes a new session in any case, so that the session can be resumed later. It also passes a run that
        may need no call: a run that closes a round, or that only writes the synthesis.

        Args:
            adds_rounds: Whether the run extends the session.

        Raises:
            BudgetExceeded: The budget is used up.
        """
        fold = self._fold
        if not (adds_rounds or self._takes_turns()):
            return
        self._account.catch_up(fold.usage)
        shortage = self._account.shortage(may_use_reserve=fold.wants_synthesis and not adds_rounds)
        if shortage is None and self.time_limit(None).seconds == 0:
            shortage = "the seconds of the budget are used up"
        if shortage is not None:
            raise BudgetExceeded(shortage, hint=_BUDGET_HINT, details={"sessionId": fold.record.id})

    def _takes_turns(self) -> bool:
        """Check whether a session that has already started still has turns to take when it is resumed."""
        fold, current = self._fold, self._fold.current
        origin = fold.record.forked_from
        began = fold.started and (origin is None or fold.last_seq > origin.events)
        if not began or fold.concluding or fold.progress.status == "completed":
            return False
        if fold.exit is not None and fold.exit.reason == "budget":
            return True
        return current is not None and current.complete and current.number < fold.progress.total_rounds

    def refusal(self, why: str) -> BudgetExceeded | None:
        """Return the error of a debate that could not make a single call; `None` if answers are stored."""
        if any(debate_round.turns for debate_round in self._fold.rounds):
            return None
        return BudgetExceeded(why, details={"sessionId": self._fold.record.id})

    def time_limit(self, deadline_s: float | None) -> TimeLimit:
        """Return the earlier of a deadline and the end of the budget's seconds."""
        origin = self._fold.record.forked_from
        shared = 0 if origin is None else origin.at_round
        own_rounds = (debate_round for debate_round in self._fold.rounds if debate_round.number > shared)
        used = seconds_of(turn for debate_round in own_rounds for turn in debate_round.turns.values())
        budget_s = self._ledger.seconds_left(self._key, used)
        if budget_s is not None and (deadline_s is None or budget_s < deadline_s):
            return TimeLimit(
                budget_s, "budget", f"the seconds of the budget are used up; {budget_s:.3g} were left for this run"
            )
        return TimeLimit(deadline_s, "deadline", f"the deadline of {deadline_s or 0:g} s passed")

    def __enter__(self) -> Self:
        self._charging.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the account of the run."""
        self._charging.__exit__(kind, error, trace)
        self._ledger.close(self._key)


def seconds_of(turns: Iterable[AnyTurn]) -> float:
    """Return the seconds during which at least one turn ran; pauses between turns do not count."""
    spans = sorted((turn.timestamp.timestamp() - turn.duration_s, turn.timestamp.timestamp()) for turn in turns)
    total, reached = 0.0, float("-inf")
    for begin, end in spans:
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
