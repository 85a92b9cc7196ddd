"""An answer is read alike, whatever form a model puts around it."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from roundtable.parsing import Parsed, ParseFailure, parse_answer
from roundtable.types import JsonObject, JsonValue

HARD = ("a } b", "it's {", r"\frac{1}{2}", "\nu", r"\nu", '"', "\\", "{'a': 1}", "x\\", "`", "...", ">", "// no", "'''")
words = st.text(max_size=40).filter(str.strip) | st.sampled_from(HARD)
answers = st.fixed_dictionaries(
    {"position": words},
    optional={
        "reasoning": words,
        "bottom_line": words,
        "choice": st.sampled_from(["A", "B"]),
        "confidence": st.floats(0, 1),
        "stance": st.sampled_from(["YES", "NO"]),
        "compared": st.dictionaries(words, st.sampled_from(["same", "different"]), max_size=2),
        "value": st.dictionaries(words, st.none() | st.booleans() | words, max_size=2),
    },
)


def forms(answer: JsonObject, *, ascii_only: bool) -> dict[str, str]:
    def as_json(value: JsonValue) -> str:
        return json.dumps(value, ensure_ascii=ascii_only)

    plain = as_json(answer)
    return {
        "fence": f"Sure:\n```json\n{plain}\n```\nDone.",
        "wrapped": as_json({"thought": "Hm.", "answer": answer}),
        "wrapped twice": as_json({"response": {"result": answer}}),
        "capitals": as_json({name.upper().replace("_", "-"): value for name, value in answer.items()}),
        "titles": as_json({name.title().replace("_", " "): value for name, value in answer.items()}),
        "call": f"<tool_call>{as_json({'name': 'answer', 'arguments': answer})}</tool_call>",
        "call with a text": as_json({"name": "answer", "arguments": plain}),
        "list": as_json([answer]),
        "text": as_json(plain),
        "text in a text": as_json(as_json(plain)),
        "text as the position": as_json({"position": plain}),
        "after an empty form": f'{{"position": "...", "reasoning": ""}}\n{plain}',
        "twice": f"{plain}\n{plain}",
        "escaped": as_json(plain)[1:-1],
        "Python": repr(answer),
        "Python, wrapped": repr({"answer": answer}),
    }


@given(answers, st.booleans())
def test_each_form_of_an_answer_is_read_like_the_plain_one(answer: JsonObject, ascii_only: bool) -> None:
    plain = parse_answer(json.dumps(answer), options=("A", "B"))
    for form, text in forms(answer, ascii_only=ascii_only).items():
        parsed = parse_answer(text, options=("A", "B"))
        if isinstance(plain, ParseFailure):
            assert isinstance(parsed, ParseFailure), (form, text)
            continue
        assert isinstance(parsed, Parsed), (form, text, parsed)
        assert parsed.repaired is (form in {"escaped", "Python", "Python, wrapped"}), (form, text)
        assert replace(parsed, repaired=False) == plain, (form, text)
