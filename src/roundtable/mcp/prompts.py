"""Prompts: what a person picks from a menu, turned into words for their assistant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roundtable.mcp.failures import InvalidArguments, NotThere

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PROMPTS", "Argument", "Prompt", "prompt_text"]

_MOST_CHARS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Argument:
    """What a prompt asks for."""

    name: str
    description: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    text: Callable[[Mapping[str, str]], str]


_FOLLOW: Final = (
    "Follow the debate until its status is completed; on needs_context find what the agents ask for and pass it on. "
    "Then tell me what they agree on, who dissents and why, and what is missing from the result."
)


def _debate(given: Mapping[str, str]) -> str:
    mode = given.get("mode", "").strip() or "the mode that fits best (roundtable://modes says which)"
    return (
        "Have this question debated with start_roundtable. First make it one question that can be answered in more "
        f"than one way, with what the agents have to know in it. Use {mode}.\n\n{given['topic']}\n\n{_FOLLOW}"
    )


def _red_team(given: Mapping[str, str]) -> str:
    return (
        'Have this plan attacked and defended with start_roundtable, mode "red-team-blue-team". Ask in the topic how '
        f"it fails and what would prevent that, and put the plan into it.\n\n{given['plan']}\n\n{_FOLLOW} "
        "List the weaknesses by how bad they are, each with the best defence against it."
    )


def _decide(given: Mapping[str, str]) -> str:
    return (
        "Have this decided with start_roundtable. Pass the options one by one in `options`.\n\n"
        f"Question: {given['question']}\nOptions: {given['options']}\n\n{_FOLLOW} "
        "Name the option that won, by how much, and what would change the decision."
    )


PROMPTS: Final[tuple[Prompt, ...]] = (
    Prompt(
        "debate_this",
        "Debate this",
        "Have several models debate a question.",
        (Argument("topic", "The question."), Argument("mode", "Debate mode.", required=False)),
        _debate,
    ),
    Prompt(
        "red_team_this",
        "Red-team this",
        "Have a plan attacked and defended.",
        (Argument("plan", "The plan, design or text."),),
        _red_team,
    ),
    Prompt(
        "decide_between",
        "Decide between",
        "Have several models choose between options.",
        (Argument("question", "What is to be decided."), Argument("options", "The options, with commas between.")),
        _decide,
    ),
)
"""The prompts, in the order in which they are listed."""


def prompt_text(name: str, given: Mapping[str, str]) -> tuple[Prompt, str]:
    """Give a prompt and its words.

    Raises:
        NotThere: There is no such prompt.
        InvalidArguments: An argument is missing, unknown or too long.
    """
    found = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if found is None:
        known = ", ".join(prompt.name for prompt in PROMPTS)
        raise NotThere(f"there is no prompt {name[:80]!r}", hint=f"Prompts: {known}.")
    takes = {argument.name for argument in found.arguments}
    missing = [one.name for one in found.arguments if one.required and not given.get(one.name, "").strip()]
    unknown = sorted(given.keys() - takes)
    if missing or unknown:
        told = ", ".join([*(f"{one} is missing" for one in missing), *(f"{one} is unknown" for one in unknown)])
        raise InvalidArguments(f"prompt {name}: {told}", hint=f"It takes: {', '.join(sorted(takes))}.")
    if any(len(text) > _MOST_CHARS for text in given.values()):
        raise InvalidArguments(f"prompt {name}: an argument has at most {_MOST_CHARS:,} characters")
    return found, found.text(given)
