"""Forms: the shortest part counts, unless the position or the stance says otherwise."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, as_stated, read_parts

CITIES = Asked("choice", ("A) Lisbon", "B) Porto"))
NUMBER, OPEN, YES_NO, FORMULA = Asked("number"), Asked(), Asked("yes_no"), Asked("formula")


@pytest.mark.parametrize(
    ("asked", "parts", "value", "place"),
    [
        pytest.param(CITIES, {"choice": "B"}, "B) Porto", "choice", id="a label"),
        pytest.param(CITIES, {"choice": "Porto", "position": "It is cheap."}, "B) Porto", "choice", id="a text"),
        pytest.param(CITIES, {"position": "The answer is B."}, "B) Porto", "position", id="the position alone"),
        pytest.param(CITIES, {"choice": " ", "position": "B"}, "B) Porto", "position", id="a blank choice"),
        pytest.param(
            CITIES, {"choice": "B", "position": "The answer is Porto."}, "B) Porto", "choice", id="both agree"
        ),
        pytest.param(
            CITIES, {"choice": "B", "bottom_line": "Porto", "position": "x"}, "B) Porto", "choice", id="all agree"
        ),
        pytest.param(
            NUMBER, {"bottom_line": "42 apples", "position": "6 bags of 7."}, "42", "bottom_line", id="number"
        ),
        pytest.param(NUMBER, {"bottom_line": "42", "position": "The answer is 42.0."}, "42", "bottom_line", id="equal"),
        pytest.param(OPEN, {"bottom_line": "Lisbon", "position": "It is Lisbon."}, "Lisbon", "bottom_line", id="open"),
        pytest.param(
            OPEN, {"bottom_line": "Lisbon or Porto"}, "Lisbon or Porto", "bottom_line", id="a short part is an answer"
        ),
        pytest.param(OPEN, {"position": "The answer is Lisbon."}, "Lisbon", "position", id="an open position"),
        pytest.param(
            OPEN, {"position": "There are many towns. Each has its charm."}, None, "position", id="a long position"
        ),
        pytest.param(
            OPEN,
            {"bottom_line": "5 km", "position": "Some maps show a distance of 6 miles on the way there."},
            "5 km",
            "bottom_line",
            id="words in a position contradict nothing",
        ),
        pytest.param(FORMULA, {"bottom_line": "a, b"}, "a, b", "bottom_line", id="a short formula"),
        pytest.param(YES_NO, {"bottom_line": "Yes", "stance": "YES"}, "yes", "bottom_line", id="yes and its stance"),
        pytest.param(YES_NO, {"bottom_line": "Yes", "stance": "NEUTRAL"}, "yes", "bottom_line", id="a neutral stance"),
        pytest.param(OPEN, {"bottom_line": "a\ud800"}, "a\ufffd", "bottom_line", id="a surrogate"),
    ],
)
def test_a_form_has_one_answer(asked: Asked, parts: dict[str, str], value: str | None, place: str) -> None:
    reading = read_parts(asked, parts)  # type: ignore[arg-type]  # the names are those of parts
    assert (reading.certainty, reading.value, reading.place) == ("certain", value, place)
    if reading.span is not None:
        start, end = reading.span
        assert 0 <= start < end <= len(parts[place])


@pytest.mark.parametrize(
    ("asked", "parts", "candidates"),
    [
        pytest.param(CITIES, {"choice": "A", "position": "So the answer is B."}, ("B) Porto",), id="choice and text"),
        pytest.param(CITIES, {"choice": "A", "bottom_line": "Porto"}, ("B) Porto",), id="choice and bottom line"),
        pytest.param(NUMBER, {"bottom_line": "41", "position": "The answer is 42."}, ("42",), id="numbers"),
        pytest.param(OPEN, {"bottom_line": "41", "position": "The answer is 42."}, ("42",), id="open numbers"),
        pytest.param(
            OPEN, {"bottom_line": "Sydney", "position": "The answer is Canberra."}, ("Canberra",), id="open names"
        ),
        pytest.param(
            OPEN, {"bottom_line": "Sydney", "position": "Final answer: Canberra"}, ("Canberra",), id="a final answer"
        ),
        pytest.param(OPEN, {"bottom_line": "Yes", "position": "The answer is no."}, ("no",), id="open yes and no"),
        pytest.param(
            OPEN, {"bottom_line": "ABSTAIN", "position": "The answer is Canberra."}, ("Canberra",), id="abstains"
        ),
        pytest.param(YES_NO, {"bottom_line": "Yes", "position": "No."}, ("no",), id="yes and no"),
        pytest.param(YES_NO, {"bottom_line": "Yes", "stance": "NO"}, ("no",), id="yes and the stance no"),
    ],
)
def test_contradictory_parts_are_only_likely(asked: Asked, parts: dict[str, str], candidates: tuple[str, ...]) -> None:
    reading = read_parts(asked, parts)  # type: ignore[arg-type]  # the names are those of parts
    assert (reading.certainty, reading.candidates) == ("likely", candidates)


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("Canberra", "The answer is Canberra, in the Capital Territory."),
        ("Canberra", "The capital is Canberra, not Sydney."),
        ("the city of Canberra", "The answer is Canberra."),
        ("NASA", "The answer is the National Aeronautics and Space Administration."),
        ("USA", "The answer is the United States of America."),
        ("Yes", "The answer is correct."),
        ("Gold", "The answer is Au."),
        ("CO2", "The answer is carbon dioxide."),
        ("It depends", "The answer is that each city has its charm."),
        ("Sydney", "Canberra is smaller. Harbours matter most."),
    ],
)
def test_other_words_for_an_answer_are_no_contradiction(line: str, position: str) -> None:
    reading = read_parts(OPEN, {"bottom_line": line, "position": position})
    assert (reading.certainty, reading.place) == ("certain", "bottom_line")


@pytest.mark.parametrize(
    "blank", ["...", "?", "```json\n```", "[PAD]", "</s>", "the bare answer in at most twelve words"]
)
def test_a_part_that_says_nothing_is_missing(blank: str) -> None:
    reading = read_parts(OPEN, {"bottom_line": blank, "position": "The answer is Canberra."})
    assert (reading.value, reading.place) == ("Canberra", "position")
    assert read_parts(OPEN, {"bottom_line": blank, "position": blank}).certainty == "unread"
    assert read_parts(CITIES, {"choice": blank, "position": "B"}).value == "B) Porto"


@pytest.mark.parametrize(
    ("asked", "parts", "candidates"),
    [
        pytest.param(CITIES, {}, (), id="nothing"),
        pytest.param(CITIES, {"choice": "", "position": " "}, (), id="blank parts"),
        pytest.param(CITIES, {"choice": "D"}, (), id="no option"),
        pytest.param(CITIES, {"choice": "D", "position": "The answer is B."}, ("B) Porto",), id="another choice"),
        pytest.param(CITIES, {"choice": "both", "position": "They are alike."}, (), id="neither part is certain"),
        pytest.param(NUMBER, {"bottom_line": "41 or 42"}, (), id="two numbers"),
    ],
)
def test_a_form_without_a_certain_answer_is_unread(
    asked: Asked, parts: dict[str, str], candidates: tuple[str, ...]
) -> None:
    reading = read_parts(asked, parts)  # type: ignore[arg-type]  # the names are those of parts
    assert (reading.certainty, reading.value, reading.candidates) == ("unread", None, candidates)


def test_words_that_point_to_no_earlier_answer_are_the_answer() -> None:
    parts = {"bottom_line": "No change", "position": "My position is unchanged."}
    pointing = read_parts(OPEN, parts)  # type: ignore[arg-type]  # as above
    assert pointing.points_to == "you"
    stated = as_stated(pointing, parts)  # type: ignore[arg-type]  # as above
    assert (stated.certainty, stated.value, stated.points_to) == ("certain", "No change", None)
    position = read_parts(OPEN, {"position": "My position is unchanged."})
    assert as_stated(position, {"position": "My position is unchanged."}).value is None
