"""The requested form of each kind of answer: in words, by an example, and as a JSON Schema."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from roundtable.core.prompts.claims import (
    COMPACT_CLAIMS,
    asks_claims,
    claims_field,
    claims_schema,
    compact_claims_schema,
)
from roundtable.core.prompts.fence import Fence, neutralise
from roundtable.core.types.chat import OutputSchema
from roundtable.core.types.plan import BASELINE_STAGE
from roundtable.reading.form_texts import (
    COMPACT_FORMAT,
    COMPACT_LINE,
    MOTION_FIELDS,
    OPTION_FIELDS,
    PLAN_FIELDS,
    POSITION_FIELDS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.answers import AnswerKind
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.debate import DebateContext
    from roundtable.core.types.plan import TurnSpec

__all__ = ["JSON_WANTED", "answer_example", "answer_format", "answer_schema", "value_schema_of"]

JSON_WANTED: Final = "Answer with one JSON object and nothing else:"
"""First line of the part of a full prompt that tells a model how to write its answer."""

_COMPACT_JSON = f'{COMPACT_FORMAT} Write JSON: "position", "reasoning", "confidence".'
# The letters of all scripts with spaces between words. Other signs are excluded, because tiny models misuse them.
_LETTERS = "A-Za-z\u00c0-\u0dff"
_FIRST_WORD = f"[A-Z\u00c0-\u0dff][{_LETTERS}'\u2019-]{{0,18}},?"
_WORD_START = f"[{_LETTERS}0-9'\u2019$\u20ac\u00a3]"
_WORD_REST = f"[{_LETTERS}0-9'\u2019%$\u20ac\u00a3-]"
_WORD = f" {_WORD_START}{_WORD_REST}{{0,17}}"
_LAST_WORD = f" ({_WORD_START}{_WORD_REST}{{0,16}})?[{_LETTERS}0-9%]"
_TOKEN = f"(-?[0-9]{{1,9}}([.,:/][0-9]{{1,9}}){{0,3}}[%]?|{_WORD_START}{_WORD_REST}{{0,17}}[+*#]{{0,2}})"
_STANCE_FREE = '"stance": "YES", "NO" or "NEUTRAL" if the question can be answered by yes or no, else null'
_STANCE_GIVEN = '"stance" (required): "YES", "NO" or "NEUTRAL", the side your answer takes'
_STANCES: list[JsonValue] = ["YES", "NO", "NEUTRAL"]
_BOTTOM_LINE = f'"bottom_line": {POSITION_FIELDS["bottom_line"]}'
_COMPARED = (
    '"compared": an object with "same" or "different" for each speaker above ("you" for yourself): is yours now '
    "the same as their last? Other words are the same; another name, number, side or condition is different. Omit what "
    "you cannot tell"
)
_COMPACT_JSON_OPEN = (
    f'{COMPACT_FORMAT} Write JSON: "bottom_line" ({COMPACT_LINE}), "position", "reasoning", "confidence".'
)
_YES_OR_NO_WORDS = frozenset(
    {
        *("am", "are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "may"),
        *("might", "must", "shall", "should", "was", "were", "will", "would"),
    }
)
_VOTE_MEMBERS: Final[Mapping[AnswerKind, str]] = {
    "ballot": "choice",
    "ranking": "ranking",
    "approval": "approved",
    "scores": "scores",
}
_SAME = (
    '"same": the groups of motions that say the same thing in other words, as lists of their letters; [] if all differ'
)
_OPEN_WORDS = frozenset(
    {"or", "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "name", "list", "tell", "explain"}
)
_EXAMPLE_QUESTION = "Should schools teach children to cook?"
_OPEN_EXAMPLE_QUESTION = "What should schools teach children?"
_OPEN_EXAMPLE = {
    "bottom_line": "Cooking",
    "position": "Every school should teach its pupils to cook simple meals.",
    "reasoning": "Children who can cook eat more vegetables and waste less money on fast food.",
}
_EXAMPLE_OPTIONS = ("Yes", "No")
_EXAMPLE = {
    "position": "Yes, every school should teach its pupils to cook simple meals.",
    "reasoning": "Children who can cook eat more vegetables and waste less money on fast food.",
}
_EXAMPLE_CONFIDENCE = 75
_EXAMPLE_CLAIMS: Final = ("Children who can cook eat more vegetables.", "Meals at home cost less than fast food.")


def _answer_kind(context: DebateContext) -> AnswerKind:
    return context.turn.answer if context.turn else "position"


def _has_assigned_stance(context: DebateContext) -> bool:
    return context.turn is not None and context.turn.stance is not None


def _options(context: DebateContext) -> tuple[str, ...] | None:
    return (context.turn.options if context.turn else None) or context.options


def _is_lettered(context: DebateContext) -> bool:
    """Check whether a turn votes on motions that the prompt shows under letters."""
    return context.turn is not None and bool(context.turn.motions) and not context.options


def value_schema_of(context: DebateContext, profile: ModelProfile) -> JsonObject | None:
    """Return the schema of the value that a turn requests; `None` if it requests no value.

    Every turn that requests a position also requests the value, except private answers before a debate. People and tiny
    models are not asked for a value; a tiny model would have to write more than it can.
    """
    if not profile.gives_values or profile.prompt_style == "compact" or context.stage == BASELINE_STAGE:
        return None
    return context.answer_schema if _answer_kind(context) == "position" and context.team is None else None


def _is_brief(context: DebateContext, profile: ModelProfile) -> bool:
    return profile.prompt_style == "compact" and _answer_kind(context) == "position"


def _asks_bottom_line(context: DebateContext) -> bool:
    """Check whether answers will be compared by meaning: on open questions, unless the agent argues a given side."""
    is_open = not _options(context) and not _has_assigned_stance(context) and context.team is None
    return is_open and _answer_kind(context) == "position"


def _is_yes_or_no(context: DebateContext) -> bool:
    """Check whether the question is certainly a yes-or-no question, judging by its English words."""
    question = context.topic.strip().casefold()
    words = re.findall(r"[\w']+", question)
    is_one_sentence = question.endswith("?") and not re.search(r"[.?!:;/]", question[:-1])
    if len(words) < 3 or not is_one_sentence or words[0] not in _YES_OR_NO_WORDS or words[1] in {"you", "me"}:
        return False
    return not _OPEN_WORDS & set(words)


def answer_format(
    context: DebateContext,
    profile: ModelProfile,
    fence: Fence,
    *,
    compared: Mapping[str, str] | None = None,
    claims: Collection[str] = (),
) -> str:
    """Write the required form of the answer in words.

    Args:
        context: The view of the turn.
        profile: Limits and style of the model.
        fence: Fence of this request.
        compared: Speakers of the earlier answers to compare with; the keys are the names to use in the answer.
        claims: Labels of the earlier claims in the prompt.
    """
    kind, options = _answer_kind(context), _options(context)
    if kind == "text":
        return "Answer in plain text."
    if _is_brief(context, profile):
        return _brief_format(context, options, profile)
    scale = "an integer from 0 to 100" if profile.confidence_scale == 100 else "a number from 0 to 1"
    if kind == "position":
        fields = [
            *(f'"{name}": {POSITION_FIELDS[name]}' for name in ("position", "reasoning")),
            *_meaning_fields(context, compared or {}),
            f'"confidence": {scale}, how sure you are of your position',
            _STANCE_GIVEN if _has_assigned_stance(context) else _STANCE_FREE,
        ]
    elif kind == "plan":
        fields = [f'"{name}": {text}' for name, text in PLAN_FIELDS.items()]
    else:
        fields = _vote_fields(_VOTE_MEMBERS[kind], context, profile)
    if _is_lettered(context):
        options = None  # the prompt shows the letters next to the motions
    if options and kind == "position":
        fields.append(f'"choice": {POSITION_FIELDS["choice"]}')
    if asks_claims(context):
        fields.append(claims_field(claims))
    wanted = value_schema_of(context, profile)
    if wanted is not None:
        fields.append(f'"value": {POSITION_FIELDS["value"]}')
    lines = [JSON_WANTED, *(f"- {field}" for field in fields)]
    if profile.prompt_style == "compact":
        return _options_compact(options) + "\n".join(lines)
    return "\n".join([*lines, *_option_lines(options, fence), *_value_lines(wanted, fence)])


def _vote_fields(member: str, context: DebateContext, profile: ModelProfile) -> list[str]:
    """Return the fields of a vote, on motions under letters or on options."""
    if _is_lettered(context):
        return [*_group_fields(profile), f'"{member}": {MOTION_FIELDS[member]}', '"reasoning": why, in a sentence']
    return [f'"{member}": {OPTION_FIELDS[member]}', '"reasoning": why']


def _group_fields(profile: ModelProfile) -> list[str]:
    """Return the field for groups of motions that say the same; a tiny model is not asked for it."""
    return [] if profile.prompt_style == "compact" else [_SAME]


def _meaning_fields(context: DebateContext, compared: Mapping[str, str]) -> list[str]:
    if not _asks_bottom_line(context):
        return []
    if not compared:
        return [_BOTTOM_LINE]
    keys = ", ".join(f"{key} for {speaker}" for key, speaker in compared.items() if key not in {speaker, "you"})
    return [_BOTTOM_LINE, f"{_COMPARED}. Write {keys}" if keys else _COMPARED]


def _brief_format(context: DebateContext, options: tuple[str, ...] | None, profile: ModelProfile) -> str:
    json_format = _COMPACT_JSON_OPEN if _asks_bottom_line(context) else _COMPACT_JSON
    claims = f" {COMPACT_CLAIMS}" if asks_claims(context) else ""
    return _options_compact(options) + (COMPACT_FORMAT if profile.structured_output else json_format) + claims


def _option_lines(options: tuple[str, ...] | None, fence: Fence) -> list[str]:
    if not options:
        return []
    lines = "\n".join(" ".join(neutralise(option).split()) for option in options)
    return ["The options, one a line:", fence.quote(lines, label="options")]


def _value_lines(schema: JsonObject | None, fence: Fence) -> list[str]:
    if schema is None:
        return []
    text = neutralise(json.dumps(schema, ensure_ascii=False))
    return ['The JSON Schema of "value":', fence.quote(text, label="schema")]


def _options_compact(options: tuple[str, ...] | None) -> str:
    if not options:
        return ""
    names = ['"' + Fence.line(option, 200).replace('"', "'") + '"' for option in options]
    return f"The options are: {', '.join(names)}.\n"


def answer_example(context: DebateContext, profile: ModelProfile) -> tuple[str, str] | None:
    """Return an example of a question and an answer that shows a tiny model the form; `None` for other models.

    The example is far from any likely topic, because a tiny model repeats words of the example.
    """
    if not _is_brief(context, profile):
        return None
    options = _EXAMPLE_OPTIONS if _options(context) else None
    question: str = _EXAMPLE_QUESTION
    answer: JsonObject = {**_EXAMPLE}
    if options:
        answer = {"choice": "Yes", **answer}
    elif _asks_bottom_line(context):
        is_yes_or_no = _is_yes_or_no(context)
        question = _EXAMPLE_QUESTION if is_yes_or_no else _OPEN_EXAMPLE_QUESTION
        answer = {"bottom_line": "Yes", **answer} if is_yes_or_no else dict(_OPEN_EXAMPLE)
    if _has_assigned_stance(context):
        answer = {"stance": "YES", **answer}
    confidence = profile.confidence_scale * _EXAMPLE_CONFIDENCE / 100
    answer["confidence"] = int(confidence) if profile.confidence_scale == 100 else confidence
    if asks_claims(context):
        answer["claims"] = [*_EXAMPLE_CLAIMS]
    return f'Question: "{question}"\n{_brief_format(context, options, profile)}', json.dumps(answer)


def answer_schema(
    context: DebateContext, profile: ModelProfile, compared: Collection[str] = (), claims: Collection[str] = ()
) -> OutputSchema | None:
    """Return the JSON Schema of the answer, for models with structured output; `None` for plain text.

    Args:
        context: The view of the turn.
        profile: Limits and style of the model.
        compared: Names of the earlier answers that the prompt asks the model to compare.
        claims: Labels of the earlier claims in the prompt.
    """
    kind, options = _answer_kind(context), _options(context)
    if kind == "text":
        return None
    choice: JsonObject = {"type": "string", "enum": list(options)} if options else {"type": "string"}
    string: JsonObject = {"type": "string"}
    ranking: JsonObject = {"type": "array", "items": choice}
    if profile.prompt_style == "compact":
        ranking["minItems"] = 1  # tiny models sometimes answer with an empty list
    by_kind: dict[AnswerKind, dict[str, JsonValue]] = {
        "position": _position_properties(context, profile, choice, compared),
        "ballot": {"choice": {"anyOf": [choice, {"type": "null"}]}, "reasoning": string},
        "ranking": {"ranking": ranking, "reasoning": string},
        "approval": {
            "approved": {"anyOf": [{"type": "array", "items": choice}, {"type": "null"}]},
            "reasoning": string,
        },
        "scores": {"scores": _scores_schema(options, context.turn), "reasoning": string},
        "plan": {"goal": string, "strategy": string, "successCriteria": {"type": "array", "items": string}},
    }
    properties: dict[str, JsonValue] = by_kind[kind]
    if asks_claims(context):
        sentence = _sentence_schema(context, 2, 16)
        is_compact = profile.prompt_style == "compact"
        properties = {**properties, "claims": compact_claims_schema(sentence) if is_compact else claims_schema(claims)}
    if _is_lettered(context) and _group_fields(profile):
        group: JsonObject = {"type": "array", "items": choice}
        properties = {"same": {"type": "array", "items": group}, **properties}
    definition = _object_schema(properties)
    if (wanted := value_schema_of(context, profile)) is not None:
        own = {keyword: part for keyword, part in wanted.items() if keyword != "$defs"}
        definition = _object_schema({**properties, "value": own})
        if "$defs" in wanted:  # references begin at the root of the whole schema
            definition["$defs"] = wanted["$defs"]
    if _is_brief(context, profile) and _asks_bottom_line(context) and _is_yes_or_no(context):
        # Text and bottom line cannot contradict each other.
        sides: JsonValue = [
            _object_schema(
                {
                    **properties,
                    "bottom_line": {"const": side},
                    "position": _sentence_schema(context, 2, 24, opening=side),
                }
            )
            for side in ("Yes", "No")
        ]
        definition = {}
        definition["anyOf"] = sides
    return OutputSchema(name=f"{kind}_answer", definition=definition)


def _object_schema(properties: dict[str, JsonValue]) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _scores_schema(options: tuple[str, ...] | None, turn: TurnSpec | None) -> JsonObject:
    low, high = turn.scale if turn else (None, None)
    number: JsonObject = {"type": "number"}
    number |= {"minimum": low} if low is not None else {}
    number |= {"maximum": high} if high is not None else {}
    if not options:
        return {"type": "object", "additionalProperties": number}
    return {
        "type": "object",
        "properties": dict.fromkeys(options, number),
        "required": list(options),
        "additionalProperties": False,
    }


def _position_properties(
    context: DebateContext, profile: ModelProfile, choice: JsonObject, compared: Collection[str]
) -> dict[str, JsonValue]:
    confidence: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
    if profile.confidence_scale == 100:
        confidence = {"type": "integer", "minimum": 0, "maximum": 100}
    chosen: dict[str, JsonValue] = {"choice": choice} if "enum" in choice else {}
    if profile.prompt_style == "compact":
        position, reasoning = _sentence_schema(context, 2, 24), _sentence_schema(context, 5, 36)
        # The choice comes first, so that the sentence follows it.
        side: dict[str, JsonValue] = (
            {"stance": {"type": "string", "enum": _STANCES}} if _has_assigned_stance(context) else {}
        )
        # The bottom line comes first for the same reason.
        first: dict[str, JsonValue] = {"bottom_line": _line_schema(context)} if _asks_bottom_line(context) else {}
        return {**side, **chosen, **first, "position": position, "reasoning": reasoning, "confidence": confidence}
    string: JsonObject = {"type": "string"}
    sides: JsonObject = {"type": "string", "enum": _STANCES}
    stance: JsonObject = sides if _has_assigned_stance(context) else {"anyOf": [sides, {"type": "null"}]}
    meaning: dict[str, JsonValue] = {}
    if _asks_bottom_line(context):
        meaning["bottom_line"] = string
        if compared:
            meaning["compared"] = _verdicts_schema(compared)
    return {"position": string, "reasoning": string, **meaning, "confidence": confidence, **chosen, "stance": stance}


def _verdicts_schema(labels: Collection[str]) -> JsonObject:
    """Return the schema of verdicts by label; each verdict may be null, because strict schemas need every property."""
    verdict: JsonObject = {"anyOf": [{"type": "string", "enum": ["same", "different"]}, {"type": "null"}]}
    return {
        "type": "object",
        "properties": dict.fromkeys(labels, verdict),
        "required": list(labels),
        "additionalProperties": False,
    }


def _sentence_schema(context: DebateContext, fewest: int, most: int, *, opening: str = "") -> JsonObject:
    """Return the schema of one sentence of whole words; a mere limit on its length would cut it within a word."""
    if _is_other_script(context.topic):
        return {"type": "string", "minLength": fewest, "maxLength": 4 * most}
    first = f"{opening}," if opening else _FIRST_WORD
    return {"type": "string", "pattern": f"^{first}({_WORD}[,;:]?){{{fewest - 1},{most - 1}}}{_LAST_WORD}[.!]$"}


def _line_schema(context: DebateContext) -> JsonObject:
    """Return the schema of a bottom line: one to five words or numbers."""
    if _is_other_script(context.topic):
        return {"type": "string", "minLength": 1, "maxLength": 30}
    return {"type": "string", "pattern": f"^{_TOKEN}( {_TOKEN}){{0,4}}$"}


def _is_other_script(topic: str) -> bool:
    """Check for scripts that the patterns do not cover, because they have no spaces: Thai, Chinese, Japanese, ..."""
    return any(letter > "\u0dff" and letter.isalpha() for letter in topic)
