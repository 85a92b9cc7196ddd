"""Wrapping: what stands around an answer goes, what belongs to it stays."""

from __future__ import annotations

import pytest

from roundtable.reading.wrapping import cleaned


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        pytest.param("Porto", "Porto", id="nothing to remove"),
        pytest.param("**Porto**", "Porto", id="bold"),
        pytest.param("***Porto***", "Porto", id="bold and slanted"),
        pytest.param("__Porto__", "Porto", id="bold with underscores"),
        pytest.param("_Porto_", "Porto", id="slanted"),
        pytest.param("`Porto`", "Porto", id="code"),
        pytest.param("**Porto**.", "Porto", id="a point behind bold"),
        pytest.param("**Porto.**", "Porto", id="a point within bold"),
        pytest.param("Porto!", "Porto", id="an exclamation mark"),
        pytest.param("波尔图。", "波尔图", id="a Chinese full stop"),
        pytest.param('"Porto"', "Porto", id="straight quotes"),
        pytest.param("“Porto”", "Porto", id="English quotes"),
        pytest.param("„Porto“", "Porto", id="German quotes"),
        pytest.param("« Porto »", "Porto", id="French quotes"),
        pytest.param("「波尔图」", "波尔图", id="Japanese quotes"),
        pytest.param("'Porto'", "Porto", id="single quotes"),
        pytest.param('**"Porto"**.', "Porto", id="several layers"),
        pytest.param("$42$", "42", id="signs of a formula"),
        pytest.param("$$42$$", "42", id="signs of a formula of its own"),
        pytest.param(r"\(42\)", "42", id="round signs of a formula"),
        pytest.param(r"\[42\]", "42", id="square signs of a formula"),
        pytest.param(r"$\boxed{42}$", "42", id="a box"),
        pytest.param(r"\text{Porto}", "Porto", id="a text in a formula"),
        pytest.param(r"\textbf{\text{Porto}}", "Porto", id="frames within frames"),
        pytest.param(r"\boxed{1{,}000}", "1,000", id="a comma in braces"),
        pytest.param(r"50\%", "50%", id="an escaped per cent sign"),
        pytest.param(r"\$5", "$5", id="an escaped dollar"),
        pytest.param(r"5\,km", "5 km", id="a thin space"),
        pytest.param("5~km", "5 km", id="a space that doesn't break"),
        pytest.param(" Porto \n Alegre ", "Porto Alegre", id="runs of white space"),
        pytest.param("**Porto", "Porto", id="bold without an end"),
        pytest.param("C#", "C#", id="a sharp belongs to the answer"),
        pytest.param("C++", "C++", id="plus signs belong to the answer"),
        pytest.param(".NET", ".NET", id="a point at the start belongs to the answer"),
        pytest.param("wait...", "wait...", id="points of omission stay"),
        pytest.param('"a" and "b"', '"a" and "b"', id="two quotations stay"),
        pytest.param("$a$ and $b$", "$a$ and $b$", id="two formulas stay"),
        pytest.param("**", "", id="nothing but emphasis"),
        pytest.param("(42)", "(42)", id="brackets stay"),
        pytest.param("", "", id="an empty text"),
    ],
)
def test_an_answer_is_unwrapped(written: str, bare: str) -> None:
    assert cleaned(written) == bare


def test_only_a_limited_number_of_layers_is_removed() -> None:
    assert cleaned("*_" * 3 + "x" + "_*" * 3) == "x"
    assert 1 < len(cleaned("*_" * 40 + "x" + "_*" * 40)) < 161
