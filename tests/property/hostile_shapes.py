"""Texts that a hostile writer would send: short units, repeated; and a count of what a function does with them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

__all__ = ["UNITS", "calls", "repeated"]

UNITS: Final[dict[str, str]] = {
    "labels": "A) ",
    "labels in brackets": "(B) or ",
    "bare labels": "A, B, ",
    "options": "Lisbon ",
    "lines of options": "Lisbon\n",
    "rankings": "Lisbon > ",
    "scored options": "Lisbon: 1, ",
    "digits": "1",
    "zeros": "0",
    "Arabic digits": "\u0661",
    "decimals": "1.",
    "exponents": "1e",
    "numbers": "1 ",
    "groups": "1,234,",
    "groups with fixed spaces": "\u00a0000",
    "fractions": r"\frac{1}{2}",
    "equations": "1=1 ",
    "ranges": "1-",
    "boxes": r"\boxed{1}",
    "boxes within boxes": r"\boxed{",
    "quotes": '"',
    "typographic quotes": "\u00ab",
    "quotes behind colons": ': "',
    "escaped quotes": '\\"',
    "apostrophes": "'",
    "words with apostrophes": "a'",
    "words with hyphens": "a-",
    "backslashes": "\\",
    "lines": "\n",
    "spaces": " ",
    "tabs and spaces": "\t ",
    "items": "1. x\n",
    "words": "tea ",
    "words in capitals": "Tea ",
    "letters": "a",
    "the words before an answer": "the answer is ",
    "the words before a choice": "i choose ",
    "hashes": "#### 5\n",
    "tags": "<answer>",
    "whole tags": "<answer>5</answer>",
    "half tags": "<",
    "marks of templates": "<|",
    "tool calls": "<tool_call>",
    "thoughts": "<think>",
    "whole thoughts": "<think></think>",
    "braces": "{",
    "pairs of braces": "{}",
    "objects": '{"answer": 5} ',
    "objects within objects": '{"answer":',
    "the same key": '{"position":"a",',
    "members": '"answer":1,',
    "lists within lists": "[",
    "pairs of brackets": "[]",
    "open brackets": "(",
    "closed brackets": ")",
    "pairs of round brackets": "()",
    "combining marks": "\u0301",
    "marks that are two marks": "\u0f73",
    "ligatures that are eighteen letters": "\ufdfa",
    "words of such ligatures": "\ufdfa ",
    "ligatures": "\ufb03",
    "letters that fold to two": "\u0130",
    "sharp s": "\u00df",
    "zero-width spaces": "\u200b",
    "joined letters": "a\u200d",
    "emoji": "\U0001f468\u200d\U0001f469\u200d",
    "flags": "\U0001f1e9",
    "surrogates": "\ud800",
    "control characters": "\0",
    "escapes of terminals": "\x1b[",
    "stars": "*",
    "backticks": "`a",
    "dollars": "$1",
    "bold options": "**A** ",
    "points": ".",
    "ellipses": "\u2026",
    "questions": "? ",
    "question marks": "?",
    "quoted questions": '"? ',
    "dashes": "\u2014",
    "commas": ",",
    "slashes": "/",
    "equals signs": "=",
    "bars": "|",
    "cells": "| a ",
    "percent signs": "%41",
    "at signs": "@",
    "host names": "a.",
    "foreign host names": "\u00e4.",
    "entities": "&amp;",
    "sentences": "It is so. ",
    "negations": "not ",
    "fences": "```\n",
    "words without spaces": "\u7b54\u6848\u662f",
    "taken-apart syllables": "\u1100\u1161\u11a8",
    "channels": "<|channel|>",
    "refusals": "sorry ",
    "references": "i agree with ",
    "markers of quotations": "BEGIN QUOTE ",
}
"""Units that a hostile text repeats."""


def repeated(shape: str, size: int) -> str:
    """Return a text of about `size` characters; one shape is a run of marks of two combining classes."""
    if shape == "two combining classes":
        return "a" + "\u0301" * (size // 2) + "\u0327" * (size // 2)
    unit = UNITS[shape]
    return unit * (size // len(unit))


def calls(function: Callable[[str], object], text: str) -> int:
    """Count the calls that a function makes."""
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
