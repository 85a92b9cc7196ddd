"""Results of many debates: a sequence that can be shown as a table; other rules can decide again without any call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, overload

from roundtable.analysis import check_rule, decide_record
from roundtable.analysis.decision import check_stored_vote
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.registry import Registry
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import Value
from roundtable.core.types.chat import Usage
from roundtable.core.types.debate import ErrorInfo, RoundRecord, last_complete
from roundtable.core.types.plan import JUDGE_STAGE, VOTE_STAGE
from roundtable.report.html_builder import tag
from roundtable.report.view import short_name
from roundtable.results.debate_result import DebateResult, answer_of, with_decision
from roundtable.results.rows import DEBATE_COLUMNS, debate_row, frame_of
from roundtable.scoring import Rule
from roundtable.scoring.rules import judges_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.consensus import Decision
    from roundtable.core.types.debate import DebateConfig
    from roundtable.results.frames import Frame, FrameBackend, FrameKind

__all__ = ["FailedDebate", "Progress", "RecoveredSession", "Results"]


_SHOWN: Final = {
    "topic": "question",
    "mode": "mode",
    "answer": "answer",
    "agreement": "agreement",
    "calls": "calls",
    "costUsd": "USD",
    "status": "status",
}
"""Columns of the table in a notebook, with their headings."""
_MOST_SHOWN_ROWS: Final = 25
_CELL_CHARS: Final = 80
_MOST_SHOWN_BYTES: Final = 19_000
"""Maximum number of bytes of the table's rows, so that the whole table stays below the limit of a cell."""


def _cell(outcome: DebateResult | FailedDebate, row: JsonObject, name: str) -> str:
    """Return the text of a cell of the notebook table; the agreement is shown as in the report of the debate."""
    value = row[name]
    if name == "agreement":
        result = outcome if isinstance(outcome, DebateResult) else outcome.partial
        consensus = None if result is None else result.consensus
        return "" if consensus is None else consensus.level_in_words.partition(": ")[0]
    if name == "status" and row["error"]:
        value = f"{value}: {row['error']}"
    if isinstance(value, float):
        return f"{value:.4f}"
    return short_name("" if value is None else f"{value}", _CELL_CHARS)


class Progress(Value):
    """Progress of many debates.

    Example:
        >>> Progress(ended=20, total=60, elapsed_s=30.0).left_s
        60.0
    """

    ended: int
    """Number of debates that have ended, including failed ones."""
    total: int
    """Total number of debates."""
    failed: int = 0
    """Number of debates that failed."""
    stored: int = 0
    """Number of debates that had ended before this call, so that only their results were read."""
    waiting: int = 0
    """Number of debates that wait for a provider now."""
    waiting_for: str | None = None
    """Why most of them wait; `None` if none waits."""
    waiting_provider: str | None = None
    """Provider for which most of them wait, if it is known."""
    waiting_code: str | None = None
    """Code of the error for which most of them wait; `None` if none waits."""
    wait_s: float = 0.0
    """Seconds that the longest of these waits takes in total."""
    wait_left_s: float | None = None
    """Seconds until the first of the debates that wait for the most frequent cause tries again; `None` if none waits.
    """
    waited_s: float = 0.0
    """Seconds since the first wait for that cause, without a break of more than a minute."""
    is_wait_news: bool = False
    """Whether a log should have a line about the waits: a cause lasts for ten seconds, or another minute, two minutes,
    four minutes and so on have passed. One report of each such time says so, also one about a debate that has ended."""
    has_ended: bool = True
    """Whether a debate has just ended; if not, a debate has begun to wait, waits or continues after a wait."""
    at_once: int | None = None
    """Number of debates that may run at the same time now; `None` for debates in a fleet."""
    usage: Usage = Usage()
    """What the debates that ended have consumed, including earlier calls of the method."""
    elapsed_s: float
    """Seconds since the call began."""
    worked_s: float | None = None
    """Seconds of work since the call began: time in which debates could not run because they waited for providers is
    left out, in part if others ran meanwhile. `None` if that is unknown, as for debates in a fleet."""

    @property
    def ran(self) -> int:
        """Number of debates that ran in this call and have ended."""
        return self.ended - self.stored

    @property
    def left_s(self) -> float | None:
        """Estimated seconds until the end; `None` before a debate of this call has ended.

        Debates whose results were only read, and waits for providers, say nothing about the rate. While debates wait,
        the end cannot come before their next try.

        Example:
            >>> Progress(ended=58, total=60, elapsed_s=58.0, waiting=2, wait_left_s=40.0).left_s
            40.0
        """
        if self.ran <= 0:
            return None
        return max(self._busy_s / self.ran * (self.total - self.ended), self.wait_left_s or 0.0)

    @property
    def per_second(self) -> float | None:
        """Debates that ended in each second of work; `None` before a debate of this call has ended.

        Example:
            >>> Progress(ended=20, total=60, elapsed_s=700.0, worked_s=40.0).per_second
            0.5
        """
        return self.ran / self._busy_s if self.ran > 0 and self._busy_s > 0 else None

    @property
    def _busy_s(self) -> float:
        return self.elapsed_s if self.worked_s is None else self.worked_s


class FailedDebate(Value):
    """One of many debates that failed."""

    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    error: ErrorInfo
    """What went wrong."""
    session_id: str | None = None
    """Id of its session, if a session was stored; the session may be resumable."""
    partial: DebateResult | None = None
    """Result up to the failure, if there is one."""


class RecoveredSession(Value):
    """The outcome of a session that `Roundtable.recover` found unfinished."""

    session_id: str
    """Id of the session."""
    topic: str
    """The question."""
    outcome: Literal["completed", "partial", "waiting", "ended", "taken", "failed"]
    """`completed`; `partial` if the session ended early again, for example because of its budget; `waiting` if it waits
    for information that its agents require, or for an owner that runs it round by round; `ended` if a pause or stop had
    been requested; `taken` if another process, or another caller in this process, runs it now; or `failed`."""
    result: DebateResult | None = None
    """Result of the session, if it was continued here."""
    error: ErrorInfo | None = None
    """Why the session was not continued to its end."""


@explains_arguments
class Results(Sequence[DebateResult]):
    """The results of many debates, in the order of the request; see `Roundtable.debate_many`.

    A debate that failed is in `failures` and in the table, but not in the sequence of results.

    Args:
        held: The outcome of each debate.
        rules: Registry in which `redecide` looks up rules; the built-in rules if omitted.

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
        """The outcome of each debate in order, including failures."""
        self._rules = rules
        self._results = tuple(outcome for outcome in self.held if isinstance(outcome, DebateResult))

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> DebateResult: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[DebateResult, ...]: ...

    def __getitem__(self, index: int | slice) -> DebateResult | tuple[DebateResult, ...]:
        return self._results[index]

    def __repr__(self) -> str:
        return f"Results({counted(len(self), 'debate')}, {self._shortfall()})"

    def _repr_html_(self) -> str:
        rows = self.to_records()
        body = [
            tag("tr", *(tag("td", _cell(outcome, row, name), dir="auto") for name in _SHOWN))
            for outcome, row in zip(self.held[:_MOST_SHOWN_ROWS], rows, strict=False)
        ]
        while sum(len(row.text.encode()) for row in body) > _MOST_SHOWN_BYTES:
            body.pop()
        left = len(rows) - len(body)
        more = tag("p", f"{left:,} more; to_frame() has all.") if left > 0 else None
        head = tag("tr", *(tag("th", _SHOWN[name]) for name in _SHOWN))
        return tag(
            "div",
            tag("p", f"{counted(len(rows), 'debate')}, {self._shortfall()}"),
            tag("table", tag("thead", head), tag("tbody", *body)),
            more,
            class_="roundtable",
        ).text

    @property
    def failures(self) -> tuple[FailedDebate, ...]:
        """The debates that failed."""
        return tuple(outcome for outcome in self.held if isinstance(outcome, FailedDebate))

    @property
    def incomplete(self) -> tuple[DebateResult, ...]:
        """The debates in whose last round an agent is missing, for example because its key was refused."""
        return tuple(result for result in self._results if not result.roster.complete)

    @property
    def unanswered(self) -> tuple[DebateResult, ...]:
        """The debates that ended without an answer: a tie, too few votes, answers that could not be read."""
        ended = (result for result in self._results if result.status == "completed")
        return tuple(result for result in ended if result.answer is None)

    def _shortfall(self) -> str:
        lacks = {"with agents missing": len(self.incomplete), "without an answer": len(self.unanswered)}
        return ", ".join(
            [f"{len(self.failures)} failed", *(f"{count} {what}" for what, count in lacks.items() if count)]
        )

    @property
    def usage(self) -> Usage:
        """Usage of all debates together, including failed debates if their usage is known."""
        results = (outcome if isinstance(outcome, DebateResult) else outcome.partial for outcome in self.held)
        return sum((result.usage for result in results if result is not None), Usage())

    def to_records(self) -> list[JsonObject]:
        """Return one flat row per debate, including failed ones; for rows per turn, see `DebateResult.to_records`."""
        return [
            debate_row(outcome) if isinstance(outcome, DebateResult) else _failed_row(outcome) for outcome in self.held
        ]

    def to_frame(self) -> DataFrame:
        """Return `to_records` as a pandas data frame (extra `frames`).

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.to_records(), DEBATE_COLUMNS)

    def frames(self, kind: FrameKind = "sessions", backend: FrameBackend = "pandas") -> Frame:
        """Return all turns, sessions, votes or pairs as a frame with typed columns, as `DebateResult.frames` does.

        Sessions include failed debates; turns and votes of failed debates are included as far as they are known.

        Args:
            kind: Kind of rows: `turns`, `sessions`, `votes` or `pairs`.
            backend: `pandas` (extra `frames`), `polars`, `arrow`, `records`, `csv` or `latex`.

        Raises:
            ConfigurationError: An argument is not valid, or the library of the backend is not installed.
        """
        from roundtable.results.frames import frame_of_rows, rows_of

        if kind == "sessions":
            rows: Iterable[JsonObject] = (
                next(iter(rows_of(kind, outcome))) if isinstance(outcome, DebateResult) else _failed_row(outcome)
                for outcome in self.held
            )
        else:
            known = (outcome if isinstance(outcome, DebateResult) else outcome.partial for outcome in self.held)
            rows = (row for result in known if result is not None for row in rows_of(kind, result))
        return frame_of_rows(kind, rows, backend)

    def redecide(self, rule: str | Rule) -> Results:
        """Apply another decision rule to the last round of each debate; no model is called, and nothing is stored.

        A vote on motions is counted again from its ballots; a rule that cannot count such ballots is refused.

        The outcome of the rule becomes the answer, even if a chair has concluded or judges have voted. Everything else,
        such as agreement and positions, stays the same.

        Args:
            rule: The rule by name with parameters, as in `"supermajority(2/3)"`, or your own rule object.

        Raises:
            ConfigurationError: The rule is unknown, cannot count positions or the ballots of a stored vote, or needs
                votes of judges although there are none.
        """
        check_rule(rule, self._rules, vote=any(map(_has_voted, self._results)))
        check_stored_vote(rule, sorted({kind for result in self._results for kind in _vote_kinds(result)}), self._rules)
        name, rules = rule if isinstance(rule, str) else rule.name, self._rules
        judged = [] if judges_of(rule, rules) is None else self._results
        if any(last_complete(result.rounds) and not _has_judge(result) for result in judged):
            hint = f"Run the debates with decide={name!r}."
            raise ConfigurationError(f"the rule {name!r} counts votes of judges, but there are none", hint=hint)
        if isinstance(rule, Rule):
            rules = Registry[Rule]("decision rule")
            rules.add(name, rule, summary=rule.summary)
        outcomes = (
            _decide_again(outcome, name, rules) if isinstance(outcome, DebateResult) else outcome
            for outcome in self.held
        )
        return Results(outcomes, rules=self._rules)


def _decide_again(result: DebateResult, rule: str, rules: Registry[Rule] | None) -> DebateResult:
    config = result.config.model_copy(update={"decide": rule})
    last = last_complete(result.rounds)
    if last is None:
        return with_decision(result, rules=rules, config=config)
    before = [debate_round for debate_round in result.rounds if debate_round.number < last.number]
    options = result.declared.vote_options
    decision = decide_record(last, last.consensus, config, rules, before, vote_options=options)
    redecided = last.model_copy(update={"decision": decision})
    rounds = tuple(redecided if round_record is last else round_record for round_record in result.rounds)
    answer = _answer_fields(result, redecided, decision, config)
    return with_decision(result, rules=rules, config=config, rounds=rounds, **answer)


def _vote_kinds(result: DebateResult) -> set[str]:
    """Return the kinds of ballots of the last vote on motions; an empty set without such a vote."""
    last = last_complete(result.rounds)
    turns = () if last is None else last.turns
    return {turn.answer.kind for turn in turns if turn.stage == VOTE_STAGE and turn.outcome == "answered"}


def _has_voted(result: DebateResult) -> bool:
    last = last_complete(result.rounds)
    return last is not None and any(turn.stage == VOTE_STAGE for turn in last.turns)


def _has_judge(result: DebateResult) -> bool:
    return any(turn.stage == JUDGE_STAGE for round_record in result.rounds for turn in round_record.turns)


def _answer_fields(
    result: DebateResult, last: RoundRecord, decision: Decision, config: DebateConfig
) -> dict[str, object]:
    """Return the fields of a result that depend on the decision."""
    answer, source = answer_of(last, result.synthesis, config)
    return {
        "decision": decision,
        "answer": answer,
        "answer_source": source,
        "answer_reason": decision.why if answer is None else None,
    }


def _failed_row(failed: FailedDebate) -> JsonObject:
    row: JsonObject = dict.fromkeys(DEBATE_COLUMNS)
    if failed.partial is not None:
        row |= debate_row(failed.partial)
    row |= {"sessionId": failed.session_id, "topic": failed.topic, "mode": failed.mode, "status": "error"}
    return row | {"error": failed.error.message, "errorCode": failed.error.code}
