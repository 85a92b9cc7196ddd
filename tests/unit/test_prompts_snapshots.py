"""Prompt text is public behaviour: it changes only together with its version.

After a change of wording raise `PROMPT_VERSION` (and the version of the mode's text file, if that changed), then run
this file as a program: it writes the snapshots of the new version and touches no old one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from snapshots.prompt_views import VIEWS, ask

from roundtable.modes import BUILTIN_MODES
from roundtable.prompts import PROMPT_VERSION, load_mode_prompt, render_layers

FOLDER = Path(__file__).resolve().parents[1] / "snapshots/prompts"
MODES = [name for name, _, _ in BUILTIN_MODES]


def rendered(name: str) -> str:
    """Return one prompt as a text file: its version, then each message under its role."""
    messages = ask(*VIEWS[name])
    blocks = [f"#### {message.role}\n{message.content}\n" for message in messages]
    return "\n".join([f"prompt version {PROMPT_VERSION}\n", *blocks])


def instructions(mode: str) -> str:
    """Return the instructions of one mode, in all their forms."""
    prompt = load_mode_prompt(mode)
    forms = [(True, False), (False, False), (False, True)]
    blocks = []
    for name, role in prompt.roles.items():
        blocks += [f"#### {name}: compact, first\n{role.compact(opening=True)}\n"]
        blocks += [f"#### {name}: compact, later\n{role.compact(opening=False)}\n"]
        blocks += [
            f"#### {name}: opening={opening} focused={focused}\n"
            f"{render_layers(role, opening=opening, focused=focused)}\n"
            for opening, focused in forms
        ]
    return "\n".join([f"version {prompt.version}, language {prompt.language}\n", *blocks])


def snapshots() -> dict[Path, str]:
    """List every snapshot with the text it must hold."""
    prompts = {FOLDER / f"{name}-{PROMPT_VERSION}.txt": rendered(name) for name in VIEWS}
    modes = {FOLDER / f"mode-{mode}-{load_mode_prompt(mode).version}.txt": instructions(mode) for mode in MODES}
    return prompts | modes


@pytest.mark.parametrize("path", snapshots(), ids=lambda path: path.stem)
def test_a_prompt_changes_only_with_its_version(path: Path) -> None:
    assert path.is_file(), f"a new version: run {Path(__file__).name} as a program to write its snapshots"
    assert path.read_text("utf-8") == snapshots()[path], f"the text of {path.stem} changed: raise its version"


def test_the_instructions_of_a_mode_are_part_of_the_prompts_of_this_version() -> None:
    text = rendered("full-opening")
    assert render_layers(load_mode_prompt("collaborative").role("participant"), opening=True) in text


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in snapshots().items():
        if path.exists() and path.read_text("utf-8") != text:
            sys.exit(f"{path.name} exists with another text: raise the version first")
        path.write_text(text, "utf-8")
