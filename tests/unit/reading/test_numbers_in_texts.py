"""Numbers and answers in own words: a text that can be read in two ways is not read for certain."""

from __future__ import annotations

import pytest
from reading_kit import made_up_replies

from roundtable.parsing import read_reply
from roundtable.reading import Asked, as_stated, read_answer, read_parts

NUMBER = Asked("number")
OPEN = Asked("open")
TAILS = ("\nThis follows from what was said before.", "\n\nI hope this helps!")
"""Sentences behind an answer that change nothing."""


def certain(text: str, question: Asked) -> str | None:
    """Return what is read for certain."""
    reading = read_reply(text, question)
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    "text",
    [
        # a comma in brackets
        r"\boxed{(3,5)}",
        r"\boxed{[3,5]}",
        r"\boxed{\{3,5\}}",
        r"\boxed{\left(3,5\right)}",
        r"\boxed{(3, 5)}",
        r"\boxed{3, 5}",
        "The answer is (3,5).",
        "The answer is [3,5].",
        "The answer is 3, 5.",
        # a list
        "- 5 apples\n- 6 pears",
        "- 5 apples",
        "- 5\n- 6",
        "+ 5\n+ 6",
        "* 5\n* 6",
        "5\n6",
        "5\n\n6",
        "5; 6",
        "5;6",
        "x=3, y=4",
        r"\boxed{x=3, y=4}",
        "x = 3 and y = 4",
        "The answer is x = 3, y = 4.",
        r"\boxed{x=3 \text{ and } y=4}",
        # an operator in words
        "5 below zero",
        "5 degrees below zero",
        "5 Grad unter Null",
        "零下5度",
        "The answer is twice 5.",
        "The answer is double 5.",
        "The answer is half of 10.",
        "The answer is 5 squared.",
        "The answer is 5 cubed.",
        "The answer is the square root of 5.",
        "The answer is 5 factorial.",
        "Die Antwort ist das Doppelte von 5.",
        "La réponse est la moitié de 10.",
        "La respuesta es el doble de 5.",
        "答案是5的平方。",
        "答案是5的两倍。",
        "twice 5",
        "5 squared",
        "half of 10",
        # a command, a constant, an unknown
        r"\boxed{\sqrt{5}}",
        r"\boxed{\sqrt 5}",
        r"\boxed{2\sqrt{5}}",
        r"\boxed{\sqrt[3]{5}}",
        "√5",
        "2√5",
        r"\boxed{5\pi}",
        "The answer is 5π.",
        "The answer is 5 pi.",
        r"\boxed{4i}",
        r"\boxed{3+4i}",
        r"\boxed{-i}",
        r"\boxed{5x+3}",
        r"\boxed{5x}",
        r"\boxed{5x^2}",
        r"\boxed{x+5}",
        r"\boxed{5+x}",
        r"\boxed{5!}",
        "$5!$",
        r"\boxed{\log 5}",
        r"\boxed{\ln 5}",
        r"\boxed{\log_2 5}",
        r"\boxed{\sin(5)}",
        r"\boxed{\lfloor 5 \rfloor}",
        r"\boxed{\frac{x}{5}}",
        r"\boxed{\frac{5}{x}}",
        r"\boxed{\frac{\sqrt{3}}{5}}",
        r"\boxed{5.\overline{3}}",
        r"\boxed{5.3\overline{3}}",
        r"\boxed{e^5}",
        r"\boxed{5^x}",
        r"\boxed{\binom{5}{2}}",
        "The answer is log 5.",
        "The answer is sqrt(5).",
        # not this number, or not it alone
        "x ≠ 3",
        r"x \neq 3",
        "x != 3",
        "max 5",
        "5 max",
        "5 minimum",
        "min. 5",
        "The answer is 5 max.",
        "答案是5还是6",
        "答えは5それとも6",
        r"It is not \boxed{42}.",
        r"It isn't $\boxed{42}$.",
        r"\boxed{42} is what one might think.",
        r"\boxed{42} is wrong.",
        r"\boxed{42} is not the answer.",
        "0x1F",
        "1e999999999",
        "1e99999",
        "The answer is 5 for n=1 and 6 for n=2.",
        "The answer is 5 if n=1, 6 if n=2.",
        # words that multiply in more than one way
        "300K",
        "The answer is 5 dozens of eggs.",
        "5千3百",
        # neighbours
        r"\boxed{\text{twice } 5}",
        "Ответ: удвоенное 5",
        "5 and a half",
        "5?",
        "5 M",
        "x1 = 5, x2 = 6",
        "Step 5",
        "1. Porto\n2. Faro",
        "1. 5",
    ],
)
def test_a_number_that_is_not_the_answer_alone_is_not_read(text: str) -> None:
    assert certain(text, NUMBER) is None


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("The answer is minus 5.", ("-5", None)),
        ("The answer is negative 5.", ("-5", None)),
        ("minus 5", ("-5", None)),
        ("Die Antwort ist minus 5.", ("-5", None)),
        ("La réponse est moins 5.", ("-5", None)),
        ("La respuesta es menos 5.", ("-5", None)),
        ("Ответ: минус 5", ("-5", None)),
        ("答案是负5。", ("-5", None)),
        ("答えはマイナス5です。", ("-5", None)),
        ("5 mln", ("5000000",)),
        ("$2.5M", ("2500000",)),
        ("$2.5m", ("2500000",)),
        ("$5B", ("5000000000",)),
        ("2.5k", ("2500",)),
        ("$5K", ("5000",)),
        ("5千", ("5000",)),
        ("5百", ("500",)),
        ("5百万", ("5000000",)),
        ("5千克", ("5",)),
        ("5 trillion", ("5000000000000", None)),
        ("5 Billionen", ("5000000000000", None)),
        ("5 mil millones", ("5000000000",)),
        ("5 hundred", ("500",)),
        ("2 tysiące", ("2000",)),
        ("2 миллиона", ("2000000",)),
        ("12, no wait, 13", ("13", None)),
    ],
)
def test_a_sign_or_a_scale_in_words_counts(text: str, allowed: tuple[str | None, ...]) -> None:
    assert certain(text, NUMBER) in allowed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"\boxed{3{,}5}", "3.5"),
        ("3,5", "3.5"),
        ("The answer is 3,5 kg.", "3.5"),
        (r"\boxed{(5)}", "5"),
        (r"\boxed{x = 5}", "5"),
        (r"\boxed{\text{Total: } 5}", "5"),
        (r"\boxed{5 \text{ apples}}", "5"),
        (r"\boxed{5\,\mathrm{cm}}", "5"),
        (r"\boxed{5\%}", "5%"),
        (r"\boxed{\$5}", "5"),
        (r"\boxed{5^\circ}", "5"),
        (r"\boxed{\frac{3}{4}}", "0.75"),
        (r"\boxed{-\frac{3}{4}}", "-0.75"),
        (r"\boxed{- 5}", "-5"),
        (r"$\boxed{\displaystyle 5}$", "5"),
        (r"\boxed{\mathbf{5}}", "5"),
        ("-5", "-5"),
        ("The answer is 5!", "5"),
        ("5 m", "5"),
        ("5 m/s", "5"),
        ("5 m²", "5"),
        ("5 cm3", "5"),
        ("**5** apples", "5"),
        ("about 5", "5"),
        ("The answer is 5 times as large.", "5"),
        ("x = 3 + 4 = 7", "7"),
        ("2x = 6, x = 3", "3"),
        ("The answer is not 4 but 5.", "5"),
        (r"It is not prime, so the answer is \boxed{42}.", "42"),
        (r"\boxed{42} is the answer.", "42"),
        ("5 minutes", "5"),
        ("When x = 2, y = 5.", "5"),
        ("Twice 5 is 10.", "10"),
        ("5! = 120", "120"),
        ("The temperature is −5 °C.", "-5"),
        ("5 min", "5"),
        ("The answer is 5.\nx = 5", "5"),
    ],
)
def test_a_plain_number_is_still_read(text: str, wanted: str) -> None:
    assert certain(text, NUMBER) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ottawa\n\nI hope this helps!", "Ottawa"),
        ("Porto\n\nConfidence: 90%", "Porto"),
        ("Porto\nConfidence: high", "Porto"),
        ("Porto.\n\nLet me know if you need more.", "Porto"),
        ("Porto\nFaro", None),
        ("Porto\n\nFaro", None),
        ("Porto. Faro", None),
        ("Porto", "Porto"),
        ("**Porto**\n", "Porto"),
        ("Washington, D.C.", "Washington, D.C"),
    ],
)
def test_a_short_text_of_several_lines_is_not_one_answer(text: str, wanted: str | None) -> None:
    assert certain(text, OPEN) == wanted


@pytest.mark.parametrize(
    ("position", "certainty"),
    [
        ("The answer is 68.", "likely"),
        ("24*17 = 68", "likely"),
        ("So the total = 68", "likely"),
        ("We multiply.\n24 * 17\n= 68", "likely"),
        (r"Thus $\boxed{68}$.", "likely"),
        ("17 times 24 is 408, since 17 x 20 = 340 and 17 x 4 = 68.", "certain"),
        ("17 x 20 = 340 and 17 x 4 = 68, so 340 + 68 = 408.", "certain"),
        ("The product is 408; I split 24 into 20 and 4.", "certain"),
        ("I computed it in 2 steps.", "certain"),
        ("We have 24 rows of 17 seats each, and nothing is left out.", "certain"),
        ("It is 408. A check: 408 / 17 = 24.", "certain"),
        ("Multiplying gives the result above. I am 90% sure.", "certain"),
        ("24*17 = 408", "certain"),
        ("There are 3 reasons for this.", "certain"),
        ("The population is 5 million.", "certain"),
        ("17*20 = 340\n17*4 = 68\n340+68 = 408", "certain"),
        ("68", "likely"),
        ("We multiply.\n\n68", "likely"),
    ],
)
def test_a_position_contradicts_a_number_only_by_a_result(position: str, certainty: str) -> None:
    reading = read_parts(OPEN, {"bottom_line": "408", "position": position})
    assert (reading.certainty, reading.value) == (certainty, "408")


def test_a_bottom_line_that_points_back_with_a_position_in_words_is_a_reference() -> None:
    parts = {"bottom_line": "No change.", "position": "Lisbon is warm."}
    reading = read_parts(OPEN, parts)
    assert (reading.certainty, reading.points_to, reading.place) == ("unread", "you", "bottom_line")
    alone = as_stated(reading, parts)
    assert (alone.certainty, alone.value, alone.place, alone.points_to) == ("certain", None, "position", None)


def test_a_bottom_line_that_points_back_keeps_a_stated_position_as_a_candidate() -> None:
    reading = read_parts(OPEN, {"bottom_line": "No change.", "position": "The answer is Lisbon."})
    assert (reading.certainty, reading.points_to, reading.candidates) == ("unread", "you", ("Lisbon",))


def test_the_words_of_a_bottom_line_stand_if_the_position_points_as_well() -> None:
    parts = {"bottom_line": "No change", "position": "My position is unchanged."}
    alone = as_stated(read_parts(OPEN, parts), parts)
    assert (alone.certainty, alone.value, alone.place) == ("certain", "No change", "bottom_line")


READ = [
    (reply.key, Asked(reply.kind), reply.text, value)
    for reply in made_up_replies()
    if reply.kind in {"number", "open", "formula"} and (value := certain(reply.text, Asked(reply.kind))) is not None
]


def test_reading_a_value_again_gives_the_same_value() -> None:
    changed = [
        (key, value, again.value)
        for key, question, _text, value in READ
        if (again := read_answer(value, question)).value != value
    ]
    assert not changed


@pytest.mark.parametrize("tail", TAILS)
def test_a_sentence_after_an_answer_changes_nothing(tail: str) -> None:
    changed = [
        (key, value, found) for key, question, text, value in READ if (found := certain(text + tail, question)) != value
    ]
    assert not changed


@pytest.mark.parametrize(
    "text", ["<answer>7</answer>", "Thanks.\n\n<answer>7</answer>", "<final>7</final>", "<b>7</b>"]
)
def test_the_signs_of_a_tag_around_a_number_compare_nothing(text: str) -> None:
    assert read_answer(text, Asked("number")).value == "7"


@pytest.mark.parametrize("text", ["> 7", "7 >", "x > 7"])
def test_a_sign_next_to_a_number_is_a_comparison(text: str) -> None:
    assert read_answer(text, Asked("number")).certainty != "certain"


@pytest.mark.parametrize(
    "text",
    [
        "Income = 50\nminus 20",
        "I start at 10.\nMinus 5.",
        "She has 30 apples.\nMinus 12 rotten ones.",
        "Revenue: 100\nMinus 40 costs",
        "The profit is: 20\nminus 5 tax",
    ],
)
def test_a_minus_below_a_number_subtracts(text: str) -> None:
    assert read_answer(text, Asked("number")).certainty != "certain"


def test_a_minus_below_words_is_a_sign() -> None:
    assert read_answer("The temperature is:\nminus 5", Asked("number")).value == "-5"
