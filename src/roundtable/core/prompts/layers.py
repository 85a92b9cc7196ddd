"""The four layers of a mode's instructions, read from text files with a version."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

__all__ = [
    "BUILTIN_PROMPTS",
    "Headings",
    "ModePrompt",
    "PromptLibrary",
    "RolePrompt",
    "load_mode_prompt",
    "render_layers",
]

_RULE = "-" * 40


@dataclass(frozen=True, slots=True)
class RolePrompt:
    """The instructions of one role, as data.

    The layers are, in order: who the agent is in this role, what it must and must not do, the outline of its
    reasoning, and what it checks before it answers. Texts for a turn that has no earlier answers yet (`first_*`) do not
    mention earlier speakers.
    """

    title: str
    """Title of the role."""
    brief: str
    """The role in one sentence, for models with compact prompts."""
    brief_not: str
    """The most important thing that the role must not do, for models with compact prompts."""
    mission: str
    """What the role is for."""
    persistence: str
    """Why the agent keeps its role under pressure from others."""
    must: tuple[str, ...]
    """What an agent must always do."""
    must_not: tuple[str, ...]
    """What an agent must not do."""
    failure: str
    """Description of an answer that fails its role."""
    first_sections: tuple[str, ...]
    """Outline of the reasoning as long as there are no earlier answers."""
    later_sections: tuple[str, ...]
    """Outline of the reasoning when there are earlier answers."""
    checks: tuple[str, ...]
    """Questions that the agent checks before it answers."""
    focus: str
    """What to do with a focus question."""
    first_must: tuple[str, ...] = ()
    """What an agent must do in addition as long as there are no earlier answers."""
    later_must: tuple[str, ...] = ()
    """What an agent must do in addition when there are earlier answers."""
    later_checks: tuple[str, ...] = ()
    """Further questions to check when there are earlier answers."""
    priorities: tuple[str, ...] = ()
    """Priorities, most important first."""
    later_brief: str = ""
    """Text that replaces `brief` when there are earlier answers; empty if `brief` stays."""

    def compact(self, *, opening: bool) -> str:
        """Return the compact form: the role in one sentence, and the most important thing not to do."""
        brief = self.brief if opening else self.later_brief or self.brief
        return f"{brief} {self.brief_not}"


@dataclass(frozen=True, slots=True)
class Headings:
    """The headings between a role's texts."""

    role: str = "ROLE"
    contract: str = "CONTRACT"
    must: str = "You must:"
    must_not: str = "You must not:"
    priorities: str = "Priorities"
    structure: str = "STRUCTURE of your reasoning, in this order:"
    checks: str = "BEFORE YOU ANSWER, check and revise until each holds:"
    focus: str = "FOCUS"


@dataclass(frozen=True, slots=True)
class ModePrompt:
    """A mode's instructions: one text per role."""

    name: str
    """Mode."""
    version: int
    """Version of the texts; it increases with every change of wording."""
    roles: dict[str, RolePrompt]
    """Texts by role."""
    language: str = "en"
    """Language of the texts."""
    headings: Headings = Headings()
    """Headings between the texts."""

    def role(self, name: str) -> RolePrompt:
        """Return the texts of a role.

        Raises:
            ConfigurationError: The mode has no such role.
        """
        if name not in self.roles:
            msg = f"the texts of mode {self.name!r} have no role {name!r}; they have {', '.join(self.roles)}"
            raise ConfigurationError(msg)
        return self.roles[name]

    def prompt_id(self, role: str, *, opening: bool) -> str:
        """Return the id of one form of the instructions, with its version; it is recorded with each turn."""
        return f"{self.name}/{role}/{'first' if opening else 'later'}@{self.version}-{self.language}"


class PromptLibrary:
    """Instructions of modes, read from text files: the built-in files, or your own files that override them.

    Args:
        folder: Folder with `<mode>.toml` files in the form of the built-in files, for example in another language. A
            mode that has no file in this folder keeps the built-in texts. `None` uses only the built-in texts.

    Example:
        >>> PromptLibrary().load("delphi").role("participant").title
        'Panel participant'
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._loaded: dict[str, ModePrompt] = {}
        self._json: dict[str, str] = {}

    @cached_property
    def _shipped(self) -> Traversable:
        return files("roundtable.modes").joinpath("texts")

    def _files(self, mode: str) -> Iterator[Traversable]:
        """Yield the files that may hold the texts of a mode; none for a name that would lead out of the folders.

        The built-in files, which are beside the built-in modes, are looked for last.
        """
        name = PureWindowsPath(f"{mode}.toml")  # parses the separators and drives of all systems
        if name.anchor or ".." in name.parts or "\0" in mode:
            return
        if self.folder is not None:
            yield self.folder.joinpath(f"{mode}.toml")
        yield self._shipped.joinpath(f"{mode}.toml")

    def has(self, mode: str) -> bool:
        """Check whether there are texts for a mode."""
        return mode in self._loaded or any(path.is_file() for path in self._files(mode))

    def load(self, mode: str) -> ModePrompt:
        """Return the instructions of a mode.

        Raises:
            ConfigurationError: The mode has no file, or the file lacks a text.
        """
        if mode not in self._loaded:
            self._loaded[mode] = self._load(mode)
        return self._loaded[mode]

    def to_json(self, mode: str) -> str:
        """Return the instructions of a mode as JSON, in a form that is equal for equal texts.

        Raises:
            ConfigurationError: The mode has no file, or the file lacks a text.
        """
        if mode not in self._json:
            self._json[mode] = json.dumps(asdict(self.load(mode)), ensure_ascii=False, sort_keys=True)
        return self._json[mode]

    def _load(self, mode: str) -> ModePrompt:
        for path in self._files(mode):
            if path.is_file():
                try:
                    return _parse(tomllib.loads(path.read_text("utf-8")))
                except (ValueError, ValidationError) as error:
                    msg = f"the texts of mode {mode!r} cannot be read from {path}: {error}"
                    raise ConfigurationError(msg, cause=error) from error
        msg = f"mode {mode!r} has no file with instructions"
        hint = f"Create the file {f'{mode}.toml'!r} in the folder of PromptLibrary, or set `task` of each TurnSpec."
        raise ConfigurationError(msg, hint=hint)


def _parse(raw: dict[str, object]) -> ModePrompt:
    """Parse a file; the texts in `[all]` apply to every role that does not have its own."""
    roles, shared = raw.get("roles"), raw.pop("all", {})
    if isinstance(roles, dict) and isinstance(shared, dict):
        raw["roles"] = {name: {**shared, **own} for name, own in roles.items()}
    return TypeAdapter(ModePrompt).validate_python(_with_tuples(raw))


def _with_tuples(value: object) -> object:
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


BUILTIN_PROMPTS: Final = PromptLibrary()
"""The built-in texts."""


def load_mode_prompt(name: str) -> ModePrompt:
    """Load the instructions of a built-in mode.

    Raises:
        ConfigurationError: There is no built-in mode of this name.
    """
    return BUILTIN_PROMPTS.load(name)


def _bullets(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([title, *(f"- {item}" for item in items)])


def render_layers(prompt: RolePrompt, *, opening: bool, focused: bool = False, headings: Headings | None = None) -> str:
    """Write a role's instructions.

    Args:
        prompt: The role's texts.
        opening: Whether no earlier answer is visible, so that there is nobody to respond to.
        focused: Whether the round has a focus question.
        headings: Headings between the texts; if left out, English headings.

    Example:
        >>> render_layers(load_mode_prompt("collaborative").role("participant"), opening=True).splitlines()[0]
        'ROLE: Consensus builder'
    """
    headings = headings or Headings()
    must = prompt.must + (prompt.first_must if opening else prompt.later_must)
    contract = [headings.contract, _bullets(headings.must, must), _bullets(headings.must_not, prompt.must_not)]
    if prompt.priorities:
        contract.append(f"{headings.priorities}: {'; '.join(prompt.priorities)}.")
    checks = prompt.checks if opening else prompt.checks + prompt.later_checks
    layers = [
        f"{headings.role}: {prompt.title}\n{prompt.mission}\n{prompt.persistence}",
        "\n".join([*contract, prompt.failure]),
        _bullets(headings.structure, prompt.first_sections if opening else prompt.later_sections),
        _bullets(headings.checks, checks),
    ]
    if focused:
        layers.append(f"{headings.focus}\n{prompt.focus}")
    return f"\n{_RULE}\n".join(layers)
