"""Forms whose parts contradict each other: a short position, a stance, and the bottom line."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_parts

OPEN = Asked()
SIDES = Asked("choice", ("Yes", "No"))
CITIES = Asked("choice", ("A) Lisbon", "B) Porto"))


@pytest.mark.parametrize(
    ("position", "line"),
    [
        ("The capital is Canberra.", "Sydney"),
        ("The capital of Australia is Canberra.", "Sydney"),
        ("Canberra is the capital of Australia.", "Sydney"),
        ("I believe it is Canberra.", "Sydney"),
        ("I think that it's Canberra.", "Sydney"),
        ("Canberra", "Sydney"),
        ("**Canberra**.", "Sydney"),
        ("It's Canberra, not Sydney.", "Sydney"),
        ("The capital is not Sydney but Canberra.", "Sydney"),
        ("Die Hauptstadt ist Canberra.", "Sydney"),
        ("Es ist Canberra.", "Sydney"),
        ("Canberra ist die Hauptstadt.", "Sydney"),
        ("La capitale est Canberra.", "Sydney"),
        ("C'est Canberra.", "Sydney"),
        ("La capital es Canberra.", "Sydney"),
        ("澳大利亚的首都是堪培拉。", "悉尼"),
        ("堪培拉", "悉尼"),
        ("There are 42 apples.", "40"),
        ("It weighs 42 kg.", "40 kg"),
        ("It costs $42.", "40 dollars"),
        ("Es sind 42.", "40"),
        ("The speed is 42 km/h.", "42 mph"),
        ("It takes 3 hours.", "3 days"),
        ("3 hours", "3 days"),
        ("Yes, it should.", "No"),
        ("No, it is not.", "Yes"),
        ("Nein, das ist es nicht.", "Ja"),
        ("Oui, sans doute.", "Non"),
    ],
)
def test_a_short_position_that_says_something_else_leaves_the_answer_likely(position: str, line: str) -> None:
    reading = read_parts(OPEN, {"position": position, "bottom_line": line})
    assert (reading.certainty, reading.place, reading.value) == ("likely", "bottom_line", line)
    assert reading.candidates


@pytest.mark.parametrize(
    ("position", "line"),
    [
        ("The capital is Canberra.", "Canberra"),
        ("The capital is Canberra.", "Canberra, Australia"),
        ("Canberra is the capital of Australia.", "The city of Canberra"),
        ("Canberra is the capital of Australia, and Sydney its largest city.", "Canberra"),
        ("It's Canberra, not Sydney.", "Canberra"),
        ("Sydney is larger.", "Canberra"),
        ("Sydney lies by the sea.", "Canberra"),
        ("Critics say it is Sydney.", "Canberra"),
        ("It might be Sydney.", "Canberra"),
        ("Is it Sydney?", "Canberra"),
        ("The agency is the National Aeronautics and Space Administration.", "NASA"),
        ("The element is Gold.", "Au"),
        ("The main risk is Inflation.", "Raise rates"),
        ("Rents should fall.", "Build more homes"),
        ("Agreed.", "Canberra"),
        ("Trees cool a city, and clean its air.", "Plant trees"),
        ("There are 42 apples.", "42"),
        ("There are 42 apples.", "42 apples"),
        ("It takes 180 minutes.", "3 hours"),
        ("It is 3.14159.", "3.1416"),
        ("The 3 friends share equally.", "14"),
        ("There are 6 bags of 7 apples.", "42"),
        ("At least 40 apples are left.", "42"),
        ("There are not 40 apples.", "42"),
        ("1.234 is the ratio.", "2"),
        ("Yes, it should.", "Yes"),
        ("No doubt it is.", "Yes"),
        ("It depends on the price.", "Yes"),
        ("首都是堪培拉。", "堪培拉"),
    ],
)
def test_a_position_in_other_words_is_no_contradiction(position: str, line: str) -> None:
    reading = read_parts(OPEN, {"position": position, "bottom_line": line})
    assert (reading.certainty, reading.place, reading.value) == ("certain", "bottom_line", line)


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        (OPEN, {"position": "Yes, adopt it.", "bottom_line": "Yes", "stance": "NO"}),
        (OPEN, {"bottom_line": "Nein", "stance": "YES"}),
        (SIDES, {"position": "No.", "stance": "YES"}),
        (SIDES, {"choice": "Yes", "stance": "NO"}),
        (Asked("choice", ("A) Ja", "B) Nein")), {"choice": "A", "stance": "NO"}),
        (Asked("yes_no"), {"bottom_line": "Yes", "stance": "NO"}),
    ],
)
def test_a_stance_against_the_answer_leaves_it_likely(asked: Asked, parts: dict[str, str]) -> None:
    reading = read_parts(asked, parts)  # type: ignore[arg-type]  # the names are those of parts
    assert reading.certainty == "likely"
    assert reading.candidates == (parts["stance"].casefold(),)


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        (OPEN, {"bottom_line": "Yes", "stance": "YES"}),
        (OPEN, {"bottom_line": "Yes", "stance": "NEUTRAL"}),
        (OPEN, {"bottom_line": "Tea", "stance": "NO"}),
        (OPEN, {"position": "Trees cool a city. They also clean its air.", "stance": "NO"}),
        (SIDES, {"choice": "No", "stance": "NO"}),
        (CITIES, {"choice": "A", "stance": "NO"}),
    ],
)
def test_an_unrelated_stance_is_no_contradiction(asked: Asked, parts: dict[str, str]) -> None:
    assert read_parts(asked, parts).certainty == "certain"  # type: ignore[arg-type]  # as above
