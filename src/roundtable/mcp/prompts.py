"""Prompts that a person picks from a menu of the client; their text goes to the person's assistant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roundtable.mcp.errors import InvalidArguments, NotFoundInSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PROMPTS", "Argument", "Prompt", "prompt_text"]

_MAX_ARGUMENT_CHARS: Final = 10_000

_FOLLOW: Final = (
    "Follow the debate until its status is completed; on needs_context find what the agents ask for and pass it on. "
    "Then tell me what they agree on, who dissents and why, and what is missing from the result."
)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a prompt."""

    name: str
    description: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its listing, and the function that fills in its text."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    text: Callable[[Mapping[str, str]], str]


def _debate(arguments: Mapping[str, str]) -> str:
    mode = arguments.get("mode", "").strip() or "the mode that fits best (roundtable://modes says which)"
    return (
        "Have this question debated with start_roundtable. First make it one question that can be answered in more "
        f"than one way, with what the agents have to know in it. Use {mode}.\n\n{arguments['topic']}\n\n{_FOLLOW}"
    )


def _red_team(arguments: Mapping[str, str]) -> str:
    return (
        'Have this plan attacked and defended with start_roundtable, mode "red-team-blue-team". Ask in the topic how '
        f"it fails and what would prevent that, and put the plan into it.\n\n{arguments['plan']}\n\n{_FOLLOW} "
        "List the weaknesses by how bad they are, each with the best defence against it."
    )


def _decide(arguments: Mapping[str, str]) -> str:
    return (
        "Have this decided with start_roundtable. Pass the options one by one in `options`.\n\n"
        f"Question: {arguments['question']}\nOptions: {arguments['options']}\n\n{_FOLLOW} "
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
"""The prompts, in the order of the listing."""


def prompt_text(name: str, arguments: Mapping[str, str]) -> tuple[Prompt, str]:
    """Return a prompt and its text.

    Raises:
        NotFoundInSession: No prompt has this name.
        InvalidArguments: An argument is missing, unknown or too long.
    """
    prompt = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if prompt is None:
        names = ", ".join(prompt.name for prompt in PROMPTS)
        raise NotFoundInSession(f"unknown prompt {name[:80]!r}", hint=f"Prompts: {names}.")
    known = {argument.name for argument in prompt.arguments}
    missing = [
        argument.name
        for argument in prompt.arguments
        if argument.required and not arguments.get(argument.name, "").strip()
    ]
    unknown = sorted(arguments.keys() - known)
    if missing or unknown:
        problems = [*(f"{field} is missing" for field in missing), *(f"{field} is unknown" for field in unknown)]
        raise InvalidArguments(f"prompt {name}: {', '.join(problems)}", hint=f"It takes: {', '.join(sorted(known))}.")
    if any(len(text) > _MAX_ARGUMENT_CHARS for text in arguments.values()):
        raise InvalidArguments(f"prompt {name}: an argument has at most {_MAX_ARGUMENT_CHARS:,} characters")
    return prompt, prompt.text(arguments)
