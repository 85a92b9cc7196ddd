"""Laws of the reader of answers: pure, idempotent, unmoved by reasons and remarks, without errors, and cheap."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from property.hostile_shapes import UNITS, calls
from property.scoring_strategies import law
from reading_kit import made_up_replies

from roundtable.parsing import read_reply
from roundtable.reading import Asked, own_labels, read_answer, read_parts
from roundtable.reading.numbers import find_numbers, plain
from roundtable.types import Reading

CITIES = Asked("choice", ("Lisbon", "Porto", "Braga"))
QUESTIONS = (
    CITIES,
    Asked("choice", ("A) Lisbon", "B) Porto", "C) Braga")),
    Asked("choice", ("A. Raise the fee", "B. Keep the fee", "C. Drop the fee", "D. Ask the members")),
    Asked("choice", ("(a) red", "(b) green", "(c) blue")),
    Asked("choice", ("1) tea", "2) coffee")),
    Asked("choice", ("A", "B", "C", "D")),
    Asked("choice", ("Tea", "Coffee", "Hot chocolate"), ("A", "B", "C")),
    Asked("choice", ("10 km", "20 km", "1,000 km")),
    Asked("choice", ("C", "C++", "C#")),
    Asked("choice", ("Берлин", "Москва", "Киев")),
    Asked("choice", ("里斯本", "波尔图", "布拉加")),
)
STATEMENTS = (
    "{}",
    "{}.",
    "**{}**",
    '"{}"',
    "The answer is {}.",
    "The answer is **{}**.",
    "So the final answer is {}.",
    "Final answer: {}",
    "I choose {}.",
    "I'd go with {}.",
    r"\boxed{{{}}}",
    r"Thus the answer is $\boxed{{\text{{{}}}}}$.",
    "#### {}",
    "<answer>{}</answer>",
    "Die Antwort ist {}.",
    "Ich wähle {}.",
    "La réponse est {}.",
    "La respuesta es {}.",
    "La risposta è {}.",
    "A resposta é {}.",
    "Odpowiedź: {}",
    "Ответ: {}",
    "答案是 {}。",
    "答えは {}。",
    "정답: {}",
)
"""How a reply states its answer, in several languages."""
REASONS = (
    ", because it is cheaper and everybody likes it.",
    ", since it is cheaper and everybody likes it.",
    ", as the reviews say so.",
    ", weil es billiger ist und allen gefällt.",
    ", denn es ist billiger.",
    ", parce que c'est moins cher.",
    ", porque es más barato y gusta a todos.",
    ", perché costa meno.",
    ", omdat het goedkoper is.",
    ", ponieważ jest taniej.",
    ", потому что это дешевле.",
    ",因为更便宜。",
)
"""Reasons that name no other option and no other number."""
REMARKS = (
    "It is cheaper.",
    "Everybody likes it.",
    "The reviews are good, and the price is fair.",
    "I am happy to explain the details.",
    "Das gefällt allen.",
    "Le prix est bon.",
    "Es más barato.",
    "Это дешевле.",
    "价格也便宜。",
)
"""Sentences that name no option and no number."""
HEADERS = (
    "Thank you for the question.",
    "Let us look at it step by step.",
    "There are several things to weigh here.\nThe price matters, and so does the time.",
    "Ich gehe der Reihe nach vor.",
    "Voyons cela calmement.",
    "Посмотрим по порядку.",
    "我们一步一步来看。",
)
"""Openings that name no option and no number."""
LOUD = (r"\boxed{{{}}}", "The answer is {}.", "The answer is **{}**.", "Final answer: {}", "#### {}", "Ответ: {}")
"""Statements that count wherever they stand."""
PIECES = (
    *"()[]{}<>*_`\"'$\\#.,:;!?-\u2013=/&|~^%\n\t \r\0",
    *"ABDab1230",
    "A)",
    "(B)",
    "D.",
    "Lisbon",
    "Porto",
    "\\boxed{",
    "\\frac{1}{0}",
    "\\text{",
    "{,}",
    "the answer is ",
    "Answer: ",
    "I choose ",
    "not ",
    "either ",
    " or ",
    " and ",
    "because ",
    "#### ",
    "<answer>",
    "</answer>",
    "<think>",
    "</think>",
    "<|channel|>final<|message|>",
    "```json\n",
    '{"answer": ',
    '{"position": "',
    "1,234.5",
    "1e9 ",
    "1e999 ",
    "9" * 320,
    "½",
    "٤",
    "答案是",
    "不",
    "İ",
    "ß",
    "\u0301",
    "\ud800",
    "\U0001f600",
    "I stand by my answer",
    "I agree with ",
    "I cannot ",
)
anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=60) | st.lists(
    st.sampled_from(PIECES), max_size=25
).map("".join)
asked = st.sampled_from(
    (
        *QUESTIONS,
        *(Asked(kind) for kind in ("number", "yes_no", "formula", "open")),
        Asked("choice", ("A", "a")),
        Asked("choice", ("(", ")")),
        Asked("choice", ("İ", "i")),
        Asked("choice", ("B", "A")),
        Asked("choice", ("only",)),
        Asked("choice"),
    )
)
numbers = (
    st.integers(-1_000_000, 1_000_000).map(str)
    | st.integers(0, 10**9).map("{:,}".format)
    | st.decimals(-1000, 1000, allow_nan=False, places=2).map("{:f}".format)
    | st.integers(0, 200).map("{}%".format)
    | st.integers(1, 5000).map("${}".format)
    | st.tuples(st.integers(1, 9), st.integers(2, 9)).map(lambda pair: rf"\frac{{{pair[0]}}}{{{pair[1]}}}")
)
"""Numbers as people and models write them."""


class Stated(NamedTuple):
    """A text that states an answer."""

    text: str
    asked: Asked
    value: str
    name: str
    """The words for the answer within the text."""


def ways(question: Asked, option: str) -> list[str]:
    """Return the ways to write an option: whole, by its text, by its label."""
    labels = question.labels or own_labels(question.options)
    if not labels or labels == question.options:
        return [option]
    label = labels[question.options.index(option)]
    text = option if question.labels else option[option.index(label) + len(label) :].lstrip(").: ")
    return [option, text, f"({label})", f"{label})", f"Option {label}", f"{label}) {text}"]


@st.composite
def choices(draw: st.DrawFn, statements: Sequence[str] = STATEMENTS) -> Stated:
    """Texts that choose an option."""
    question = draw(st.sampled_from(QUESTIONS))
    option = draw(st.sampled_from(question.options))
    name = draw(st.sampled_from(ways(question, option)))
    return Stated(draw(st.sampled_from(statements)).format(name), question, option, name)


@st.composite
def counts(draw: st.DrawFn, statements: Sequence[str] = STATEMENTS) -> Stated:
    """Texts that state a number."""
    name = draw(numbers)
    (found,) = find_numbers(name)
    value = plain(found.value) + ("%" if found.unit == "%" else "")
    return Stated(draw(st.sampled_from(statements)).format(name), Asked("number"), value, name)


@st.composite
def verdicts(draw: st.DrawFn, statements: Sequence[str] = STATEMENTS) -> Stated:
    """Texts that say yes or no."""
    name, value = draw(st.sampled_from((("Yes", "yes"), ("No", "no"), ("yes", "yes"), ("no", "no"))))
    return Stated(draw(st.sampled_from(statements)).format(name), Asked("yes_no"), value, name)


stated = choices() | counts() | verdicts()
loud = choices(LOUD) | counts(LOUD) | verdicts(LOUD)


def read(one: Stated) -> tuple[str, str | None]:
    """Return certainty and value of what is read."""
    reading = read_answer(one.text, one.asked)
    return reading.certainty, reading.value


@law(one=stated)
def test_a_plain_statement_is_read(one: Stated) -> None:
    assert read(one) == ("certain", one.value)


@law(text=anything, question=asked)
def test_any_text_is_read_without_an_error_and_in_the_same_way_twice(text: str, question: Asked) -> None:
    reading = read_answer(text, question)
    assert read_answer(text, question) == reading
    assert read_reply(text, question) == read_reply(text, question)
    assert read_parts(question, {"choice": text, "position": text}).version == reading.version
    assert Reading.from_json(reading.to_json()) == reading
    if reading.certainty == "certain":
        assert reading.value is not None
        assert reading.points_to is None
    if question.kind == "choice" and reading.certainty == "certain":
        assert reading.value in {*question.options, "ABSTAIN"}
    if question.kind == "yes_no" and reading.certainty == "certain":
        assert reading.value in {"yes", "no", "ABSTAIN"}


@law(text=anything, question=asked, one=stated)
def test_the_span_lies_within_the_text_and_holds_what_was_read(text: str, question: Asked, one: Stated) -> None:
    assert_span(text, question)
    assert_span(f"{text}\n\n{one.text}", one.asked)


def assert_span(text: str, question: Asked) -> None:
    """Check the span of a reading."""
    reading = read_answer(text, question)
    if reading.span is None:
        return
    start, end = reading.span
    assert 0 <= start <= end <= len(text)
    words = text[start:end]
    if reading.certainty != "certain" or reading.value is None or reading.value == "ABSTAIN":
        return
    if question.kind == "number":
        assert Fraction(reading.value.rstrip("%‰")) in {found.value for found in find_numbers(words)}
    elif question.kind in {"choice", "yes_no"}:
        assert read_answer(words, question).value == reading.value


def is_ambiguous(number: str) -> bool:
    """Check whether a number looks as if a point stood between thousands, as 1.125 does."""
    return any(found.is_ambiguous for found in find_numbers(number))


@law(text=anything, question=asked, one=stated)
def test_reading_a_value_again_gives_the_same_value(text: str, question: Asked, one: Stated) -> None:
    for reply, its_question in ((text, question), (one.text, one.asked)):
        reading = read_answer(reply, its_question)
        if reading.certainty != "certain" or reading.value is None:
            continue
        again = read_answer(reading.value, its_question)
        if its_question.kind == "number" and is_ambiguous(reading.value):
            continue
        if its_question.kind in {"open", "formula"} and text == reply:
            continue  # a part of any text may be less than a whole answer, or look like thoughts
        assert (again.certainty, again.value) == ("certain", reading.value)


@law(one=choices(), text=anything, seed=st.integers(0, 1_000))
def test_the_order_of_the_options_changes_nothing(one: Stated, text: str, seed: int) -> None:
    order = list(range(len(one.asked.options)))
    random.Random(seed).shuffle(order)
    options = tuple(one.asked.options[at] for at in order)
    labels = tuple(one.asked.labels[at] for at in order) if one.asked.labels else ()
    # "A", "B" and "C" in another order may be labels of nothing.
    assume(set(own_labels(options)) == set(own_labels(one.asked.options)))
    for reply in (one.text, text, text + one.text, one.text + text):
        before, after = read_answer(reply, one.asked), read_answer(reply, Asked("choice", options, labels))
        assert (before.certainty, before.value) == (after.certainty, after.value)
        assert set(before.candidates) == set(after.candidates)


@law(one=stated, reason=st.sampled_from(REASONS))
def test_a_reason_after_a_statement_changes_nothing(one: Stated, reason: str) -> None:
    assume(one.text.endswith((one.name, f"{one.name}.", f"{one.name}。", f"**{one.name}**")))
    assume("**C" not in one.text)  # test_options.py has the fault
    longer = one._replace(text=one.text.rstrip(".。") + reason)
    assert read(longer) == ("certain", one.value)


@law(one=loud, header=st.sampled_from(HEADERS), gap=st.sampled_from((" ", "\n", "\n\n")))
def test_an_opening_that_says_nothing_changes_nothing(one: Stated, header: str, gap: str) -> None:
    if one.text.startswith("#"):
        gap = "\n"
    assert read(one._replace(text=f"{header}{gap}{one.text}")) == ("certain", one.value)


@law(one=stated, header=st.sampled_from(HEADERS))
def test_an_answer_alone_in_the_last_line_is_read(one: Stated, header: str) -> None:
    assume("**C" not in one.text)  # test_options.py has the fault
    assert read(one._replace(text=f"{header}\n\n{one.text}")) == ("certain", one.value)


@law(one=loud, remark=st.sampled_from(REMARKS), gap=st.sampled_from((" ", "\n", "\n\n")))
def test_a_remark_after_an_emphasized_statement_changes_nothing(one: Stated, remark: str, gap: str) -> None:
    if one.text.startswith(("#", "Final", "Ответ")):
        gap = "\n"
    assert read(one._replace(text=f"{one.text}{gap}{remark}")) == ("certain", one.value)


@law(one=stated, text=anything, remarks=st.lists(st.sampled_from(REMARKS), min_size=1, max_size=3))
def test_a_longer_text_is_never_read_as_another_answer(one: Stated, text: str, remarks: Sequence[str]) -> None:
    for reply in (one.text, text):
        reading = read_answer(reply, one.asked)
        longer = read_answer("\n\n".join([reply, *remarks]), one.asked)
        if reading.certainty == "certain" == longer.certainty:
            assert longer.value == reading.value


@law(
    one=choices(("{}",)),
    frame=st.sampled_from(
        (
            "Both {} and {}.",
            "{} or {}.",
            "Either {} or {}",
            "The answer is {} or {}.",
            "I choose {} and {}.",
            "Both {} and {} are fine.",
            "It is {} or {}, I think.",
            "Maybe {}, maybe {}.",
            "It could be {} or {}.",
            "{}, {}",
            "{} / {}",
            "{} oder {}",
            "{} ou {}",
            "{} или {}",
            "{} 或 {}",
            r"\boxed{{{}}} \boxed{{{}}}",
        )
    ),
    other=st.integers(1, 10),
    way=st.integers(0, 10),
    swapped=st.booleans(),
)
def test_two_options_are_never_one_answer(one: Stated, frame: str, other: int, way: int, swapped: bool) -> None:
    options = one.asked.options
    second = options[(options.index(one.value) + 1 + other % (len(options) - 1)) % len(options)]
    assume(second != one.value)
    names = ways(one.asked, second)
    pair = (one.name, names[way % len(names)])
    assume(not any(name.startswith("(") for name in pair))  # test_choices.py has the faults
    text = frame.format(*(reversed(pair) if swapped else pair))
    assert read_answer(text, one.asked).certainty != "certain", text


@law(
    one=choices(("{}",)),
    frame=st.sampled_from(
        (
            "Not {}.",
            "not {}",
            "It is not {}.",
            "The answer is not {}.",
            "I don't choose {}.",
            "I would not choose {}.",
            "Certainly not {}!",
            "{} is not the answer.",
            "{} is wrong.",
            "Never {}.",
            "I rule out {}.",
            "Nicht {}.",
            "Die Antwort ist nicht {}.",
            "Pas {}.",
            "La réponse n'est pas {}.",
            "No es {}.",
            "Non {}.",
            "Niet {}.",
            "Nie {}.",
            "Это не {}.",
            "不是{}。",
            "If it rains, {}.",
            "Unless it rains, the answer is {}.",
            "Maybe {}.",
            "Is it {}?",
            "{}?",
        )
    ),
)
def test_an_option_that_is_denied_doubted_or_in_a_question_is_not_read(one: Stated, frame: str) -> None:
    reading = read_answer(frame.format(one.name), one.asked)
    assert (reading.certainty, reading.value) != ("certain", one.value)


@pytest.mark.slow
def test_the_replies_of_models_keep_these_laws() -> None:
    """Each made-up reply is read again from its value, and as the same behind an opening or before a remark."""
    for reply in made_up_replies():
        if reply.options and reply.options[0] == "n":
            continue  # test_options.py has the fault
        question = Asked(reply.kind, reply.options)
        reading = read_answer(reply.text, question)
        assert_span(reply.text, question)
        if reading.certainty != "certain" or reading.value is None or reply.kind in {"open", "formula"}:
            continue
        again = read_answer(reading.value, question)
        assert (again.certainty, again.value) == ("certain", reading.value), reply.key
        for text in (f"{HEADERS[0]}\n\n{reply.text}", f"{reply.text}\n\n{REMARKS[3]}"):
            longer = read_answer(text, question)
            assert longer.certainty != "certain" or longer.value == reading.value, reply.key


READERS: dict[str, Callable[[str], object]] = {
    "choice": lambda text: read_answer(text, Asked("choice", ("A) Lisbon", "B) Porto", "C) Braga"))),
    "number": lambda text: read_answer(text, Asked("number")),
    "yes_no": lambda text: read_answer(text, Asked("yes_no")),
    "open": lambda text: read_answer(text, Asked()),
    "formula": lambda text: read_answer(text, Asked("formula")),
    "reply": lambda text: read_reply(text, CITIES),
    "parts": lambda text: read_parts(CITIES, {"choice": text, "bottom_line": text, "position": text}),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("shape", UNITS)
def test_the_calls_grow_no_faster_than_the_text(reader: str, shape: str) -> None:
    function, unit = READERS[reader], UNITS[shape]
    short, long = (unit * (size // len(unit)) + " The answer is B." for size in (2_000, 8_000))
    function(short)
    assert calls(function, long) <= 4.5 * calls(function, short) + 2_000


@pytest.mark.slow
def test_the_calls_grow_no_faster_than_the_number_of_options() -> None:
    text = "I weighed all of them. The answer is **dish 7**, because it is cheap.\n" * 20

    def cost(count: int) -> int:
        question = Asked("choice", tuple(f"dish {number}" for number in range(count)))
        read_answer(text, question)  # the table of the options is made once
        assert read_answer(text, question).value == "dish 7"
        return calls(lambda text: read_answer(text, question), text)

    assert cost(1_000) <= 10.5 * cost(100) + 1_000


def test_only_a_limited_part_of_a_text_with_endless_statements_is_read() -> None:
    question = Asked("number")
    few, many = (
        calls(lambda text: read_answer(text, question), "the answer is 5. " * size) for size in (2_000, 20_000)
    )
    assert many < 2 * few


def test_many_objects_in_a_reply_cost_no_more_than_the_first_ones() -> None:
    few, many = (
        calls(lambda text: read_reply(text, Asked("number")), json.dumps({"answer": 5}) * size) for size in (100, 1_000)
    )
    assert many < 11 * few
