"""Numbers, formulas and answers in own words: what a text states as its answer, and what it only mentions."""

from __future__ import annotations

import pytest

from roundtable.reading import Asked, read_answer

NUMBER, OPEN, FORMULA = Asked("number"), Asked(), Asked("formula")


def value_of(text: str, asked: Asked) -> str | None:
    """Return what is read for certain."""
    reading = read_answer(text, asked)
    return reading.value if reading.certainty == "certain" else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", "42"),
        ("42.", "42"),
        ("**42**", "42"),
        ("about 42", "42"),
        ("etwa 42", "42"),
        ("$42", "42"),
        ("42 apples", "42"),
        ("50%", "50%"),
        ("1,000", "1000"),
        ("3/4", "0.75"),
        ("1/3", "1/3"),
        ("42, because 6 times 7 is 42.", "42"),
        ("42, not 43.", "42"),
        ("not 42 but 43", "43"),
        ("The answer is 42.", "42"),
        ("The answer is 42, since 6 x 7 = 42.", "42"),
        ("The answer is **42** apples.", "42"),
        ("The answer is 6 * 7 = 42.", "42"),
        ("Answer: 42", "42"),
        ("#### 42", "42"),
        (r"\boxed{42}", "42"),
        (r"So 6 \times 7 = \boxed{42}.", "42"),
        (r"\boxed{x = 42}", "42"),
        (r"First \boxed{6}. So the total is \boxed{42}.", "42"),
        ("6 times 7 is 42.", "42"),
        ("We have 6 bags of 7. In total, there are 42.", "42"),
        ("We have 6 bags of 7.\n\n42", "42"),
        ("We have 6 bags of 7.\n\n**42 apples**", "42"),
        ("We have 6 bags of 7. So she has **42** apples left.", "42"),
        ("Six bags of seven make 42 in all.", "42"),
        ("So the total comes to about 42.", "42"),
        ("3 million", "3000000"),
        ("The answer is 2.5 billion dollars.", "2500000000"),
        ("We need 42: that is it.", "42"),
        ("The total is 42.\nCheck: 6 x 7 = 42", "42"),
        ("We have 6 bags of 7.\n\n42\n\nCheck: 40 + 2 = 42.", "42"),
        ("Die Antwort ist 42.", "42"),
        ("La réponse est 42.", "42"),
        ("La respuesta es 42.", "42"),
        ("Ответ: 42", "42"),
        ("答案是42。", "42"),
        ("答えは42です。", "42"),
        ("정답: 42", "42"),
        ("الجواب هو ٤٢", "42"),
        ("उत्तर: ४२", "42"),
        ("<think>It may be 41.</think>The answer is 42.", "42"),
        ("The answer is 42. The answer is 42.0.", "42"),
    ],
)
def test_a_stated_number_is_read(text: str, value: str) -> None:
    assert value_of(text, NUMBER) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "many",
        "41 or 42",
        "between 41 and 42",
        "at least 42",
        "41-42",
        "The answer is 41 or 42.",
        "The answer is not 42.",
        "The answer is at least 42.",
        "The answer is 42 if it rains.",
        "The answer may be 42.",
        "The answer is 41. The answer is 42.",
        "Answer: 41\nAnswer: 42",
        r"\boxed{41} \boxed{42}",
        r"\boxed{41} + 1",
        "Ada says the answer is 42.",
        "1.234",
        "The answer is 1.234.",
        "It began on 12 May 2024.",
        "12/05/2024",
        "Version 3.10.2",
        "There are 6 bags with 7 apples and 3 plums each.",
        "Is the answer 42?",
        "The answer is 42?",
        "Maybe the total is 42.",
        "The answer is 1/0.",
        "2^10",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
        "The answer is 1 2 3 4 5 6 7 8 9 10 11 12 13 14",
        "x = 41, y = 42",
        "The answer is x = 41 or x = 42.",
        "The answer is x = 41, y = 42.",
        "0x10",
        "The answer is 0x10.",
        "42?",
    ],
)
def test_a_number_that_is_not_the_answer_is_not_read(text: str) -> None:
    assert value_of(text, NUMBER) is None


@pytest.mark.parametrize(
    "text",
    [
        "1e6.",
        "1e6",
        "It is 1e6 m.",
    ],
)
def test_a_power_at_the_end_of_a_sentence_is_read(text: str) -> None:
    assert value_of(text, NUMBER) == "1000000"


def test_a_result_at_the_end_that_contradicts_the_statement_makes_it_likely() -> None:
    reading = read_answer("The answer is 41.\n\n42", NUMBER)
    assert (reading.certainty, reading.value, reading.candidates) == ("likely", "41", ("42",))
    assert read_answer("The answer is 42.\n\n42", NUMBER).certainty == "certain"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Lisbon", "Lisbon"),
        ("Lisbon.", "Lisbon"),
        ("**Lisbon**", "Lisbon"),
        ("The answer is Lisbon.", "Lisbon"),
        ("The answer is Lisbon, because it is the capital.", "Lisbon"),
        ("I looked it up. The answer is **Lisbon**.", "Lisbon"),
        ("Answer: Lisbon", "Lisbon"),
        (r"\boxed{\text{Lisbon}}", "Lisbon"),
        ("I looked it up, and the capital is **Lisbon**.", "Lisbon"),
        ("The answer is 5 km.", "5 km"),
        ("The answer is $5.", "$5"),
        ("The answer is 50%.", "50 %"),
        ("The answer is 5 square metres.", "5 square metres"),
        ("The answer is 1,000.", "1000"),
        ("The answer is x = 5.", "5"),
        ("Die Antwort ist Lissabon.", "Lissabon"),
        ("答案是里斯本。", "里斯本"),
        ("I thank you for this question about towns.\n\n**Lisbon**", "Lisbon"),
        ("I don't know.", "ABSTAIN"),
        ("<think>Porto?</think>Lisbon", "Lisbon"),
        ("The answer is Lisbon. The answer is lisbon.", "lisbon"),
    ],
)
def test_a_stated_answer_in_free_words_is_read(text: str, value: str) -> None:
    assert value_of(text, OPEN) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Lisbon or Porto",
        "Which one?",
        "The answer is:",
        "Lisbon is",
        r"There are many towns here. We have \boxed{5} + 1 of them.",
        "Maybe Lisbon",
        "It is a long story. There are many towns.",
        "The answer is Lisbon. The answer is Porto.",
        "The town that I would name here is one of the many by the sea, and it has a large harbour.",
        "我认为这个问题有很多不同的答案需要仔细考虑才能最终决定",
        "**Lisbon** and **Porto** are towns that many people like to visit in the long summers.",
        "Lisbon\n\nThank you.",
    ],
)
def test_a_text_without_a_single_answer_is_not_read(text: str) -> None:
    assert value_of(text, OPEN) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$a^2 + b^2 = c^2$", "a^2 + b^2 = c^2"),
        ("The answer is $V = \\frac{4}{3} \\pi r^3$.", "V = \\frac{4}{3} \\pi r^3"),
        ("The answer is $E = m c^2$, because it is so.", "E = m c^2"),
        ("E = m c^2", "E = m c^2"),
        (r"\boxed{E = m c^2}", "E = m c^2"),
        ("We know it well:\n\n$$E = m c^2$$", "E = m c^2"),
        ("It is the one with $E = m c^2$ in it, as all of the textbooks of physics do tell us.", "E = m c^2"),
        ("```\nE = m c^2\n```", "E = m c^2"),
        ("H2SO4", "H2SO4"),
    ],
)
def test_a_formula_is_read_with_its_equals_sign(text: str, value: str) -> None:
    assert value_of(text, FORMULA) == value


@pytest.mark.parametrize(
    "text",
    [
        "a, b and c",
        "$a$ or $b$, one of them, as the many books that I have read on this question tell us",
        "```\na\n```\n```\nb\n```",
        "The answer is $a$. The answer is $b$.",
    ],
)
def test_several_formulas_are_not_one(text: str) -> None:
    assert value_of(text, FORMULA) is None
