r"""Restore commands of formulas that were written in JSON with one backslash, and so became control characters.

As JSON, `\frac` is a form feed and `rac`, and `\nu` is a line break and `u`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

__all__ = ["restore_commands"]

_COMMANDS: Final = """
    backepsilon backprime backsim backsimeq backslash bar barwedge bbox because begin beta beth between bf bfseries
    bigcap bigcirc bigcup big bigg biggl biggm biggr bigl bigm bigodot bigoplus bigotimes bigr bigsqcup bigstar
    bigtriangledown bigtriangleup biguplus bigvee bigwedge binom blacklozenge blacksquare blacktriangle
    blacktriangledown blacktriangleleft blacktriangleright bm bmod bold boldsymbol bot bowtie boxdot boxed boxminus
    boxplus boxtimes box brace bracket breve bullet bumpeq
    fallingdotseq fbox fcolorbox flat footnote footnotesize forall frac frak framebox frown fint
    nabla natural ncong ne nearrow neg neq newcommand newline nexists ngeq ngtr ni nleftarrow nleftrightarrow nleq nless
    nmid nobreak nolimits nonumber normalsize not notag notin notni nparallel nprec npreceq nrightarrow nshortmid nsim
    nsubset nsubseteq nsucc nsucceq nsupset nsupseteq ntriangleleft ntriangleright nu nvdash nwarrow
    raise rangle rbrace rbrack rceil real ref renewcommand restriction rfloor rgroup rhd rho right rightarrow
    rightarrowtail rightharpoondown rightharpoonup rightleftarrows rightleftharpoons rightrightarrows rightsquigarrow
    rightthreetimes risingdotseq rlap rm rmoustache root rtimes rule rvert rVert
    tag tan tanh tau tbinom text textbf textcolor textit textmd textnormal textrm textsc textsf textstyle textsubscript
    textsuperscript texttt textup textwidth tfrac therefore theta thetasym thickapprox thicksim thinspace tilde times
    tiny to top triangle triangledown triangleleft trianglelefteq triangleq triangleright trianglerighteq tt
    twoheadleftarrow twoheadrightarrow
"""
_LETTERS: Final = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_ENDINGS: Final = {
    sign: frozenset(name[1:] for name in _COMMANDS.split() if name[0] == letter) for sign, letter in _LETTERS.items()
}
"""For each control character, what can follow it: the rest of the name of a command."""
_RELATIONS: Final = {
    "\n": frozenset(
        {"cong", "e", "eq", "geq", "gtr", "i", "leq", "less", "mid", "parallel", "prec", "preceq", "sim", "subset"}
        | {"subseteq", "succ", "succeq"}
    ),
    "\t": frozenset({"o"}),
}
"""Endings of commands that stand between two operands; a line of a text, or a cell of a table, may begin so too."""
_WORDS: Final = {
    "\n": _RELATIONS["\n"]
    | {"eg", "exists", "leftarrow", "leftrightarrow", "rightarrow", "shortmid", "supset", "supseteq", "triangleleft"}
    | {"triangleright", "u"},
    "\t": _RELATIONS["\t"] | {"ag", "an", "anh", "au", "ext", "op", "t"},
}
"""Endings that a line of a text, or a cell of a table, may begin with."""
_DAMAGED: Final = re.compile(r"([\x08\f\n\r\t])([A-Za-z]++)")
# Formulas within a text. A dollar sign before a space closes nothing, and an amount of money may follow one.
_FORMULA: Final = re.compile(
    r"\$\$[^$]++\$\$|\$(?![ $])[^$]++(?<! )\$(?!\d)"
    r"|\\\((?:[^\\]|\\(?![()\[\]]))*+\\\)|\\\[(?:[^\\]|\\(?![()\[\]]))*+\\\]"
)
_ARGUMENT_FOLLOWS: Final = re.compile(r"\{| ?(?:\\[A-Za-z(]|[\x08\f])")
_OPERAND_BEFORE: Final = re.compile(r"(?:(?<![A-Za-z0-9])[A-Za-z0-9]|[0-9)\]}]) \Z")
_OPERAND_FOLLOWS: Final = re.compile(r" ?-?(?:[0-9]|[\t\r]|(?<=[ -])[A-Za-z](?![A-Za-z]))")
# What follows `\neq` outside of a formula must look like a number, a variable or a command.
_AFTER_NOT_EQUAL: Final = re.compile(r"\d| -?[\d\t\r]| [A-Za-z](?![A-Za-z])")


def restore_commands(text: str, *, one_line: bool = False) -> str:
    r"""Return a text in which control characters before the rest of a command are backslashes and letters again.

    A control character counts only if a whole name of a command follows. A tab or line break before a word, such as in
    `\tan` or `\ne`, stays unless the word must be a command: it is all of the text, stands in a formula, has an
    argument, or stands between two operands.

    Args:
        text: A text of a JSON object, after its escapes were read.
        one_line: Whether the text has one line by its nature, such as the name of an option. In that case, a tab or
            line break before the rest of a command is always taken for a backslash.

    Example:
        >>> print(restore_commands("\x0crac{1}{2} \times 2"))
        \frac{1}{2} \times 2
        >>> print(restore_commands("\nu", one_line=True))
        \nu
        >>> restore_commands("There are 4\ne non 5.")
        'There are 4\ne non 5.'
    """
    if _DAMAGED.search(text) is None:
        return text
    formulas: dict[str, list[tuple[int, int]]] = {}

    def restored(match: re.Match[str]) -> str:
        sign, ending = match.groups()
        if ending not in _ENDINGS[sign] or text[match.start() - 1 : match.start()] == "\r":
            return match[0]
        if not one_line and ending in _WORDS.get(sign, ()) and not _must_be_command(text, match):
            if sign not in formulas:
                formulas[sign] = _formulas(text, sign)
            if not _is_within(formulas[sign], match.start()):
                return match[0]
        return f"\\{_LETTERS[sign]}{ending}"

    return _DAMAGED.sub(restored, text)


def _must_be_command(text: str, match: re.Match[str]) -> bool:
    """Check whether a word after a tab or line break is a command by what stands around it."""
    sign, ending = match.groups()
    if match.span() == (0, len(text)) or _ARGUMENT_FOLLOWS.match(text, match.end()):
        return True
    if sign == "\n" and ending == "eq":
        return _AFTER_NOT_EQUAL.match(text, match.end()) is not None
    return (
        ending in _RELATIONS[sign]
        and _OPERAND_BEFORE.search(text[max(0, match.start() - 3) : match.start()]) is not None
        and _OPERAND_FOLLOWS.match(text, match.end()) is not None
    )


def _formulas(text: str, sign: str) -> list[tuple[int, int]]:
    """Return the spans of the formulas of a text, without those in which a tab or line break is surely one."""
    white_space = re.compile(rf"{sign}([A-Za-z]*+)")
    return [
        formula.span()
        for formula in _FORMULA.finditer(text)
        if all(match[1] in _ENDINGS[sign] for match in white_space.finditer(formula[0]))
    ]


def _is_within(spans: list[tuple[int, int]], at: int) -> bool:
    before = bisect_right(spans, (at, at)) - 1
    return before >= 0 and at < spans[before][1]
