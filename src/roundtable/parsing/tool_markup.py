"""Find tool calls that a model wrote as text, because its server does not parse the call format of the model."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.base.strict_json import is_too_deep
from roundtable.parsing.forms import holds_form
from roundtable.reading import without_thoughts

if TYPE_CHECKING:
    from roundtable.core.types.answers import AnswerKind
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["FormInCall", "form_in_call", "text_beside_tool_calls"]

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
_TAG: Final = re.compile(
    r"</?(?:[\w-]{1,20}[:_])?(?:(?i:tool_?calls?)|function_calls?)>|<\|/?tool_call\|>|\[TOOL_CALLS?\]"
)
_MOST_CHARS: Final = 100_000
_END: Final = re.compile(rf"</[\w:_-]{{1,40}}>|<{_BAR}[\w\u2581 ]{{1,40}}end{_BAR}>|<\|call\|>")


class FormInCall(NamedTuple):
    """The answer's own form, as the arguments of a call that was written as text."""

    name: str
    """Name of the function that is called; empty if none is named."""
    fields: JsonObject
    """The members of the form."""


def form_in_call(text: str, kind: AnswerKind) -> FormInCall | None:
    """Return the form that is all there is in the markup of a tool call; `None` if it is anything else.

    Whether the agent has a tool of this name is for the caller to check.

    Args:
        text: The text of the answer.
        kind: The requested kind of answer.

    Example:
        >>> form_in_call('<tool_call>{"name": "final", "arguments": {"position": "Tea"}}</tool_call>', "position")
        FormInCall(name='final', fields={'position': 'Tea'})
        >>> form_in_call('<tool_call>{"name": "look", "arguments": {"for": "Tea"}}</tool_call>', "position") is None
        True
    """
    answer = (without_thoughts(text) or text).strip()
    if len(answer) > _MOST_CHARS or _TAG.match(answer) is None:
        return None
    begin, end = re.search(r"[{\[](?!TOOL_CALL)", answer), max(answer.rfind("}"), answer.rfind("]"))
    if begin is None or _TAG.sub("", answer[: begin.start()] + answer[end + 1 :]).strip():
        return None
    call = _loaded(answer[begin.start() : end + 1])
    if not isinstance(call, dict):
        return None
    name = call.get("name")
    arguments = next((call[member] for member in ("arguments", "parameters") if member in call), None)
    fields = _loaded(arguments) if isinstance(arguments, str) else call if name is None else arguments
    if not isinstance(fields, dict) or not isinstance(name, str | None) or not holds_form(fields, kind):
        return None
    return FormInCall(name or "", fields)


def _loaded(text: str) -> JsonValue:
    """Return the JSON of a text, also in a list of one; `None` if it is not valid."""
    try:
        value: JsonValue = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return None if is_too_deep(value) else value


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
