"""Folding: digits, signs and spaces of all scripts get their usual spelling, and every place stays where it is."""

from __future__ import annotations

import sys

import pytest

from roundtable.reading.folding import fold, without_control_marks


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        pytest.param("plain (A), 4.5%", "plain (A), 4.5%", id="ASCII is kept"),
        pytest.param("٤٢٫٥", "42.5", id="Arabic digits and their decimal sign"),
        pytest.param("۱۲٬۳۴۵", "12,345", id="Persian digits and their sign between thousands"),
        pytest.param("४२", "42", id="Devanagari digits"),
        pytest.param("（Ａ）", "(A)", id="full-width letters and brackets"),
        pytest.param("【Ｂ】", "[B]", id="Chinese brackets"),
        pytest.param("−5, –5, ‐5", "-5, -5, -5", id="minus signs and dashes"),
        pytest.param("‘a’ ‚b‛", "'a' 'b'", id="single quotes"),
        pytest.param("“a” „b‟ «c» 「d」『e』", '"a" "b" "c" "d""e"', id="double quotes"),
        pytest.param("1\u00a0234\u202f567", "1 234 567", id="spaces that don't break"),
        pytest.param("a\u200bb", "a b", id="characters without width"),
        pytest.param("3⁄4, 3∕4", "3/4, 3/4", id="signs of fractions"),
        pytest.param("a، b؟ 5٪", "a, b? 5%", id="Arabic marks"),
        pytest.param("x∙y⋅z", "x·y·z", id="signs of multiplication"),
        pytest.param("é ß İ ½ ² Ω 是", "é ß İ ½ ² Ω 是", id="letters, fractions and raised digits are kept"),
    ],
)
def test_a_text_is_folded_in_place(written: str, folded: str) -> None:
    assert fold(written) == folded
    assert len(fold(written)) == len(written)
    assert fold(folded) == folded


def test_every_character_is_folded_to_one_character() -> None:
    everything = "".join(map(chr, range(0xD800))) + "".join(map(chr, range(0xE000, sys.maxunicode + 1, 7)))
    assert len(fold(everything)) == len(everything)
    # More characters than the table keeps: the same again.
    assert fold(everything) == fold(everything)


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        pytest.param("plain", "plain", id="ASCII"),
        pytest.param("é", "é", id="other letters"),
        pytest.param("\ud800x\udfff", "\ufffdx\ufffd", id="surrogates"),
        pytest.param("\U0001f600", "\U0001f600", id="characters beyond the first plane"),
        pytest.param("Tea</s>", "Tea    ", id="a mark of a template"),
        pytest.param("a < b > c", "a < b > c", id="signs of comparison"),
        pytest.param("<b>Tea</b>", "<b>Tea</b>", id="other tags"),
    ],
)
def test_surrogates_and_marks_of_templates_are_replaced_in_place(written: str, clean: str) -> None:
    assert without_control_marks(written) == clean
