"""How an answer of each kind is asked for: in words, and as a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.prompts.fence import Fence
from roundtable.types import OutputSchema

if TYPE_CHECKING:
    from roundtable.types import AnswerKind, DebateContext, JsonObject, JsonValue, ModelProfile

__all__ = ["answer_format", "answer_schema"]

_POSITION_CHARS = (3, 160)
_REASONING_CHARS = (20, 320)


def _kind(context: DebateContext) -> AnswerKind:
    return context.turn.answer if context.turn else "position"


def _options(context: DebateContext) -> tuple[str, ...] | None:
    return (context.turn.options if context.turn else None) or context.options


def answer_format(context: DebateContext, profile: ModelProfile) -> str:
    """Say in words what the answer must look like."""
    kind, options = _kind(context), _options(context)
    if kind == "text":
        return "Answer in plain text."
    if profile.prompt_style == "compact":
        return "Give your position in one sentence and the reason for it." + _choose(options)
    scale = "an integer from 0 to 100" if profile.confidence_scale == 100 else "a number from 0 to 1"
    fields = {
        "position": [
            '"position": your answer to the question in one or two sentences',
            '"reasoning": your reasons, laid out as instructed',
            f'"confidence": {scale}, how sure you are of your position',
            '"stance": "YES", "NO" or "NEUTRAL" if the question can be answered by yes or no, else null',
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
    lines = ["Answer with one JSON object and nothing else:", *(f"- {field}" for field in fields)]
    return "\n".join(lines) + _choose(options)


def _choose(options: tuple[str, ...] | None) -> str:
    if not options:
        return ""
    return "\nThe options are: " + ", ".join(f'"{Fence.inline(option, 200)}"' for option in options) + "."


def answer_schema(context: DebateContext, profile: ModelProfile) -> OutputSchema | None:
    """Give the JSON Schema of the answer, for models that can be held to one; `None` for plain text."""
    kind, options = _kind(context), _options(context)
    if kind == "text":
        return None
    choice: JsonObject = {"type": "string", "enum": list(options)} if options else {"type": "string"}
    string: JsonObject = {"type": "string"}
    by_kind: dict[AnswerKind, dict[str, JsonValue]] = {
        "position": _position_properties(profile, choice if options else None),
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


def _position_properties(profile: ModelProfile, choice: JsonObject | None) -> dict[str, JsonValue]:
    compact = profile.prompt_style == "compact"
    confidence: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
    if profile.confidence_scale == 100:
        confidence = {"type": "integer", "minimum": 0, "maximum": 100}
    properties: dict[str, JsonValue] = {
        "position": _text(_POSITION_CHARS if compact else None),
        "reasoning": _text(_REASONING_CHARS if compact else None),
        "confidence": confidence,
    }
    if choice is not None:
        properties["choice"] = choice
    if not compact:
        properties["stance"] = {"anyOf": [{"type": "string", "enum": ["YES", "NO", "NEUTRAL"]}, {"type": "null"}]}
    return properties


def _text(limits: tuple[int, int] | None) -> JsonObject:
    if limits is None:
        return {"type": "string"}
    return {"type": "string", "minLength": limits[0], "maxLength": limits[1]}
