"""Find tool calls that a model wrote as text, because its server does not parse the call format of the model."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from roundtable.reading import without_thoughts

__all__ = ["text_beside_tool_calls"]

_MOST_MATCHES: Final = 100
_BAR: Final = "[|\uff5c]"
_SPACE: Final = "[\u2581_ ]"
_CALL: Final = re.compile(
    # Hermes, Qwen, GLM, Granite, Nemotron, MiniMax, Seed, Jamba: a tag with JSON, tags, or the name of the function
    r"<(?:[\w-]{1,20}[:_])?(?:(?i:tool_?calls?)|function_calls?)>\s{0,20}(?:[\[{<]|[\w.-]{1,64}[ \t]{0,9}[\n(<])"
    # Claude; Qwen3-Coder and Llama
    r"|<(?:\w{1,20}:)?invoke name=|<function=[\w.:-]{1,64}>"
    # DeepSeek; Kimi, LFM, Phi, InternLM, Command R
    rf"|<{_BAR}(?:DSML{_BAR})?(?:tool{_SPACE}?calls?|function{_SPACE}calls?|invoke\b)(?:{_SPACE}\w{{1,20}}){{0,3}}"
    rf"(?:{_BAR}>|>| name=)|<\|(?:action_start|plugin|START_ACTION|python_tag)\|>"
    # Mistral; gpt-oss; Gemma
    r"|\[TOOL_CALLS?\]|\b(?:assistant)?(?:commentary|analysis) {0,3}to=(?:functions\.)?\w{1,64}"
    r"|<start_function_call>|^```tool_(?:code|call)\b",
    re.MULTILINE,
)
_END: Final = re.compile(rf"</[\w:_-]{{1,40}}>|<{_BAR}[\w\u2581 ]{{1,40}}end{_BAR}>|<\|call\|>")


def text_beside_tool_calls(text: str) -> str | None:
    """Return the text of an answer before and after the tool calls that it holds as markup; `None` if it holds none.

    Thoughts are left out. JSON, code and quoted code may mention such markup; this is not a call.

    Example:
        >>> text_beside_tool_calls('<tool_call>{"name": "look"}</tool_call> Tea.'), text_beside_tool_calls("Tea.")
        ('Tea.', None)
    """
    answer = without_thoughts(text) or text
    if answer.lstrip().startswith(("{", "```json")):
        return None
    matches = islice(_CALL.finditer(answer), _MOST_MATCHES)
    call = next((match for match in matches if not _is_code(answer, match.start())), None)
    if call is None:
        return None
    ends = [match.end() for match in _END.finditer(answer, call.end())]
    return f"{answer[: call.start()]} {answer[ends[-1] :] if ends else ''}".strip()


def _is_code(text: str, index: int) -> bool:
    """Check whether a position in a text is inside a block of code or inline code."""
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return text.count("```", 0, index) % 2 == 1 or line.replace("```", "").count("`") % 2 == 1
