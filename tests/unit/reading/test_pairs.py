"""Pairs of short answers: what is called the same or different is so, and few pairs that are the same are missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roundtable.scoring.open_answers import parse_open

FILE = Path(__file__).with_name("pairs.jsonl")
PAIRS = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()] if FILE.exists() else []
MOST_MISSED = 0.1


def relation(one: str, other: str) -> str:
    """Return how the rule `open` relates two answers."""
    parsed, other_parsed = parse_open(one), parse_open(other)
    if parsed.key == other_parsed.key:
        return "same"
    return "different" if parsed.contradicts(other_parsed) else "unknown"


def test_no_verdict_on_a_pair_is_wrong() -> None:
    wrong = []
    for pair in PAIRS:
        found = relation(pair["a"], pair["b"])
        if found not in {pair["relation"], *pair["also"]} or relation(pair["b"], pair["a"]) != found:
            wrong.append((pair["id"], found, pair["a"], pair["b"], pair["why"]))
    assert not wrong


@pytest.mark.skipif(not PAIRS, reason="the file of pairs is missing")
def test_few_pairs_that_are_the_same_are_missed() -> None:
    same = [pair for pair in PAIRS if pair["relation"] == "same"]
    missed = [pair["id"] for pair in same if relation(pair["a"], pair["b"]) != "same"]
    assert len(missed) < MOST_MISSED * len(same), missed
