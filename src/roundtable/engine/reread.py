"""Read the stored answers of a session again, by the present rules, and derive its figures again; no model is called.

What is stored of an answer is read: the parts of its form, or the whole reply if it was prose. Some readings can't be
repeated and stay as they are, because the text is not stored: an answer to a closed question, a choice or a bottom line
that was not read for certain, and a vote. Answers from outside the library stay as they are too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from roundtable.analysis import (
    AnalyzerChain,
    ConsensusAnalyzer,
    NamedMeter,
    SemanticAnalyzer,
    StanceAnalyzer,
    decide_record,
)
from roundtable.analysis.chain import safe_meter
from roundtable.analysis.decision import decided_by_judges
from roundtable.core.engine.closing import closing_events, measure_round
from roundtable.core.errors import ConfigurationError, SessionConflict
from roundtable.core.record.chain import chain_events, first_hash
from roundtable.core.record.fold import Fold
from roundtable.core.record.transitions import rebase_past
from roundtable.core.types.answers import AgentResponse, Reading, TurnKey
from roundtable.core.types.debate import ForkOrigin
from roundtable.core.types.events import AgentComplete, ConsensusMeasured, DebateComplete, DebateExit, DebateStart
from roundtable.core.types.plan import EXTERNAL, VOTE_STAGE
from roundtable.parsing import Parsed, with_reading
from roundtable.reading import ABSTAIN, READER_VERSION, Asked, as_stated, read_answer, read_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import ConsensusMeter
    from roundtable.core.types.debate import RoundRecord, SessionRecord, Turn
    from roundtable.core.types.events import DurableEvent
    from roundtable.reading import Part
    from roundtable.scoring import Rule

__all__ = ["read_again", "reread_session"]

_RUN_EVENTS: Final = frozenset({"debate_start", "control", "exit", "debate_complete", "error"})
_PROSE_WARNING: Final = "the answer was prose"
"""How the warning of an answer in prose begins, also in sessions without readings."""
_UNKNOWN_CHOICE: Final = "is none of the options"
"""How the warning of a choice ends that is none of the options; the choice itself is not stored."""
_BY_MODELS: Final = frozenset({"ai"})


def read_again(turn: Turn, options: Sequence[str] | None, sources: Mapping[TurnKey, AgentResponse]) -> Turn:
    """Return a turn whose position is read by the present rules.

    Args:
        turn: The turn; one without a position stays as it is.
        options: Options of the debate.
        sources: Earlier positions, as they were read again.
    """
    answer = turn.answer
    if not isinstance(answer, AgentResponse) or turn.stage == EXTERNAL or _is_lost(turn, answer, options):
        return turn
    stored = answer.reading
    asked = Asked("choice", tuple(options)) if options else Asked()
    parsed = Parsed(position=answer.position, bottom_line=_own_line(answer, options), stance=answer.stance)
    if _is_prose(turn, answer):
        reading = read_answer(answer.reasoning or answer.position, asked)
    else:
        reading = read_parts(asked, _parts(answer, parsed.bottom_line))
    if reading.points_to is not None and not options and turn.independent:
        reading = as_stated(reading, _parts(answer, parsed.bottom_line))
        parsed = replace(parsed, bottom_line=parsed.bottom_line if reading.place == "bottom_line" else None)
    elif reading.points_to is not None:
        reading = _resolved(reading, stored, options, sources)
    if stored is not None:
        reading = reading.model_copy(update={"asked_again": stored.asked_again})
    if stored is not None and (reading.certainty, reading.value) == (stored.certainty, stored.value):
        # What was read is the same; where it stood, and in which part, only the stored answer knows.
        kept = {"reading": stored.model_copy(update={"version": reading.version})}
        result = turn.result.model_copy(update={"answer": answer.model_copy(update=kept)})
        return turn.model_copy(update={"result": result})
    read = with_reading(parsed, reading, options)
    changed = {"choice": read.choice, "bottom_line": read.bottom_line, "reading": read.reading}
    warnings = tuple(dict.fromkeys((*turn.result.warnings, *read.warnings)))
    result = turn.result.model_copy(update={"answer": answer.model_copy(update=changed), "warnings": warnings})
    return turn.model_copy(update={"result": result})


def _is_lost(turn: Turn, answer: AgentResponse, options: Sequence[str] | None) -> bool:
    """Check whether the text that was read is not stored, or the options to choose from."""
    stored = answer.reading
    if not options and (answer.choice is not None or (stored is not None and stored.place == "choice")):
        return True  # the turn had options of its own
    if stored is None:
        return any(warning.endswith(_UNKNOWN_CHOICE) for warning in turn.result.warnings)
    if stored.certainty == "certain" and stored.asked_again and stored.span is None:
        return True
    if stored.certainty == "unread" and stored.place == "reply" and "{" in (answer.reasoning or answer.position):
        return True  # JSON that isn't an answer isn't prose either
    # A part that was not read for certain is not stored as a part, only what was read in it.
    parts = {"choice": answer.choice, "bottom_line": answer.bottom_line}
    return stored.value is None and parts.get(stored.place, "") is None


def _is_prose(turn: Turn, answer: AgentResponse) -> bool:
    if answer.reading is not None:
        return answer.reading.place == "reply"
    return any(warning.startswith(_PROSE_WARNING) for warning in turn.result.warnings)


def _own_line(answer: AgentResponse, options: Sequence[str] | None) -> str | None:
    """Return the bottom line that the agent wrote; `None` for one that was read elsewhere."""
    stored, line = answer.reading, answer.bottom_line
    if stored is None or stored.certainty != "certain" or line != stored.value or stored.place == "bottom_line":
        return line
    is_read = stored.value == ABSTAIN or (not options and stored.place in {"position", "reply"})
    return None if is_read else line


def _parts(answer: AgentResponse, line: str | None) -> dict[Part, str]:
    """Return the parts of an answer's form; a part that was not read for certain is only in the reading."""
    stored = answer.reading
    parts: dict[Part, str] = {"position": answer.position}
    if stored is not None and stored.place == "bottom_line":
        line = line or stored.value
    chosen = answer.choice
    if stored is not None:
        chosen = stored.value if stored.place == "choice" else None
    if chosen is not None:
        parts["choice"] = chosen
    if line is not None:
        parts["bottom_line"] = line
    if answer.stance is not None:
        parts["stance"] = answer.stance
    return parts


def _resolved(
    reading: Reading,
    stored: Reading | None,
    options: Sequence[str] | None,
    sources: Mapping[TurnKey, AgentResponse],
) -> Reading:
    """Return the reading of an answer that points back; what was shown to its author is known only if it was stored.

    Args:
        reading: The new reading.
        stored: The stored one; its source counts only if both readings point to the same name.
        options: Options of the debate.
        sources: Earlier positions, as they were read again.
    """
    source = None if stored is None or stored.points_to != reading.points_to else stored.source
    earlier = sources.get(source) if source is not None else None
    if earlier is None or (earlier.reading is not None and earlier.reading.certainty != "certain"):
        return reading
    value = earlier.choice if options else earlier.bottom_line or earlier.position
    if value is None:
        return reading
    return reading.model_copy(update={"certainty": "certain", "rule": "reference", "value": value, "source": source})


async def reread_session(
    record: SessionRecord,
    events: Sequence[DurableEvent],
    session_id: str,
    *,
    groupthink: bool,
    rules: Registry[Rule] | None,
    now: datetime,
    vote_options: Sequence[str] = (),
) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Return a fork of a completed debate in which all positions are read again.

    A round whose answers say the same as before keeps its figures. The agreement of other rounds is measured again
    without a model, and their decision is derived again. A decision by judges, or by a vote on the answers themselves,
    stays: the voters saw the answers as they were read then.

    Args:
        record: The session.
        events: Its events.
        session_id: Id of the fork.
        groupthink: Whether measurements look for signs of groupthink.
        rules: Registry of decision rules.
        now: Time of the fork.
        vote_options: Options of the mode's own vote in a debate without options.

    Raises:
        ConfigurationError: The session is a team conversation.
        SessionConflict: The session is not completed.
    """
    fold = Fold(record, events)
    if record.config.team is not None:
        msg = f"session {record.id!r} is a team conversation; only the answers of debates can be read again"
        raise ConfigurationError(msg)
    if fold.progress.status != "completed":
        msg = f"session {record.id!r} is {fold.progress.status}; only completed debates can be read again"
        raise SessionConflict(msg, hint="Resume or stop it first.")
    total = fold.progress.total_rounds
    config = fold.record.config.model_copy(update={"rounds": total})
    new = fold.record.model_copy(update={"id": session_id, "config": config, "created_at": now, "forked_from": None})
    past = rebase_past(session_id, [event for event in events if event.type not in _RUN_EVENTS])
    start = DebateStart(
        session_id=session_id,
        timestamp=now,
        topic=config.topic,
        mode=config.mode,
        agents=config.agents,
        rounds=total,
    )
    rereading = _Rereading(Fold(new), groupthink=groupthink, rules=rules, vote_options=vote_options)
    read = [start, *[await rereading.read(event) for event in past]]
    exits = [event for event in events if isinstance(event, DebateExit)]
    read += rebase_past(session_id, exits[-1:])
    read.append(DebateComplete(session_id=session_id, timestamp=now, status="completed", total_rounds=total))
    complete = sum(debate_round.complete for debate_round in fold.rounds)
    origin = ForkOrigin(session_id=record.id, at_round=complete, events=len(read), reread=READER_VERSION)
    new = new.model_copy(update={"forked_from": origin})
    return new, tuple(chain_events(first_hash(new), 0, read))


@dataclass(slots=True)
class _Rereading:
    """The state of a session while its events are read again, one by one."""

    fold: Fold
    groupthink: bool
    rules: Registry[Rule] | None
    vote_options: Sequence[str]
    sources: dict[TurnKey, AgentResponse] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)
    """Rounds in which an answer now says something else."""

    async def read(self, event: DurableEvent) -> DurableEvent:
        """Return an event with its answer read again, or its figures derived again."""
        if isinstance(event, AgentComplete):
            event = event.model_copy(update={"turn": self._read_turn(event.turn)})
        elif isinstance(event, ConsensusMeasured):
            event = await self._measure(event)
        self.fold.apply(event)
        return event

    def _read_turn(self, turn: Turn) -> Turn:
        again = read_again(turn, self.fold.record.config.options, self.sources)
        if isinstance(again.answer, AgentResponse):
            self.sources[TurnKey(again.round, again.stage, again.slot)] = again.answer
            if _said(again) != _said(turn):
                self.changed.add(again.round)
        return again

    async def _measure(self, event: ConsensusMeasured) -> ConsensusMeasured:
        """Return the figures of a round; those that its answers, or those before, don't change are kept."""
        if not any(number <= event.round for number in self.changed):
            return event
        records = [debate_round.to_record() for debate_round in self.fold.rounds if debate_round.number <= event.round]
        *before, current = records
        is_kept = self._keeps_decision(current.model_copy(update={"decision": event.decision}))
        if event.round in self.changed or event.consensus.method not in _BY_MODELS:
            measured = await measure_round(
                safe_meter(_meter(event.consensus.method, has_options=self.fold.record.config.options is not None)),
                current,
                self.fold.record,
                before,
                groupthink=self.groupthink,
            )
            closing, _ = closing_events(
                self.fold,
                current,
                *measured,
                event.timestamp,
                assigned=event.consensus.assigned,
                decide=partial(decide_record, rules=self.rules),
                rounds=before,
                vote_options=self.vote_options,
            )
            kept = {"decision": event.decision} if is_kept else {}
            return closing.model_copy(update={**kept, "usage": event.usage})
        if is_kept:
            return event
        config, options = self.fold.record.config, self.vote_options
        decision = decide_record(current, event.consensus, config, self.rules, before, vote_options=options)
        return event.model_copy(update={"decision": decision})

    def _keeps_decision(self, record: RoundRecord) -> bool:
        has_vote = any(turn.stage == VOTE_STAGE for turn in record.turns)
        return decided_by_judges(record) or (has_vote and self.fold.record.config.options is None)


def _meter(method: str, *, has_options: bool) -> ConsensusMeter:
    """Return a meter that calls no model: the one that measured the round, or the answers' own evidence."""
    match method:
        case "basic":
            return ConsensusAnalyzer()
        case "semantic":
            return AnalyzerChain([NamedMeter(method, SemanticAnalyzer())])
        case _ if has_options or method == "stance":
            return AnalyzerChain([NamedMeter("stance", StanceAnalyzer(options_only=has_options))])
        case _:
            return AnalyzerChain([])


def _said(turn: Turn) -> tuple[str | None, str | None, bool] | None:
    answer = turn.answer
    if not isinstance(answer, AgentResponse):
        return None
    return answer.choice, answer.bottom_line, answer.is_unread
