"""Short replies of a set form: corrections, ranks, comparisons with all others, and options at their places."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

CITIES = ("Lisbon", "Porto", "Faro")
CAPITALS = ("Sydney", "Canberra", "Melbourne", "Perth")
LABELLED = ("A) Lisbon", "B) Porto", "C) Faro")


def chosen(text: str, options: tuple[str, ...]) -> str | None:
    """Return the option that is read for certain."""
    reading = read_answer(text, Asked("choice", options))
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("text", "options", "wanted"),
    [
        ("Sydney? No, Canberra.", CAPITALS, "Canberra"),
        ("Lisbon? No, it's **Porto**!", CITIES, "Porto"),
        ("Lisbon? Nein, Porto.", CITIES, "Porto"),
        ("Many people think it is Sydney, but it's actually Canberra.", CAPITALS, "Canberra"),
        ("Initially A, now B.", LABELLED, "B) Porto"),
        ("Initially Lisbon, now Porto.", CITIES, "Porto"),
        ("Zuerst Lisbon, jetzt Porto.", CITIES, "Porto"),
        ("The answer is A. Actually, no, I made a mistake: the correct answer is B.", LABELLED, "B) Porto"),
        ("First choice: Porto. Second choice: Lisbon.", CITIES, "Porto"),
        ("My first choice is Porto, my second choice is Lisbon.", CITIES, "Porto"),
        ("Porto, with Lisbon as a backup.", CITIES, "Porto"),
        ("Porto, mit Lisbon als Plan B.", CITIES, "Porto"),
        ("Porto is better than Lisbon and Faro.", CITIES, "Porto"),
        ("I think Porto is better than both Lisbon and Faro.", CITIES, "Porto"),
        ("Porto is better than the other options.", CITIES, "Porto"),
        ("Porto ist besser als Lisbon und Faro.", CITIES, "Porto"),
        ("Porto is better than Lisbon.", ("Lisbon", "Porto"), "Porto"),
        ("I prefer Porto to Lisbon.", CITIES, "Porto"),
        ("Je préfère Porto à Lisbon.", CITIES, "Porto"),
        ("The second option, Porto.", CITIES, "Porto"),
        ("(2) Canberra", CAPITALS, "Canberra"),
        ("2. Porto", CITIES, "Porto"),
        ("Option 2: Porto", CITIES, "Porto"),
    ],
)
def test_a_known_form_is_read(text: str, options: tuple[str, ...], wanted: str) -> None:
    assert chosen(text, options) == wanted


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Lisbon? No, not Porto.", CITIES),
        ("Porto? No, Porto.", CITIES),
        ("Lisbon? Yes. Porto? No.", CITIES),
        ("Many people think it is Porto.", CITIES),
        ("Many people think it is Porto, but it's actually not.", CITIES),
        ("Initially Lisbon, now Porto or Faro.", CITIES),
        ("Now Porto, later Lisbon.", CITIES),
        ("First choice: Lisbon or Faro. Second choice: Porto.", CITIES),
        ("Second choice: Porto.", CITIES),
        ("Porto, with Lisbon as a day trip.", CITIES),
        ("Porto is better than Lisbon.", CITIES),
        ("Porto is better than Lisbon, but worse than Faro.", CITIES),
        ("Porto is not better than Lisbon and Faro.", CITIES),
        ("Porto is larger than Lisbon and Faro.", CITIES),
        ("Is Porto better than Lisbon and Faro?", CITIES),
        ("(1) Porto", CITIES),
        ("Option 3: Porto", CITIES),
        ("The first option, Porto.", CITIES),
        ("Option 1: Lisbon. Option 2: Porto.", CITIES),
        ("1. Porto\n2. Lisbon", CITIES),
        ("Nothing of that.", CITIES),
    ],
)
def test_a_text_that_resembles_a_short_form_is_not_read(text: str, options: tuple[str, ...]) -> None:
    assert chosen(text, options) is None


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Y", "yes"),
        ("**n**.", "no"),
        ("Indeed, yes.", "yes"),
        ("I agree, yes.", "yes"),
        ("Generally, no.", "no"),
        ("Usually yes.", "yes"),
        ("I'd have to say no.", "no"),
        ("Im Allgemeinen nein.", "no"),
    ],
)
def test_a_yes_or_no_in_few_words_is_read(text: str, side: str) -> None:
    assert read_answer(text, Asked("yes_no")).value == side
    assert chosen(text, ("Yes", "No")) == side.title()


@pytest.mark.parametrize(
    "text", ["Y/N", "Generally, no, but yes here.", "I agree, but no.", "I'd have to say no idea."]
)
def test_a_yes_or_no_in_a_longer_text_is_not_read(text: str) -> None:
    assert chosen(text, ("Yes", "No")) is None
