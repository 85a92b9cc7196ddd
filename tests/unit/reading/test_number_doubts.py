"""Numbers that a text gives only on a condition, takes back, supposes, or breaks off; and digits for two numbers."""

from __future__ import annotations

import pytest

from roundtable.parsing import read_reply
from roundtable.reading import Asked

NUMBER = Asked("number")


def certain(text: str) -> str | None:
    """Return the number that is read for certain."""
    reading = read_reply(text, NUMBER)
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    "text",
    [
        # on a condition
        "25 (if cheap)",
        "25 unless it rains",
        "25, but only if it rains",
        "25 (si es barato)",
        "25 (wenn billig)",
        "25, falls es regnet",
        "25, sauf le dimanche",
        "25（如果便宜）",
        "The answer is 25 (if cheap).",
        "The answer is 25 unless it rains.",
        "25. Unless it rains.",
        "25. Only if cheap.",
        "25 except on Sundays",
        "25 (maybe)",
        # called wrong, or taken back
        "The wrong answer is 25.",
        "The incorrect result is 25.",
        "The wrong answer is:\n\\[\n25\n\\]",
        "The answer is not:\n25",
        "It may be:\n25",
        "La réponse incorrecte est 25.",
        "Die falsche Antwort ist 25.",
        "La respuesta incorrecta es 25.",
        "La risposta sbagliata è 25.",
        "错误的答案是25。",
        "間違った答えは25です。",
        "틀린 답은 25입니다.",
        "I retract my answer of 25.",
        "I take back my answer of 25.",
        "I retract 25.",
        "Ich ziehe meine Antwort 25 zurück.",
        "Je retire ma réponse de 25.",
        "Retiro mi respuesta de 25.",
        "我撤回25这个答案。",
        # supposed
        "Let x = 25.",
        "Let x be 25.",
        "Sei x = 25.",
        "Soit x = 25.",
        "Sea x = 25.",
        "Пусть x = 25.",
        "设x=25。",
        "x=25とする。",
        "x = 25 olsun",
        # broken off
        "25 to",
        "25 or",
        "25 and",
        "25 und",
        "25 *",
        "25 +",
        "25 -",
        "25,",
        "The answer is 25 or",
        "The answer is 25 *",
        "It is 25 or",
        # two numbers, or a saying
        "100 200",
        "100 200 300",
        "The answer is 100 200.",
        "50/50",
        "24/7",
        # coins, not hundreds
        "five cents",
        "The answer is two cents.",
        # subtracted
        "10 minus 5",
    ],
)
def test_a_number_that_something_speaks_against_is_not_certain(text: str) -> None:
    assert certain(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("408 408 408", "408"),
        ("408 408", "408"),
        ("25 25 25.", "25"),
        ("12 345", "12345"),
        ("1 234 567", "1234567"),
        ("The answer is 12 345.", "12345"),
        ("100 200 km", "100200"),
        ("The population is 123 456 people.", "123456"),
        ("**The answer is 25**", "25"),
        ("*25*", "25"),
        ("25 A", "25"),
        ("25. If you need more detail, ask me.", "25"),
        ("25, because if x = 5, then 5x = 25.", "25"),
        ("He made 25 mistakes.", "25"),
        ("The total number of errors is 25.", "25"),
        ("So the machine rejects 25 parts.", "25"),
        ("Let's compute it: 5 * 5 = 25.", "25"),
        ("Let x be the price. Then x = 25.", "25"),
        ("We get:\n25", "25"),
        ("Es sind 36: Das ist kleiner als 40.", "36"),
        ("minus 5", "-5"),
        ("negative 5", "-5"),
        ("The answer is minus 5.", "-5"),
        ("Die Antwort ist minus 5.", "-5"),
        ("Ответ: минус 5", "-5"),
        ("答案是负5。", "-5"),
        ("答えはマイナス5です。", "-5"),
        ("The total is $20 for 4 items.", "20"),
        ("Therefore, Kylar needs to pay $64 for the 16 glasses.", "64"),
        ("Hence the cost is Rs. 25.", "25"),
        ("The cost is Rs 25.", "25"),
    ],
)
def test_a_number_that_a_fair_reader_reads_is_certain(text: str, value: str) -> None:
    assert certain(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "It costs $20 for 4 items.",
        "They sell it at $20 for 4 items.",
        "Therefore, he pays $5 for 1 item.",
        "The total is not $20 for 4 items.",
        "The total is at least $20 for 4 items.",
        "So they pay $20 for 4 items and $30 for 5.",
        "If it rains, the total is $20 for 4 items.",
    ],
)
def test_a_price_of_several_things_that_is_not_a_total_is_not_read(text: str) -> None:
    assert certain(text) is None
