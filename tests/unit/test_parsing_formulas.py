"""Commands of formulas that were written in JSON with one backslash."""

from __future__ import annotations

import json

import pytest

from roundtable.parsing import Parsed, parse_answer

COMMANDS = (
    r"\boxed{42}",
    r"\frac{1}{2}",
    r"\text{Lisbon}",
    r"\theta",
    r"\rho",
    r"\nabla",
    r"\beta",
    r"\textbf{42}",
    r"\fbox{42}",
    r"\nu",
    r"\tau",
    r"\tan",
    r"\boldsymbol{x}",
    r"\bullet",
    r"\flat",
    r"\to",
    r"\rightarrow",
    r"\ne",
    r"\neq",
    r"\notin",
    r"\not",
    r"\bmod",
    r"\times",
    r"\top",
    r"\right)",
    r"\rangle",
    r"\rfloor",
    r"\forall",
    r"\begin{x}",
    r"\bar{x}",
    r"\binom{n}{k}",
    r"\nmid",
    r"\natural",
    r"\tanh",
    r"\triangle",
    r"\therefore",
    r"\tfrac12",
    r"\ni",
    r"\nexists",
)


def read(written: str, member: str) -> str | None:
    parsed = parse_answer(f'{{"position": "See below.", "confidence": 1, "{member}": "{written}"}}')
    assert isinstance(parsed, Parsed), parsed
    return parsed.bottom_line if member == "bottom_line" else parsed.reasoning


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("around", ["{}", "x {} 5", "It is {} here"])
def test_a_short_member_keeps_each_command(command: str, around: str) -> None:
    formula = around.format(command)
    assert read(formula, "bottom_line") == formula


@pytest.mark.parametrize("command", [r"\frac{1}{2}", r"\nu", r"\to x"])
def test_choices_and_lists_of_a_vote_keep_commands(command: str) -> None:
    options = (command, "B")
    for kind, text in (
        ("ballot", f'{{"choice": "{command}"}}'),
        ("ranking", f'{{"ranking": ["{command}", ["B"]]}}'),
        ("scores", f'{{"scores": {{"{command}": 1}}}}'),
    ):
        parsed = parse_answer(text, kind, options=options)  # type: ignore[arg-type]  # the kinds of the table
        assert isinstance(parsed, Parsed), parsed
        assert command in (parsed.choice, *(name for group in parsed.ranking for name in group), *dict(parsed.scores))


@pytest.mark.parametrize(
    "formula",
    [
        r"\nu",
        r"the symbol $\nu$ and \(p \notin S\), so \[A \to B\]",
        r"$\tau$ and $$\nu = 1$$",
        r"so $x \ne y$, $\tan x$",
        r"\text{if } x \to\infty",
        r"\nu\beta and \nu\frac{1}{2}",
        r"x \ne 5 holds, f: A \to B too",
        r"p \notin S, 17 \bmod 5, A \rightarrow B, \nabla f, \tanh\alpha",
        r"\therefore x \le 3",
        r"a \ne -1 and 2 \nmid n",
    ],
)
def test_a_long_member_keeps_what_is_certainly_a_command(formula: str) -> None:
    assert read(formula, "reasoning") == formula


@pytest.mark.parametrize(
    "text",
    [
        "There are 4\ne non 5.",
        "Sono due\ne poi tre.",
        "First\ni think so\nu know",
        "Name\tan entry\tto\top",
        "tel.\text 12",
        "\tto do\n\tu 5",
        "It costs $5\nu pay $10",
        "$$a\nb\nu$$",
        "$a\tb\to$",
        "lt\r\ne\r\nne",
        "a\nnew line\ttable\rrun\x08x\x0cy",
        "the middle\nmid 5",
        "in $x$ and\nu in $y$",
        "x \ne poi y",
    ],
)
def test_lines_and_cells_of_a_text_stay(text: str) -> None:
    parsed = parse_answer(json.dumps({"position": "p", "reasoning": f"See: {text}.", "confidence": 1}))
    assert isinstance(parsed, Parsed)
    assert parsed.reasoning == f"See: {text}."
