"""Numbers that are a step on the way to an answer, and no answer."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

NUMBER = Asked("number")


@pytest.mark.parametrize(
    "text",
    [
        "Since there are 12 months in a year, multiply the monthly cost by 12.",
        "Multiply the monthly cost by 12.",
        "Now divide the rest by 4.",
        "Multiplizieren Sie den Preis mit 12.",
        "Multipliez le prix par 12.",
        "There are 7 days in a week.",
        "There are 60 minutes in one hour.",
        "A week has 7 days.",
        "One dollar is 100 cents.",
        "Eine Woche hat 7 Tage.",
        "Une semaine a 7 jours.",
        "There are 12 inches in a foot.",
        "First, we need to find the number of bags. There are 6 bags.",
        "Step 1: Find the number of bags. She has 6 bags.",
        "Zuerst suchen wir die Zahl der Taschen. Es sind 6 Taschen.",
        "I have 3 reasons.",
        "There are 2 main arguments.",
        "Es gibt 3 Gründe.",
        "Il y a 3 raisons.",
        "有3个理由。",
        "1.",
        "1) ",
    ],
)
def test_a_number_in_a_calculation_step_is_not_certain(text: str) -> None:
    assert read_answer(text, NUMBER).certainty != "certain"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("There are 42 apples.", "42"),
        ("She works 40 hours in a week.", "40"),
        ("The car goes 60 miles per hour.", "60"),
        ("He has 7 days left.", "7"),
        ("There are 24 hours in a day and 7 days in a week, so there are 24 × 7 = 168 hours in a week.", "168"),
        ("So there are 7 days in a week.", "7"),
        ("Multiplying 6 by 7 gives 42.", "42"),
        ("She walked 3000 steps.", "3000"),
        ("The test has 12 questions.", "12"),
        ("We divide 84 by 2, so the answer is 42.", "42"),
        ("First, we count the bags. There are 6 bags. Each holds 7 apples, so there are 42 apples.", "42"),
        ("First, we count the bags: 6. So there are 6 * 7 = 42 apples.", "42"),
        ("First, we add them up. The total is 42.", "42"),
        ("The answer is 7 days.", "7"),
        ("The answer is 3 reasons.", "3"),
        ("408.", "408"),
        ("2.", "2"),
        ("1", "1"),
        ("**12**", "12"),
    ],
)
def test_a_result_is_read(text: str, value: str) -> None:
    reading = read_answer(text, NUMBER)
    assert (reading.certainty, reading.value) == ("certain", value)
