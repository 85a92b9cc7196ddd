"""How an answer of each kind is asked for: in words, by an example, and as a JSON Schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.prompts.fence import Fence, neutralise
from roundtable.types import OutputSchema

if TYPE_CHECKING:
    from roundtable.types import AnswerKind, DebateContext, JsonObject, JsonValue, ModelProfile

__all__ = ["JSON_WANTED", "answer_example", "answer_format", "answer_schema"]

JSON_WANTED: Final = "Answer with one JSON object and nothing else:"
"""Begins the part of a full prompt that says how a model has to write its answer."""

_COMPACT_FORMAT = "Answer in one sentence, and give the reason."
_COMPACT_JSON = 'Answer in one sentence, and give the reason. Write JSON: "position", "reasoning", "confidence".'
# Letters of all scripts that put spaces between words; no signs, of which tiny models make a mess.
_LETTERS = "A-Za-z\u00c0-\u0dff"
_FIRST_WORD = f"[A-Z\u00c0-\u0dff][{_LETTERS}'\u2019-]{{0,18}},?"
_WORD = f" [{_LETTERS}0-9'\u2019%$\u20ac\u00a3-]{{1,18}}"
_STANCE_FREE = '"stance": "YES", "NO" or "NEUTRAL" if the question can be answered by yes or no, else null'
_STANCE_GIVEN = '"stance" (required): "YES", "NO" or "NEUTRAL", the side your answer takes'
_STANCES: list[JsonValue] = ["YES", "NO", "NEUTRAL"]
_EXAMPLE_QUESTION = "Should schools teach children to cook?"
_EXAMPLE_OPTIONS = ("Yes", "No")
_EXAMPLE = {
    "position": "Yes, every school should teach its pupils to cook simple meals.",
    "reasoning": "Children who can cook eat more vegetables and waste less money on fast food.",
}
_EXAMPLE_CONFIDENCE = 75


def _kind(context: DebateContext) -> AnswerKind:
    return context.turn.answer if context.turn else "position"


def _assigned(context: DebateContext) -> bool:
    return context.turn is not None and context.turn.stance is not None


def _options(context: DebateContext) -> tuple[str, ...] | None:
    return (context.turn.options if context.turn else None) or context.options


def _is_brief(context: DebateContext, profile: ModelProfile) -> bool:
    return profile.prompt_style == "compact" and _kind(context) == "position"


def answer_format(context: DebateContext, profile: ModelProfile, fence: Fence) -> str:
    """Say in words what the answer must look like."""
    kind, options = _kind(context), _options(context)
    if kind == "text":
        return "Answer in plain text."
    if _is_brief(context, profile):
        return _brief_format(options, profile)
    scale = "an integer from 0 to 100" if profile.confidence_scale == 100 else "a number from 0 to 1"
    fields = {
        "position": [
            '"position": your answer to the question in one or two sentences',
            '"reasoning": your reasons, laid out as instructed',
            f'"confidence": {scale}, how sure you are of your position',
            _STANCE_GIVEN if _assigned(context) else _STANCE_FREE,
        ],
        "ballot": ['"choice": the option you vote for, or null to abstain', '"reasoning": why'],
        "ranking": ['"ranking": a list of options, best first', '"reasoning": why'],
        "scores": ['"scores": an object that gives each option a number, higher is better', '"reasoning": why'],
        "plan": [
            '"goal": what to achieve, in a sentence',
            '"strategy": how',
            '"successCriteria": a list of signs that the goal is reached',
        ],
    }[kind]
    if options and kind == "position":
        fields.append('"choice": one of the options, spelt exactly as given')
    lines = [JSON_WANTED, *(f"- {field}" for field in fields)]
    if profile.prompt_style == "compact":
        return _list_compact(options) + "\n".join(lines)
    return "\n".join([*lines, *_list(options, fence)])


def _brief_format(options: tuple[str, ...] | None, profile: ModelProfile) -> str:
    return _list_compact(options) + (_COMPACT_FORMAT if profile.structured_output else _COMPACT_JSON)


def _list(options: tuple[str, ...] | None, fence: Fence) -> list[str]:
    if not options:
        return []
    lines = "\n".join(" ".join(neutralise(option).split()) for option in options)
    return ["The options, one a line:", fence.quote(lines, label="options")]


def _list_compact(options: tuple[str, ...] | None) -> str:
    if not options:
        return ""
    names = ['"' + Fence.line(option, 200).replace('"', "'") + '"' for option in options]
    return f"The options are: {', '.join(names)}.\n"


def answer_example(context: DebateContext, profile: ModelProfile) -> tuple[str, str] | None:
    """Give a question and its answer to show a tiny model the form; `None` for others, whom words suffice.

    The question lies far from any likely topic, since a tiny model repeats words of an example.
    """
    if not _is_brief(context, profile):
        return None
    chosen = bool(_options(context))
    options = _EXAMPLE_OPTIONS if chosen else None
    answer: JsonObject = {"stance": "YES"} if _assigned(context) else {}
    answer |= {"choice": "Yes"} if chosen else {}
    share = profile.confidence_scale * _EXAMPLE_CONFIDENCE / 100
    answer |= {**_EXAMPLE, "confidence": int(share) if profile.confidence_scale == 100 else share}
    return f'Question: "{_EXAMPLE_QUESTION}"\n{_brief_format(options, profile)}', json.dumps(answer)


def answer_schema(context: DebateContext, profile: ModelProfile) -> OutputSchema | None:
    """Give the JSON Schema of the answer, for models that can be held to one; `None` for plain text."""
    kind, options = _kind(context), _options(context)
    if kind == "text":
        return None
    choice: JsonObject = {"type": "string", "enum": list(options)} if options else {"type": "string"}
    string: JsonObject = {"type": "string"}
    by_kind: dict[AnswerKind, dict[str, JsonValue]] = {
        "position": _position_properties(context, profile, choice),
        "ballot": {"choice": {"anyOf": [choice, {"type": "null"}]}, "reasoning": string},
        "ranking": {"ranking": {"type": "array", "items": choice}, "reasoning": string},
        "scores": {"scores": _scores(options), "reasoning": string},
        "plan": {"goal": string, "strategy": string, "successCriteria": {"type": "array", "items": string}},
    }
    properties = by_kind[kind]
    definition: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return OutputSchema(name=f"{kind}_answer", definition=definition)


def _scores(options: tuple[str, ...] | None) -> JsonObject:
    if not options:
        return {"type": "object", "additionalProperties": {"type": "number"}}
    return {
        "type": "object",
        "properties": {option: {"type": "number"} for option in options},
        "required": list(options),
        "additionalProperties": False,
    }


def _position_properties(context: DebateContext, profile: ModelProfile, choice: JsonObject) -> dict[str, JsonValue]:
    confidence: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
    if profile.confidence_scale == 100:
        confidence = {"type": "integer", "minimum": 0, "maximum": 100}
    chosen: dict[str, JsonValue] = {"choice": choice} if "enum" in choice else {}
    if profile.prompt_style == "compact":
        position, reasoning = _sentence(context, 2, 24), _sentence(context, 5, 36)
        # What was chosen comes first, so that the sentence follows it.
        side: dict[str, JsonValue] = {"stance": {"type": "string", "enum": _STANCES}} if _assigned(context) else {}
        return {**side, **chosen, "position": position, "reasoning": reasoning, "confidence": confidence}
    string: JsonObject = {"type": "string"}
    sides: JsonObject = {"type": "string", "enum": _STANCES}
    stance: JsonObject = sides if _assigned(context) else {"anyOf": [sides, {"type": "null"}]}
    return {"position": string, "reasoning": string, "confidence": confidence, **chosen, "stance": stance}


def _sentence(context: DebateContext, fewest: int, most: int) -> JsonObject:
    """Hold a text to one sentence of whole words; a limit on its length alone would cut it within a word."""
    if max(context.topic) > "\u0dff":
        # Thai, Chinese, Japanese: sentences without spaces between words.
        return {"type": "string", "minLength": fewest, "maxLength": 4 * most}
    return {"type": "string", "pattern": f"^{_FIRST_WORD}({_WORD}[,;:]?){{{fewest - 1},{most - 1}}}{_WORD}[.!]$"}
