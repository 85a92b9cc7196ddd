"""Audits of real debates recorded by others, with every figure counted again by a plain count."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from unit.test_results_audit import answer, result_of

pytestmark = pytest.mark.slow

SHARED = Path(os.environ.get("ROUNDTABLE_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
DEBATES = SHARED / "transcripts" / "dev.jsonl"
LETTERS = ("A", "B", "C", "D")


def recorded(task: str) -> Iterator[list[list[str | None]]]:
    """Yield the answers of each debate of a task: those of the first and of the last round, by seat."""
    with DEBATES.open(encoding="utf-8") as file:
        for line in file:
            debate = json.loads(line)
            if debate["task"] != task:
                continue
            rows = [
                [None if text is None else text.strip("() \n") for text in row] for row in debate["extracted_answers"]
            ]
            yield [rows[0], rows[-1]]


def lead(votes: Sequence[str | None]) -> str | None:
    counts = Counter(vote for vote in votes if vote)
    leaders = [vote for vote, count in counts.items() if count == max(counts.values())]
    return leaders[0] if len(leaders) == 1 else None


@pytest.mark.skipif(not DEBATES.exists(), reason="the recorded transcripts are not on this machine")
@pytest.mark.parametrize("is_open", [False, True])
def test_audits_of_recorded_debates_agree_with_a_plain_count(is_open: bool) -> None:
    debates = pivotal = fragile = turned = 0
    for rounds in recorded("gsm" if is_open else "mmlu"):
        valid = re.compile(r"[0-9]{1,6}\.[0-9]{1,2}" if is_open else "[A-D]")
        votes = [[vote if vote and valid.fullmatch(vote) else None for vote in row] for row in rounds]
        seats = range(len(votes[-1]))
        said = [
            [
                answer(f"s{seat}", vote or "ABSTAIN", choice=None if is_open else vote, confidence=0.5)
                for seat, vote in enumerate(row)
            ]
            for row in votes
        ]
        audit = result_of(*said, **({} if is_open else {"options": LETTERS})).audit()
        first, last = votes[0], votes[-1]
        winner = lead(last)
        without = {f"s{seat}": lead([vote for other, vote in enumerate(last) if other != seat]) for seat in seats}
        options = LETTERS if not is_open else tuple(dict.fromkeys(vote for vote in last if vote))
        switched = [
            lead([*last[:seat], option, *last[seat + 1 :]])
            for seat in seats
            for option in options
            if option != last[seat]
        ]
        assert (audit.winner, audit.is_known) == (winner, True)
        assert {row.agent_id: row.winner for row in audit.without} == without
        assert audit.pivotal == tuple(name for name, lone in without.items() if lone != winner)
        assert audit.switches_tried == len(switched)
        assert Counter(row.winner for row in audit.switches) == Counter(lone for lone in switched if lone != winner)
        assert audit.fragile == any(lone != winner for lone in (*without.values(), *switched))
        assert audit.first_round is not None
        assert audit.first_round.winner == lead(first)
        assert audit.first_round.differs == (lead(first) != winner)
        votes_cast = Counter(vote for vote in last if vote)
        majority = [vote for vote, count in votes_cast.items() if 2 * count > sum(votes_cast.values())]
        rules = {row.rule: row.winner for row in audit.rules}
        assert rules["majority"] == (majority[0] if majority else None)
        assert rules["unanimity"] == (winner if len(votes_cast) == 1 else None)
        debates += 1
        pivotal += bool(audit.pivotal)
        fragile += bool(audit.fragile)
        turned += bool(audit.first_round.differs)
    assert debates == (130 if is_open else 140)
    assert 0 < pivotal <= fragile < debates
    assert turned > 0
