"""Open answers of real debates and labelled pairs: what is certain is called so, and no contradiction is agreement."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from roundtable.analysis import AnalyzerChain, DeclaredAnalyzer
from roundtable.reading import Asked, read_answer
from roundtable.types import AgentResponse

SHARED = Path(os.environ.get("ROUNDTABLE_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
DEBATES, PAIRS = SHARED / "transcripts" / "dev.jsonl", SHARED / "pairs" / "dev.jsonl"


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def value_of(answer: str) -> Fraction | str:
    """Return what an extracted answer means: a number, else its letter."""
    try:
        return Fraction(answer.replace(",", "").strip())
    except ValueError:
        return answer.strip().casefold()


def hold(answers: dict[str, str]) -> list[AgentResponse]:
    return [
        AgentResponse(
            agent_id=agent, agent_name=agent, position=f"After all that was said: {answer}", bottom_line=answer
        )
        for agent, answer in answers.items()
    ]


@pytest.mark.skipif(not DEBATES.exists(), reason="the recorded transcripts are not on this machine")
def test_agents_with_equal_extracted_answers_are_called_unanimous() -> None:
    analyzer = DeclaredAnalyzer()
    unanimous = called = 0
    for debate in lines(DEBATES):
        for answers in debate.get("extracted_answers", ()):
            given = {str(seat): answer for seat, answer in enumerate(answers) if answer}
            if len(given) < 2:
                continue
            found = analyzer.analyze(hold(given))
            if len({value_of(answer) for answer in given.values()}) == 1:
                unanimous += 1
                called += found.agreement_level == 1
            else:
                assert found.agreement_level < 1, given
                assert len(found.clusters) > 1, given
    assert unanimous > 200
    assert called >= 0.99 * unanimous, (called, unanimous)


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.skipif(not PAIRS.exists(), reason="the labelled pairs are not on this machine")
async def test_statements_that_differ_are_never_one_camp_without_a_reader() -> None:
    chain, pairs, declined = AnalyzerChain([]), 0, 0
    for pair in lines(PAIRS):
        if pair["label"] not in {"disagree", "differs_in_truth"}:
            continue
        pairs += 1
        texts = (pair["text_a"], pair["text_b"])
        said = [AgentResponse(agent_id=str(n), agent_name=str(n), position=text) for n, text in enumerate(texts)]
        found = (await chain.measure(said, pair.get("topic") or "?")).consensus
        if any(read_answer(text, Asked()).rule == "abstention" for text in texts):
            # "I can't do this." as a whole answer declines: one answer is left, and nothing to compare it with.
            declined += 1
            assert not found.is_measured, texts
            continue
        assert (found.agreement_level, len(found.clusters)) == (0, 2), texts
    assert pairs > 2000
    assert declined < pairs / 500
