"""Units of numbers in studies: two that are stated must be the same, and one that is left out does not count."""

from __future__ import annotations

import pytest

from roundtable.bench import Question, extract_last
from roundtable.bench.arms import Reader
from roundtable.reading import Asked, read_answer
from roundtable.types import AgentResponse, Usage


def is_right(gold: str, reply: str) -> bool:
    """Check whether a study counts a reply in prose as right."""
    reader = Reader(Question(id="1", question="How many?", gold=gold), extract=extract_last("number"))
    response = AgentResponse(
        agent_id="a", agent_name="A", position=reply, reasoning=reply, reading=read_answer(reply, Asked("number"))
    )
    return reader.count("arm", [response], Usage()).correct


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("25%", "25%"),
        ("25%", "25 %"),
        ("25%", "25 percent"),
        ("25%", "25 per cent"),
        ("25%", "The answer is 25 percent."),
        ("25%", "25 Prozent"),
        ("25%", "25 pour cent"),
        ("25%", "25 por ciento"),
        ("25%", "25 per cento"),
        ("25%", "25 por cento"),
        ("25%", "25 procent"),
        ("25%", "25 процентов"),
        ("25%", "yüzde 25"),
        ("25%", "百分之25"),
        ("25%", "25パーセント"),
        ("25%", "25퍼센트"),
        ("25%", "25 بالمئة"),
        ("25%", "25 प्रतिशत"),
        ("25 percent", "25%"),
        ("25 percent", "25 percent"),
        ("25", "25 percent"),
        ("5 km", "5"),
        ("5 km", "5 kilometres"),
        ("5 km", "It is 5 km away."),
        ("5", "5 miles"),
        ("$20", "20 dollars"),
        ("$20", "$20"),
        ("$20", "20"),
        ("20 euros", "€20"),
        ("$20", "20 pesos"),
        ("5 m", "5 minutes"),
        ("5 mph", "5 miles per hour"),
        ("20 apples", "20 fruits"),
        ("20 apples", "20 red apples"),
        ("$25", "25 an hour"),
    ],
)
def test_a_number_with_the_same_unit_or_without_one_is_right(gold: str, reply: str) -> None:
    assert is_right(gold, reply)


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("5 km", "5 miles"),
        ("5 km", "The answer is 5 miles."),
        ("5 km", "five miles"),
        ("$20", "20 euros"),
        ("$20", "€20"),
        ("$20", "20 cents"),
        ("25%", "25 dollars"),
        ("$25", "25 percent"),
        ("3 hours", "3 Tage"),
        ("5 kg", "5 pounds"),
        ("20 €", "20 £"),
        ("5 mph", "5 km/h"),
        ("20 元", "20 dollars"),
    ],
)
def test_a_number_with_another_unit_is_wrong(gold: str, reply: str) -> None:
    assert not is_right(gold, reply)
