"""Read the answer in a whole reply: a JSON object, prose, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.text import well_formed
from roundtable.parsing.answers import ParseFailure, parse_answer
from roundtable.parsing.examples import without_examples
from roundtable.parsing.json_in_text import is_json_like
from roundtable.parsing.other_json import read_other_json
from roundtable.reading import Asked, read_answer, read_parts, without_thoughts

if TYPE_CHECKING:
    from roundtable.core.types.answers import Reading

__all__ = ["read_reply"]


def read_reply(text: str, asked: Asked) -> Reading:
    """Read the answer in a whole reply of a model, whether it kept to the JSON form or not.

    Debates, studies, imported transcripts and the command read replies with this function.

    Args:
        text: The whole reply.
        asked: What the question asks for.

    Example:
        >>> from roundtable.reading import Asked
        >>> read_reply('Here it is: {"position": "Porto is cheap.", "choice": "b"}', Asked("choice", ("A", "B"))).value
        'B'
        >>> read_reply("The answer is 56.", Asked("number")).value
        '56'
        >>> read_reply('{"result": {"number": "37"}}', Asked("number")).value
        '37'
    """
    text = without_examples(well_formed(text))
    parsed = parse_answer(text, "position", options=asked.options or None)
    if not isinstance(parsed, ParseFailure) and not parsed.prose:
        return read_parts(asked, parsed.parts)
    answer = without_thoughts(text)
    if is_json_like(answer):
        return read_other_json(answer, asked)
    return read_answer(text, asked)
