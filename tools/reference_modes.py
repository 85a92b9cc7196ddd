"""Write the pages of the modes: what each is for, who speaks when and sees whom, and a debate held in it."""

from __future__ import annotations

import inspect
import re

import anyio
from mode_debates import SAMPLES, hold, reading, rounds_of, speakers, transcript
from mode_drawings import drawing
from reference_pages import cell, code, page, table

from roundtable import DebateResult
from roundtable.modes import BUILTIN_MODES, BaseModeStrategy, oxford_swing, trajectories
from roundtable.prompts import PROMPT_VERSION, load_mode_prompt


def _outcome(result: DebateResult) -> str:
    decision = result.decision.why if result.decision else ""
    level = result.consensus.agreement_level if result.consensus else 0.0
    independent = result.independent_agreement
    alone = f"{independent:.2f}" if independent is not None else f"none, since {result.independent_agreement_reason}"
    answer = result.answer or "none"
    moved = oxford_swing([turn for held in result.rounds for turn in held.turns])
    said = trajectories([turn for held in result.rounds for turn in held.turns]) if result.mode == "free-mad" else {}
    paths = "; ".join(f"{name.title()}: {' → '.join(answers)}" for name, answers in said.items())
    won = f"\n- Swing: {', '.join(f'{side} {votes:+d}' for side, votes in moved.swing.items())}" if moved.swing else ""
    return (
        f"- Answer: {answer}\n- Decision: {result.decision.rule if result.decision else ''}, {decision}\n"
        f"- Agreement after the last round: {level:.2f} ({result.consensus.method if result.consensus else ''})\n"
        f"- Agreement of independent answers: {alone}{won}" + (f"\n- Trajectories: {paths}" if paths else "")
    )


def _facts(mode: BaseModeStrategy) -> str:
    roles = load_mode_prompt(mode.name).roles
    settable = (f"{name}={getattr(reader, 'takes', '')}" for name, reader in mode.options.items())
    options = ", ".join(map(code, settable)) or "none"
    rows = [
        ("Use it when", mode.use_when[0].lower() + mode.use_when[1:]),
        ("Rounds", f"{mode.rounds.start} or more"),
        ("Agents", f"{mode.agent_counts.start} or more"),
        ("Roles", ", ".join(f"{code(name)} ({texts.title})" for name, texts in roles.items())),
        ("Assigns sides", "yes" if mode.assigns_stances else "no"),
        ("Checks for groupthink", "yes" if mode.needs_groupthink_detection else "no"),
        ("Options in the name", options),
    ]
    return table(("", ""), rows)


def mode_page(mode: BaseModeStrategy) -> str:
    """Return the page of one mode."""
    about = inspect.cleandoc(type(mode).__doc__ or "").partition("\n\nExample")[0]
    body, _, given = about.partition("\n\nArgs:\n")
    arguments = _arguments(given)
    return page(
        mode.name,
        f"{mode.summary}\n\n{body}",
        _facts(mode),
        f"## A use case\n\n{SAMPLES[mode.name]['use_case']}",
        *([f"## Options\n\n{arguments}"] if arguments else []),
        f"## Who speaks when, and sees whom\n\n{_drawn(mode)}",
        _debate(mode.name),
    )


def _debate(mode: str) -> str:
    sample, rounds = SAMPLES[mode], rounds_of(mode)
    result, requests = anyio.run(hold, mode)
    options = f", options={sample['options']}" if "options" in sample else ""
    call = f'table.debate("{sample["topic"]}", mode="{mode}", rounds={rounds}{options})'
    names = speakers(sample)
    who = f"{', '.join(names[:-1])} and {names[-1]} debate" if len(names) > 1 else f"{names[0]} answers"
    intro = f"## A debate\n\n{who}. The answers are scripted; everything else is computed:\n\n```text\n{call}\n```"
    outcome = f"### What comes out\n\n{_outcome(result)}"
    return "\n\n".join(part for part in (intro, transcript(result), reading(mode, requests), outcome) if part)


def _arguments(text: str) -> str:
    """Turn the `Args` of a docstring into a list; what every mode takes is left out."""
    found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", text.partition("\n\nRaises")[0], re.MULTILINE)
    return "\n".join(f"- `{name}`: {' '.join(words.split())}" for name, words in found if name != "prompts")


def _drawn(mode: BaseModeStrategy) -> str:
    text = """\
Turns in one column run at the same time. An arrow leads from a turn to each turn that sees it."""
    source = """\
The same diagram for [Mermaid](https://mermaid.js.org), from `mode.diagram(agents=3, rounds=2)`:"""
    picture = f"![Who speaks when in {mode.name}, and sees whom]({mode.name}.svg)"
    return f"{text}\n\n{picture}\n\n{source}\n\n```mermaid\n{mode.diagram()}```"


def modes_page() -> str:
    """Return the list of the modes."""
    rows = [
        (f"[`{name}`](modes/{name}.md)", cell(about), cell(kind().use_when), f"{kind.agent_counts.start}+")
        for name, kind, about in BUILTIN_MODES
    ]
    text = """\
A mode decides which agents answer when, and what each of them sees. `roundtable modes` lists the installed modes, and
when to use each. [Write a mode](../how-to/write-a-mode.md) shows how to add your own."""
    notes = f"""\
- Agreement is measured after each round. If a mode assigns sides, `consensus.assigned` is true: the level then says
  nothing about what the agents believe.
- In `collaborative`, `expert-panel`, `delphi`, `council`, `free-mad`, `self-consistency` and `independent-vote`, agents
  first answer without seeing other answers, so `independent_agreement` is measured on these first answers.
- Some modes have options: write them after the name, as in `mode="adversarial:visibility=predecessor"`. The name
  is stored as written, so a resumed debate uses the same options.
- Instructions have a version. Each turn records the version that it used, such as
  `{PROMPT_VERSION} delphi/participant/first@1-en`.
- If agents answer one after another, the quorum is checked at the end of the round: if an agent fails, the others
  continue without it."""
    return page("Modes", text, table(("Mode", "What happens", "Use it when", "Agents"), rows), notes)


def pages() -> dict[str, str]:
    """Return every page of the modes by its path below `docs/reference`."""
    made = {f"modes/{name}.md": mode_page(kind()) for name, kind, _ in BUILTIN_MODES}
    drawn = {f"modes/{name}.svg": drawing(kind()) for name, kind, _ in BUILTIN_MODES}
    return {"modes.md": modes_page(), **made, **drawn}
