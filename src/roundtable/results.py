"""What many debates came to: a sequence of results that can be tabled, and decided anew without any call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, overload

from roundtable._frames import frame_of
from roundtable._registry import Registry
from roundtable.analysis import answer_changed, check_rule, decide_record
from roundtable.errors import ConfigurationError
from roundtable.result import DebateResult, answer_of
from roundtable.scoring import Rule
from roundtable.types import ErrorInfo, RoundRecord, Usage, Value
from roundtable.types.debate import last_complete
from roundtable.types.plan import JUDGE_STAGE, JUDGED

if TYPE_CHECKING:
    from pandas import DataFrame

    from roundtable.types import DebateConfig, Decision, JsonObject

__all__ = ["FailedDebate", "Results"]

_COLUMNS: Final = (
    *("sessionId", "topic", "mode", "status", "answer", "answerSource", "rule", "passed", "agreement", "method"),
    *("independentAgreement", "conformityDelta", "baselineMajority", "rounds", "answered", "failed"),
    *("calls", "tokens", "costUsd", "durationS", "error", "errorCode"),
)
"""Columns of a table of debates, in order."""


class FailedDebate(Value):
    """A debate of many that gave no result."""

    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    error: ErrorInfo
    """What went wrong."""
    session_id: str | None = None
    """Its session, where one was stored; it may be resumed."""
    partial: DebateResult | None = None
    """What was said before it broke."""


class Results(Sequence[DebateResult]):
    """The results of many debates, in the order in which they were asked for; see `Roundtable.debate_many`.

    A debate that failed is in `failures` and in the table, never among the results.

    Args:
        held: What became of each debate.
        rules: Where `redecide` looks up rules; the built-in ones when left out.

    Example:
        >>> from roundtable import sync
        >>> from roundtable.testing import scripted_agents
        >>> with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
        ...     results = table.debate_many(["Tea or coffee?", "Tea or water?"], rounds=1)
        >>> [result.answer for result in results], len(results.failures)
        (['Tea', 'Tea'], 0)
    """

    def __init__(self, held: Iterable[DebateResult | FailedDebate], *, rules: Registry[Rule] | None = None) -> None:
        self.held: tuple[DebateResult | FailedDebate, ...] = tuple(held)
        """What became of each debate, failures in their places."""
        self._rules = rules
        self._results = tuple(one for one in self.held if isinstance(one, DebateResult))

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> DebateResult: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[DebateResult, ...]: ...

    def __getitem__(self, index: int | slice) -> DebateResult | tuple[DebateResult, ...]:
        return self._results[index]

    def __repr__(self) -> str:
        return f"Results({len(self)} debates, {len(self.failures)} failed)"

    @property
    def failures(self) -> tuple[FailedDebate, ...]:
        """The debates that gave no result."""
        return tuple(one for one in self.held if isinstance(one, FailedDebate))

    @property
    def usage(self) -> Usage:
        """What all debates consumed together, failed ones as far as that is known."""
        results = (one if isinstance(one, DebateResult) else one.partial for one in self.held)
        return sum((result.usage for result in results if result is not None), Usage())

    def to_records(self) -> list[JsonObject]:
        """Give one flat row per debate, failed ones included; `DebateResult.to_records` has the turns."""
        return [_row(one) if isinstance(one, DebateResult) else _failed_row(one) for one in self.held]

    def to_frame(self) -> DataFrame:
        """Give `to_records` as a data frame of pandas (extra `frames`).

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.to_records(), _COLUMNS)

    def redecide(self, rule: str | Rule) -> Results:
        """Apply another decision rule to the last round of each debate; nothing is called, paid for or stored.

        What the rule decides is the answer, also where a chair has spoken or judges have voted. Everything else, such
        as agreement and what was said, stays as it is.

        Args:
            rule: The rule by name with parameters, as in `"supermajority(2/3)"`, or a rule of your own.

        Raises:
            ConfigurationError: There is no such rule, it cannot count positions, or judges are to decide who were never
                asked.
        """
        check_rule(rule, self._rules)
        name, rules = rule if isinstance(rule, str) else rule.name, self._rules
        if name in JUDGED and any(last_complete(one.rounds) and not _judged(one) for one in self._results):
            hint = f"Hold the debates with decide={name!r}."
            raise ConfigurationError(f"the rule {name!r} counts votes of judges, and nobody judged", hint=hint)
        if isinstance(rule, Rule):
            rules = Registry[Rule]("decision rule")
            rules.add(name, rule, summary=rule.summary)
        anew = (_decided(one, name, rules) if isinstance(one, DebateResult) else one for one in self.held)
        return Results(anew, rules=self._rules)


def _decided(result: DebateResult, rule: str, rules: Registry[Rule] | None) -> DebateResult:
    config = result.config.model_copy(update={"decide": rule})
    last = last_complete(result.rounds)
    if last is None:
        return result.model_copy(update={"config": config})
    decision = decide_record(last, last.consensus, config, rules)
    anew = last.model_copy(update={"decision": decision})
    rounds = tuple(anew if held is last else held for held in result.rounds)
    return result.model_copy(update={"config": config, "rounds": rounds, **_answer(result, anew, decision, config)})


def _judged(result: DebateResult) -> bool:
    return any(turn.stage == JUDGE_STAGE for held in result.rounds for turn in held.turns)


def _answer(result: DebateResult, last: RoundRecord, decision: Decision, config: DebateConfig) -> dict[str, object]:
    """Give the fields that follow from a decision."""
    answer, source = answer_of(last, result.synthesis, config)
    found = result.baselines
    if found is not None and found.single is not None:
        changed = answer_changed(decision.winner, found.majority, by_choice=config.options is not None)
        found = found.model_copy(update={"answer_changed": changed})
    return {
        "decision": decision,
        "answer": answer,
        "answer_source": source,
        "answer_reason": decision.why if answer is None else None,
        "baselines": found,
    }


def _row(result: DebateResult) -> JsonObject:
    measured, decision, found = result.consensus, result.decision, result.baselines
    seats = result.roster.agents
    return {
        "sessionId": result.session_id,
        "topic": result.topic,
        "mode": result.mode,
        "status": result.status,
        "answer": result.answer,
        "answerSource": result.answer_source,
        "rule": decision.rule if decision else None,
        "passed": decision.passed if decision else None,
        "agreement": measured.agreement_level if measured else None,
        "method": measured.method if measured else None,
        "independentAgreement": result.independent_agreement,
        "conformityDelta": result.conformity_delta,
        "baselineMajority": found.majority if found else None,
        "rounds": len(result.rounds),
        "answered": sum(entry.answered for entry in seats),
        "failed": sum(entry.failed for entry in seats),
        "calls": result.usage.calls,
        "tokens": result.usage.total_tokens,
        "costUsd": result.usage.cost_usd,
        "durationS": round(sum(map(_seconds, result.rounds)), 6),
        "error": result.error.message if result.error else None,
        "errorCode": result.error.code if result.error else None,
    }


def _seconds(held: RoundRecord) -> float:
    """Give the time from the first turn's begin to the last one's end."""
    if not held.turns:
        return 0.0
    ends = [turn.timestamp.timestamp() for turn in held.turns]
    return max(ends) - min(end - turn.duration_s for end, turn in zip(ends, held.turns, strict=True))


def _failed_row(failed: FailedDebate) -> JsonObject:
    found: JsonObject = dict.fromkeys(_COLUMNS)
    if failed.partial is not None:
        found |= _row(failed.partial)
    found |= {"sessionId": failed.session_id, "topic": failed.topic, "mode": failed.mode, "status": "error"}
    return found | {"error": failed.error.message, "errorCode": failed.error.code}
