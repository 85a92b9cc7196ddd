"""The four layers of a mode's instructions, read from text files with a version."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

__all__ = ["ModePrompt", "load_mode_prompt", "render_layers"]

_RULE = "-" * 40


@dataclass(frozen=True, slots=True)
class ModePrompt:
    """A mode's instructions as data.

    The layers are, in order: who the agent is in this mode, what it must and must not do, how its
    reasoning is laid out, and what it checks before it answers.
    """

    name: str
    """Mode."""
    version: int
    """Grows with every change of wording."""
    brief: str
    """The mode in a sentence, for models that are prompted compactly."""
    title: str
    """Role of every agent in this mode."""
    mission: str
    """What the role is for."""
    persistence: str
    """Why the role is kept when others push."""
    must: tuple[str, ...]
    """What an agent has to do."""
    must_not: tuple[str, ...]
    """What an agent must not do."""
    priorities: tuple[str, ...]
    """What wins over what, most important first."""
    failure: str
    """When an answer has failed its role."""
    first_sections: tuple[str, ...]
    """Outline of the reasoning while nothing has been said."""
    later_sections: tuple[str, ...]
    """Outline of the reasoning once there is something to answer."""
    checks: tuple[str, ...]
    """Questions to ask oneself before answering."""
    focus: str
    """What to do with a focus question."""


@cache
def load_mode_prompt(name: str) -> ModePrompt:
    """Read the instructions of a built-in mode.

    Raises:
        FileNotFoundError: No mode of this name ships with the library.
    """
    text = files("roundtable.prompts").joinpath("texts", f"{name}.toml").read_text("utf-8")
    raw: dict[str, object] = tomllib.loads(text)
    frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return TypeAdapter(ModePrompt).validate_python(frozen)


def _bullets(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([title, *(f"- {item}" for item in items)])


def render_layers(prompt: ModePrompt, *, opening: bool, focused: bool = False) -> str:
    """Write a mode's instructions.

    Args:
        prompt: The mode's texts.
        opening: Whether nothing is visible yet, so that there is nobody to answer.
        focused: Whether the round has a focus question.

    Example:
        >>> render_layers(load_mode_prompt("collaborative"), opening=True).splitlines()[0]
        'ROLE: Consensus builder'
    """
    sections = prompt.first_sections if opening else prompt.later_sections
    layers = [
        f"ROLE: {prompt.title}\n{prompt.mission}\n{prompt.persistence}",
        "\n".join(
            [
                "CONTRACT",
                _bullets("You must:", prompt.must),
                _bullets("You must not:", prompt.must_not),
                "Priorities: " + "; ".join(prompt.priorities) + ".",
                prompt.failure,
            ]
        ),
        _bullets("STRUCTURE of your reasoning, in this order:", sections),
        _bullets("BEFORE YOU ANSWER, check and revise until each holds:", prompt.checks),
    ]
    if focused:
        layers.append(f"FOCUS\n{prompt.focus}")
    return f"\n{_RULE}\n".join(layers)
