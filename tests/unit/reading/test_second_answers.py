"""Texts that name another answer beside the first one, or speak against what they name: nothing is certain."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

CITIES = ("Lisbon", "Porto", "Faro")
LABELLED = ("A) Lisbon", "B) Porto", "C) Faro")
STORES = ("Postgres", "Redis")


def certain(text: str, asked: Asked) -> str | None:
    reading = read_answer(text, asked)
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (CITIES, "I choose Porto over Faro, but Lisbon over both."),
        (CITIES, "I prefer Porto to Faro, but Lisbon to either."),
        (CITIES, "Ich wähle Porto statt Faro, aber Lisbon vor beiden."),
        (STORES, "I recommend Postgres for orders, with Redis as a cache."),
        (STORES, "I recommend Postgres for orders and Redis for caching."),
        (STORES, "I'd go with Postgres for the orders, plus Redis for sessions."),
        (STORES, "Ich empfehle Postgres für Bestellungen, mit Redis als Cache."),
        (STORES, "Je recommande Postgres pour les commandes, avec Redis comme cache."),
        (STORES, "Recomiendo Postgres para los pedidos, con Redis como caché."),
        (STORES, "Consiglio Postgres per gli ordini, con Redis come cache."),
        (STORES, "I recommend Postgres, with Redis as a cache."),
        (STORES, "I recommend Postgres combined with Redis."),
        (STORES, "I recommend Postgres as the main store and Redis as the cache."),
        (CITIES, "I like Lisbon. Which city is worst? **Porto**"),
        (CITIES, "Which city is worst? **Porto**"),
        (CITIES, "Which option should we avoid? Porto."),
        (CITIES, "Which one would I reject? Porto!"),
        (CITIES, "What is the least suitable city?\n\nPorto"),
        (CITIES, "Welche Stadt ist die schlechteste? **Porto**"),
        (CITIES, "Quelle ville est la pire ? Porto."),
        (CITIES, "¿Cuál es la peor? Porto."),
        (CITIES, "Which city did Ada choose? Porto."),
        (CITIES, "What do others say? Porto."),
        (CITIES, "Who loses? **Porto**"),
        (LABELLED, "A. Too expensive!"),
        (LABELLED, "A) Too expensive!"),
        (LABELLED, "(A) Too expensive."),
        (LABELLED, "A: too expensive"),
        (LABELLED, "A - too expensive"),
        (LABELLED, "**A.** Too expensive!"),
        (LABELLED, "A. Zu teuer!"),
        (LABELLED, "A. Not for me."),
        (LABELLED, "B. Never!"),
        (LABELLED, "Option A. Too far away."),
        (LABELLED, "A. Trop cher !"),
        (LABELLED, "A. Overpriced."),
        (CITIES, "Lisbon. Too expensive!"),
        (CITIES, "Lisbon? Too expensive!"),
        (CITIES, "Lisbon: no."),
        (CITIES, "Lisbon, seriously? Too expensive."),
        (LABELLED, "A. Terrible idea."),
        (CITIES, "Lisbon. Terrible idea."),
        (LABELLED, "A. Bad choice."),
    ],
)
def test_a_rejected_or_tied_option_is_not_chosen(options: tuple[str, ...], text: str) -> None:
    assert certain(text, Asked("choice", options)) is None


@pytest.mark.parametrize(
    ("options", "text", "wanted"),
    [
        (LABELLED, "A. No other option comes close.", "A) Lisbon"),
        (LABELLED, "A. The others are too expensive.", "A) Lisbon"),
        (CITIES, "Lisbon. The others are too expensive.", "Lisbon"),
        (CITIES, "Which city is best? **Porto**", "Porto"),
        (CITIES, "I choose Porto over Faro, but Lisbon is close.", "Porto"),
        (CITIES, "I choose Porto over Faro, but it was a close call.", "Porto"),
        (STORES, "I recommend Postgres because it works with Redis.", "Postgres"),
        (STORES, "I recommend Postgres for its speed.", "Postgres"),
        (STORES, "I choose Postgres for orders.", "Postgres"),
        (CITIES, "Lisbon I don't like; Porto I do.", "Porto"),
    ],
)
def test_other_options_may_be_judged_after_the_choice(options: tuple[str, ...], text: str, wanted: str) -> None:
    assert certain(text, Asked("choice", options)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{12} and \\boxed{13}",
        "$\\boxed{12}$\n\n$\\boxed{13}$",
        "First: $\\boxed{12}$. Second: $\\boxed{13}$.",
        "\\boxed{12}\\n\\boxed{13}",
        "So we get $\\boxed{12}$. And so $\\boxed{13}$.",
        "In 1990 it was 5; in 2000 it was 7.",
        "In 1990 it was 5, and in 2000 it was 7.",
        "In 1990 it was 5. In 2000 it was 7.",
        "For adults it is 5, for children it is 3.",
        "The old price was 5 and the new price is 7.",
        "The width is 3 and the length is 4.",
        "It costs 5 in Lisbon and 7 in Porto.",
        "2010 waren es 5; 2020 waren es 7.",
        "En 1990 c'était 5; en 2000 c'était 7.",
        "Ada has 5, Bo has 7.",
        "Before tax it is 5; after tax it is 7.",
        "1990年是5，2000年是7。",
        "It was 5 then, 7 now.",
        "In winter there are 5 and in summer there are 9.",
    ],
)
def test_two_numbers_that_are_stated_alike_are_not_certain(text: str) -> None:
    assert certain(text, Asked("number")) is None


def test_a_number_that_follows_from_another_one_is_read() -> None:
    assert certain("5 + 7 is 12, and 12 - 2 is 10.", Asked("number")) == "10"
    assert certain("The width is 3, so the area is 12.", Asked("number")) == "12"
