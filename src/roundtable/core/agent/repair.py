"""What to do about an answer that was not read for certain: look up what it points to, or ask once more."""

from __future__ import annotations

from dataclasses import replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from roundtable.core.prompts.compose import find_reference
from roundtable.core.prompts.fence import Fence
from roundtable.core.types.answers import Reading
from roundtable.core.types.debate import ASSUMED_CONFIDENCE
from roundtable.parsing import Parsed, ParseFailure, parse_prose, read_reply, with_reading
from roundtable.reading import OWN, Asked, as_stated, own_labels, without_thoughts
from roundtable.reading.form_texts import LINE_WANTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.prompts.compose import Quotation
    from roundtable.core.types.answers import AnswerKind
    from roundtable.core.types.chat import ChatResponse

__all__ = [
    "ONLY_REASONING",
    "WRITTEN_CALL",
    "closed_question",
    "cut_off",
    "failure_hint",
    "is_given_text",
    "options_asked",
    "points_to_first",
    "unread_failure",
    "unread_position",
    "unread_vote",
    "with_reference",
    "with_second_answer",
]

WRITTEN_CALL: Final = "it was a tool call written as text, which cannot run; answer without tools"
ONLY_REASONING: Final = "it had only reasoning, and no answer after it"
_HINTS: Final = {
    WRITTEN_CALL: "Turn on the server's parser for the tool calls of this model, or offer the agent no tools.",
    ONLY_REASONING: "The server put everything into the reasoning: turn off its reasoning parser or the model's "
    "thinking, or raise `max_tokens` of the agent.",
}
_CUT_OFF_HINT: Final = "The answer was cut off; raise `max_tokens` of the agent."
_MOST_OPTIONS: Final = len(ascii_uppercase)
_MOST_CHARS: Final = 200
"""Most characters of an option, as in the first question."""
_STATED: Final = frozenset({"boxed", "answer", "hashes", "choose", "abstention", "reference"})
"""Rules of statements that count although the text breaks off somewhere behind them."""


def failure_hint(failure: ParseFailure, response: ChatResponse) -> str | None:
    """Return what to change after an answer that could not be used; `None` for the default hint."""
    if response.finish_reason == "length":
        return _CUT_OFF_HINT
    return _HINTS.get(failure.reason)


def is_given_text(response: ChatResponse) -> bool:
    """Check whether a response holds any text besides thoughts: then something was answered, readable or not.

    What broke off at the limit of tokens is not an answer.
    """
    return response.finish_reason != "length" and bool(without_thoughts(response.text).strip())


def options_asked(options: Sequence[str] | None) -> Asked:
    """Return what a closed question asks for: the options with letters, if they have no labels of their own."""
    if not options:
        return Asked()
    has_labels = own_labels(options) or len(options) > _MOST_OPTIONS
    return Asked("choice", tuple(options), () if has_labels else tuple(ascii_uppercase[: len(options)]))


def closed_question(failure: ParseFailure, options: Sequence[str] | None, fence: Fence) -> str:
    """Return the question that asks once more for an answer that was not read for certain.

    Args:
        failure: What was wrong with the answer.
        options: Options to choose from.
        fence: Fence that quotes them.
    """
    if failure.asks == "line" or not options:
        return f"Your answer could not be read for certain: {Fence.inline(failure.reason)}. {LINE_WANTED}"
    asked = options_asked(options)
    names = [Fence.line(option, _MOST_CHARS) for option in options]
    if asked.labels:
        names = [f"{label}) {name}" for label, name in zip(asked.labels, names, strict=True)]
    labels = asked.labels or own_labels(options)
    sign = "letter" if all(map(str.isalpha, labels)) else "number" if all(map(str.isdecimal, labels)) else "label"
    wanted = f"Write only its {sign}" if labels else "Write it as it is spelt here"
    return (
        f"Your answer could not be read for certain: {Fence.inline(failure.reason)}. Which one do you choose?\n"
        + fence.quote("\n".join(names), label="options")
        + f'\n{wanted} and nothing else, or "ABSTAIN" if you cannot choose.'
    )


def unread_failure(reading: Reading | None, text: str, *, has_options: bool) -> ParseFailure | None:
    """Return why an answer must be asked for once more; `None` if it was read for certain."""
    if reading is None or reading.certainty == "certain":
        return None
    if reading.points_to is not None:
        reason = "it only points to an earlier answer, and it is not clear to which"
    elif reading.certainty == "likely" or reading.candidates:
        reason = "its parts name different answers"
    else:
        reason = "it names none of the options" if has_options else "it states no answer"
    return ParseFailure(reason, text, reading=reading, asks="option" if has_options else "line")


def unread_position(failure: ParseFailure) -> Parsed:
    """Return an answer that was given and could not be read, such as `...` or two JSON objects that differ."""
    text = failure.words or without_thoughts(failure.text)
    reading = failure.reading or Reading(certainty="unread", rule="none")
    warnings = (failure.reason, ASSUMED_CONFIDENCE)
    return Parsed(position=text, reading=reading, prose=True, repaired=True, warnings=warnings)


def unread_vote(failure: ParseFailure) -> Parsed:
    """Return a vote that was given and could not be read."""
    reading = failure.reading or Reading(certainty="unread", rule="none")
    return Parsed(reading=reading, prose=True, repaired=True, warnings=("the vote was given, but could not be read",))


def with_reference(
    parsed: Parsed | ParseFailure, quotations: Sequence[Quotation], prompt: str, options: Sequence[str] | None
) -> Parsed | ParseFailure:
    """Return the answer with what it points to, if it only points to an earlier answer that was shown to its author.

    If no earlier answer was shown, a text such as "No change" is an answer like any other.

    Args:
        parsed: The parsed answer.
        quotations: The earlier answers.
        prompt: The prompt; answers that were left out for length are not in it.
        options: Options to choose from.
    """
    reading = parsed.reading
    if reading is None or reading.points_to is None:
        return parsed
    base = parsed if not isinstance(parsed, ParseFailure) else parse_prose(parsed.text, options)
    if isinstance(base, ParseFailure):
        return parsed
    if not quotations and not options:
        stated = as_stated(reading, base.parts)
        line = base.parts.get("bottom_line") if stated.place == "bottom_line" else None
        return with_reading(replace(base, bottom_line=line), stated, options)
    found = find_reference(reading.points_to, quotations, prompt)
    if found is None or (found.response.reading is not None and found.response.reading.certainty != "certain"):
        return parsed
    earlier = found.response
    value = earlier.choice if options else earlier.bottom_line or earlier.position
    if value is None or any(stated.casefold() != value.casefold() for stated in reading.candidates):
        return parsed  # the answer also states something else
    resolved = reading.model_copy(
        update={"certainty": "certain", "rule": "reference", "value": value, "source": found.turn}
    )
    answer = with_reading(base, resolved, options)
    return replace(answer, stance=answer.stance or earlier.stance)


def with_second_answer(
    first: Parsed | ParseFailure, text: str, options: Sequence[str] | None, *, is_cut: bool = False
) -> Parsed | ParseFailure:
    """Return the first answer with what the answer to a closed question says.

    If the second answer is not read for certain either, the first one stays as it is: given, and unread.

    Args:
        first: The first answer.
        text: The answer to the closed question.
        options: Options to choose from.
        is_cut: Whether the answer to the closed question broke off.
    """
    base = first if not isinstance(first, ParseFailure) else parse_prose(first.text, options)
    if isinstance(base, ParseFailure):
        if first.reading is None or first.reading.place != "choice":
            return first
        # a vote in JSON that names none of the options
        base = Parsed(reading=base.reading or first.reading, prose=True, repaired=True)
    reading = read_reply(text, options_asked(options))
    if is_cut and reading.place == "reply" and not _outlives_a_cut(reading, text):
        reading = _unsure(reading)
    if reading.certainty != "certain":
        unread = base.reading if base.reading is not None and base.reading.certainty != "certain" else reading
        return replace(base, reading=unread.model_copy(update={"asked_again": True}))
    return with_reading(base, reading.model_copy(update={"asked_again": True, "span": None}), options)


def points_to_first(text: str, options: Sequence[str] | None) -> bool:
    """Check whether an answer only says that the first one stands, as *No change* does."""
    return read_reply(text, options_asked(options)).points_to == OWN


def cut_off(
    parsed: Parsed, text: str, options: Sequence[str] | None, kind: AnswerKind = "position"
) -> tuple[Parsed | ParseFailure, ParseFailure | None]:
    """Return an answer in prose that broke off; what a sentence suggests may not be how it would have ended.

    Args:
        parsed: The answer.
        text: The text that broke off.
        options: Options to choose from.
        kind: The requested kind of answer. A list of options may lack its end.
    """
    reading = parsed.reading
    is_certain = reading is not None and reading.certainty == "certain"
    if reading is None or not is_certain or not parsed.prose:
        return parsed, None
    if kind not in {"position", "ballot"}:
        failure = ParseFailure("it broke off", text, reading=Reading(certainty="unread", rule="none"))
        return failure, failure
    if _outlives_a_cut(reading, parsed.reasoning or parsed.position):
        return parsed, None
    likely = _unsure(reading)
    return with_reading(parsed, likely, options), unread_failure(likely, text, has_options=bool(options))


def _outlives_a_cut(reading: Reading, text: str) -> bool:
    """Check whether a statement counts although the text breaks off: something else follows it, or it has its own end.

    Args:
        reading: What was read.
        text: The text in which the answer was read.
    """
    if reading.rule not in _STATED or reading.span is None or reading.rule == "boxed":
        return reading.rule in _STATED
    rest = text[reading.span[1] :].strip(" \t\r*_`\"'")
    # "The answer is 4." may go on with decimals.
    return bool(rest) and not (rest == "." and text[reading.span[1] - 1].isdigit())


def _unsure(reading: Reading) -> Reading:
    """Return a reading that is likely at most."""
    if reading.certainty != "certain":
        return reading
    return reading.model_copy(update={"certainty": "likely", "candidates": (*reading.candidates, reading.value or "")})
