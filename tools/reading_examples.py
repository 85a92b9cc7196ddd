"""The rules by which answers are read, each with a reply; they make the table of the page *How answers are read*."""

from __future__ import annotations

from typing import Final, NamedTuple

from roundtable.reading import Asked

__all__ = ["EXAMPLES", "Example"]

CITIES: Final = Asked("choice", ("A) Lisbon", "B) Porto", "C) Faro"))
NUMBER: Final = Asked("number")
WORDS: Final = Asked()
FORMULA: Final = Asked("formula")


class Example(NamedTuple):
    """A rule, what it finds, and a reply in which it finds this."""

    rule: str
    finds: str
    asked: Asked
    reply: str


EXAMPLES: Final = (
    Example("option", "the whole reply is an option: its text or its label", CITIES, "**porto**."),
    Example("boxed", "the content of a box", NUMBER, r"So 17 \times 24 = \boxed{408}."),
    Example("answer", "what follows words such as *the answer is*", CITIES, "Lisbon is larger, but the answer is B."),
    Example("answer", "the same in other languages", CITIES, "里斯本更大。答案是B。"),
    Example("choose", "what follows words such as *I choose*", CITIES, "Faro is warm, but I'd go with Porto."),
    Example("hashes", "what follows the sign `####`", NUMBER, "Both need 4 rooms.\n#### 8"),
    Example("tag", "the content of the tag `answer`", CITIES, "Rents decide.\n<answer>Porto</answer>"),
    Example("opening", "the option with which the first line begins", CITIES, "Porto: it is cheaper, and near."),
    Example("closing", "the option that stands at the end", CITIES, "Rents decide.\n\n(B)"),
    Example("closing", "the number to which the end of the text leads", NUMBER, "For 3 rooms, the rent is 24 euros."),
    Example("conclusion", "the only option that a sentence affirms", CITIES, "Not Lisbon, but Porto."),
    Example("marked", "the only bold line at the start or end", WORDS, "Ice melts, rivers stay.\n\n**By the river.**"),
    Example(
        "mention",
        "in JSON, the only option that the choice names",
        CITIES,
        '{"position": "It is near.", "choice": "the northern city, Porto"}',
    ),
    Example("whole", "a short reply that is the answer as a whole", NUMBER, "About 1,250.50 km"),
    Example("whole", "the same in own words", WORDS, "By the river."),
    Example("fence", "the only block of code", FORMULA, "```\nx**2 + 1\n```"),
    Example("form", "a position in JSON, as it stands", WORDS, '{"position": "By the river. Rents are low there."}'),
    Example("form", "JSON that doesn't say which of its values answers", NUMBER, '{"rooms": 3, "price": 8}'),
    Example("abstention", "a refusal, or *I don't know*", CITIES, "I'm sorry, but I can't help with that."),
    Example("reference", "the reply only points to an earlier answer", CITIES, "I agree with Ada."),
    Example("several", "places that state different answers", CITIES, "The answer is A. No, the answer is B."),
    Example("none", "no place states an answer", CITIES, "A or B, I can't tell."),
    Example("thoughts", "thoughts without an end", CITIES, "<think>The answer is A"),
)
"""At least one example for each rule, in the order of the table."""
