"""Words behind an option: a noun phrase that judges or describes it chooses nothing, a reason or praise does."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer
from roundtable.reading.descriptions import is_described

CITIES = ("Lisbon", "Porto", "Faro", "Berlin", "Hamburg", "Madrid", "Roma", "Lyon", "Kraków", "Ankara")
LABELLED = ("A) Lisbon", "B) Porto", "C) Faro")


def chosen(text: str, options: tuple[str, ...] = CITIES) -> str | None:
    """Return the option that is read for certain."""
    reading = read_answer(text, Asked("choice", options))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    "text",
    [
        "Porto, the wrong choice, I think.",
        "Porto: the one to reject",
        "Porto: a mistake.",
        "Porto: the fallback.",
        "Porto: our plan B.",
        "Porto: plan B.",
        "Porto: just a compromise.",
        "Porto - a tourist trap.",
        "Porto — the runner-up.",
        "Porto: a good fallback.",
        "Porto: a wrong turn.",
        "Porto: a great way to be wrong.",
        "Porto (a mistake).",
        "Porto: an odd choice.",
        "Porto: a place that is too far away.",
        "Porto: a mistake we will regret.",
        "Porto: the start of a disaster.",
        "Lisbon — the capital.",
        "Porto, a city in northern Portugal, is known for wine.",
        "Porto, the second city of Portugal, has an airport.",
        "Porto, the most beautiful city of Portugal, has an airport.",
        "Porto: Portugal's second city.",
        "**Porto**: a coastal city with many bridges",
        "Berlin: eine schlechte Wahl.",
        "Berlin – Plan B.",
        "Berlin: ein Fehler.",
        "Berlin – die Hauptstadt.",
        "Berlin, die Hauptstadt Deutschlands, hat viele Museen.",
        "Lyon : une erreur.",
        "Lyon, une ville du sud, est connue pour sa cuisine.",
        "Madrid, una mala idea.",
        "Madrid: un error.",
        "Roma: una pessima scelta.",
        "Porto: uma má ideia.",
        "Porto: een slecht idee.",
        "Kraków – zły wybór.",
        "Kraków – to błąd.",
        "Ankara: kötü bir seçim.",
        "Ankara – bir hata.",
    ],
)
def test_a_judgement_or_description_is_not_a_choice(text: str) -> None:
    assert chosen(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "B) Porto: a mistake.",
        "B: a mistake.",
        "B) Porto, the second city of Portugal, has an airport.",
        "(B) - the fallback.",
    ],
)
def test_a_judgement_after_a_label_is_not_a_choice(text: str) -> None:
    assert chosen(text, LABELLED) is None


@pytest.mark.parametrize(
    "text",
    [
        "Porto - it is cheaper and has an airport.",
        "Porto, because it is cheap.",
        "Porto: the flights are cheap.",
        "Porto, as the reviews say so.",
        "Porto, the numbers show it.",
        "Porto: the airport is near and the food is good.",
        "Porto: our team is there.",
        "Porto: the airport of the city is near.",
        "Porto: the airport handles more flights.",
        "Porto: a better airport, cheaper hotels.",
        "Porto: a 2-hour flight, good food.",
        "Porto: the best choice.",
        "Porto, the obvious choice.",
        "Porto — the clear winner.",
        "Porto: a good choice.",
        "Porto, a great place for us.",
        "Porto, the best option, has an airport.",
        "Porto, the second city of Portugal, is the best choice.",
        "I choose Porto, the capital of the north.",
        "My answer: Porto, a city by the sea.",
        "Porto.",
    ],
)
def test_a_reason_or_praise_leaves_the_choice(text: str) -> None:
    assert chosen(text) == "Porto"


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("No: a bad idea.", "No"),
        ("No, a terrible idea.", "No"),
        ("Yes: a good plan.", "Yes"),
        ("Yes, a mammal.", "Yes"),
    ],
)
def test_text_after_a_yes_or_no_describes_the_question(text: str, side: str) -> None:
    assert chosen(text, ("Yes", "No")) == side


def test_a_neutral_remark_in_brackets_is_not_a_description() -> None:
    assert not is_described("Canberra (the capital of Australia).", (0, 8))
    assert is_described("Canberra (a mistake).", (0, 8))
