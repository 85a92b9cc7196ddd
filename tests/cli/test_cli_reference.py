"""The page on the command names every command, every option and every exit code there is."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
import typer.main
from cli.kit import ROOT

from roundtable.cli.app import app
from roundtable.cli.exit_codes import MEANING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs/reference/command.md").read_text("utf-8")
BUILT_IN = {"--help", "-h", "--install-completion", "--show-completion"}


def commands() -> Iterator[tuple[str, object]]:
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        yield from ((f"{name} {sub}", found) for sub, found in inner.items()) if inner else [(name, command)]


@pytest.mark.parametrize(("name", "command"), [pytest.param(*found, id=found[0]) for found in commands()])
def test_a_command_and_its_options_are_described(name: str, command: object) -> None:
    assert f"`{name}" in PAGE
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}  # type: ignore[attr-defined]
    assert {option for option in options - BUILT_IN if f"`{option}" not in PAGE} == set()


def test_exit_codes_are_described_in_the_same_words() -> None:
    assert [f"| {code.value} | {meaning} |" in PAGE for code, meaning in MEANING.items()] == [True] * len(MEANING)


def test_commands_on_other_pages_take_the_options_they_are_shown_with() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    known = {name: {o for one in found.params for o in one.opts} | BUILT_IN for name, found in commands()}  # type: ignore[attr-defined]
    shown = [
        (str(page.relative_to(ROOT)), shlex.split(line, comments=True))
        for page in pages
        for line in re.findall(r"^(?:\$ | {4}|ExecStart=\S+/)?roundtable (.+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    wrong = []
    for page, words in shown:
        name = next((found for found in (" ".join(words[:2]), words[0]) if found in known), "debate")
        wrong += [(page, name, word) for word in words if word.startswith("-") and word not in known[name]]
    assert len(shown) > 50
    assert wrong == []
