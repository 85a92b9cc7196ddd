"""What a report of a long debate costs: each text is read once, however many rounds there are."""

from __future__ import annotations

import cProfile
import pstats
from typing import TYPE_CHECKING

from unit.report_kit import WHEN

from roundtable.record import fold_debate
from roundtable.report import compare_words, split_sentences, unmarked
from roundtable.results.debate_result import DebateResult
from roundtable.scoring.letter_case import are_words
from roundtable.types import (
    AgentComplete,
    AgentConfig,
    AgentResponse,
    DebateConfig,
    RoundComplete,
    RoundStart,
    SessionRecord,
    Turn,
    TurnResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.types import DurableEvent

IDS = ("a0", "a1", "a2")
WORDS = ["tea", "milk", "water", "juice", "coffee", "lemonade"]
LONG = 500
"""Words of a position, which is more than are compared word by word."""


def long_debate(rounds: int) -> DebateResult:
    """Return a debate of three agents, each of whose answers has other long words."""
    events: list[DurableEvent] = []
    for number in range(1, rounds + 1):
        events.append(RoundStart(session_id="s", timestamp=WHEN, round=number, agents=IDS))
        for slot, agent in enumerate(IDS):
            words = [WORDS[(index * number + slot) % len(WORDS)] for index in range(LONG)]
            answer = AgentResponse(
                agent_id=agent,
                agent_name=agent,
                position=" ".join(words),
                reasoning=f"Reason {number} of {agent}. " * 50,
                confidence=0.8,
            )
            turn = Turn(
                round=number,
                stage="positions",
                slot=slot,
                agent_id=agent,
                agent_name=agent,
                timestamp=WHEN,
                result=TurnResult(answer=answer),
            )
            events.append(AgentComplete(session_id="s", timestamp=WHEN, agent=agent, round=number, turn=turn))
        events.append(RoundComplete(session_id="s", timestamp=WHEN, round=number, answered=len(IDS), failed=0))
    record = SessionRecord(
        id="s",
        config=DebateConfig(topic="What to drink?", agents=IDS),
        agents=tuple(AgentConfig(id=agent, name=agent, provider="scripted") for agent in IDS),
    )
    numbered = [event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, 1)]
    return DebateResult.from_record(fold_debate(record, tuple(numbered)))


def calls_of(work: Callable[[], object], *names: str) -> dict[str, int]:
    """Return how often functions with these names are called by some work."""
    profile = cProfile.Profile()
    profile.runcall(work)
    counts = dict.fromkeys(names, 0)
    for (_, _, name), (_, calls, *_) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if name in counts:
            counts[name] += calls
    return counts


def test_each_text_is_split_into_sentences_once_for_the_round_before_and_the_round_after() -> None:
    result = long_debate(20)
    counts = calls_of(result.to_html, "split_sentences", "_key")
    answers = 20 * len(IDS)
    assert counts["split_sentences"] == answers
    assert counts["_key"] <= 51 * answers


def test_marks_are_removed_from_the_name_of_a_camp_once() -> None:
    result = long_debate(20)
    str(result)  # what is computed once for a result
    flow = result.opinion_flow()
    assert flow is not None
    camps = len(flow.camps)
    assert calls_of(lambda: str(result), "unmarked")["unmarked"] <= camps + 20  # and a few short lines


def test_texts_that_are_too_long_to_compare_are_not_indexed() -> None:
    before, after = " ".join(WORDS * LONG), " ".join(reversed(WORDS * LONG))
    assert calls_of(lambda: compare_words(before, after), "set_seqs") == {"set_seqs": 0}
    assert calls_of(lambda: compare_words("tea at noon", "tea at night"), "set_seqs") == {"set_seqs": 1}


def test_sentences_without_words_are_left_out() -> None:
    assert split_sentences("**Yes**. ... \n\nNo!") == (("yes", "Yes."), ("no", "No!"))
    assert unmarked("no marks at all") == "no marks at all"


def test_ordinary_words_are_not_read_letter_by_letter() -> None:
    assert calls_of(lambda: are_words("the red house " * 100), "_is_letter", "_is_capital") == {
        "_is_letter": 0,
        "_is_capital": 0,
    }
