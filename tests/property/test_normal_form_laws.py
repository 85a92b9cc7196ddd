"""Normalising hostile text: runs of combining marks are bounded, so that the steps grow with the length only."""

from __future__ import annotations

import ast
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from property.scoring_strategies import law

import roundtable
from roundtable.core.base.text import LONGEST_RUN_OF_MARKS, bounded_marks, normal_form
from roundtable.parsing.answers import parse_answer
from roundtable.results.evidence import has_words
from roundtable.scoring import casefold, open_key
from roundtable.storage.rules import searchable

MARKS = "\u0301\u0327\u0344\u0345\u0f71\u0f73\u0f75\u0f81\uff9e\uff9f\u3099\u05b0\u0653"
SHAPES: dict[str, Callable[[int], str]] = {
    "two classes": lambda size: "a" + "\u0301" * size + "\u0327" * size,
    "two classes in turn": lambda size: "a" + "\u0301\u0327" * size,
    "marks in disguise": lambda size: "\uff76" + ("\u0301" * 29 + "\uff9e") * (size // 30),
    "double marks": lambda size: "a" + "\u0344" * size + "\u0327" * size,
}
TEXTS = st.text(st.sampled_from(f"aé\uff76ㄱ {MARKS}"), max_size=200) | st.text(max_size=40)


def inversions_and_longest_run(text: str) -> tuple[int, int]:
    """Return how many steps it takes to sort the marks of a text, and the length of its longest run of marks."""
    written = "".join(unicodedata.normalize("NFKD", letter) for letter in text)
    steps = longest = 0
    run: list[int] = []
    for letter in written:
        mark = unicodedata.combining(letter)
        if not mark:
            run = []
            continue
        steps += sum(earlier > mark for earlier in run[-4 * LONGEST_RUN_OF_MARKS :])
        run.append(mark)
        longest = max(longest, len(run))
    return steps, longest


@law(text=TEXTS)
def test_runs_of_marks_are_bounded_and_nothing_but_joiners_is_added(text: str) -> None:
    bounded = bounded_marks(text)
    # A letter may bring up to three marks of its own.
    assert inversions_and_longest_run(bounded)[1] <= LONGEST_RUN_OF_MARKS + 3
    assert unicodedata.normalize("NFD", bounded).replace("\u034f", "") == "".join(
        unicodedata.normalize("NFD", part) for part in bounded.split("\u034f")
    )
    assert bounded_marks(bounded) == bounded
    if not set(text) & set(MARKS):
        assert bounded == text


@law(text=TEXTS)
def test_normal_forms_are_idempotent_and_standard_for_ordinary_texts(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC"):
        written = normal_form(text, form)
        assert normal_form(written, form) == written
        if inversions_and_longest_run(text)[1] <= LONGEST_RUN_OF_MARKS:
            assert written == unicodedata.normalize(form, text)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_steps_of_sorting_grow_with_the_length(shape: str) -> None:
    for size in (300, 3_000):
        text = SHAPES[shape](size)
        assert inversions_and_longest_run(bounded_marks(text))[0] <= LONGEST_RUN_OF_MARKS * len(text)


def in_choice(text: str) -> str:
    parsed = parse_answer(f'{{"position": "x", "choice": "{text}"}}', kind="position", options=("tea", "milk"))
    return parsed.choice or ""


USES: dict[str, Callable[[str], object]] = {
    "open_key": open_key,
    "casefold": casefold,
    "choice": in_choice,
    "evidence": lambda text: has_words(text, "green tea keeps for a year"),
    "quote": lambda text: has_words("green tea keeps for a year", text[:2_000]),
    "topic": searchable,
}


def calls(function: Callable[[str], object], text: str) -> int:
    """Count the calls of functions that a function makes."""
    count = 0

    def note(_frame: object, event: str, _value: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_calls_grow_with_the_length(use: str, shape: str) -> None:
    function, (short, long) = USES[use], (SHAPES[shape](size) for size in (1_500, 6_000))
    function(short)
    assert calls(function, long) <= 4.5 * calls(function, short) + 200


@pytest.mark.parametrize("fold", [open_key, casefold, searchable])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_result_shows_that_runs_of_marks_were_bounded(fold: Callable[[str], str], shape: str) -> None:
    assert inversions_and_longest_run(fold(SHAPES[shape](2_000)))[1] <= LONGEST_RUN_OF_MARKS + 3


@pytest.mark.slow
def test_only_one_function_normalises_unicode() -> None:
    root = Path(roundtable.__file__).parent
    found = [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr == "normalize"
        and isinstance(node.value, ast.Name)
        and node.value.id == "unicodedata"
    ]
    assert found == ["core/base/text.py"]
