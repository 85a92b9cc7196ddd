"""Write the pages of the modes: what each is for, who speaks when and sees whom, and a debate held in it."""

from __future__ import annotations

import inspect
import re

import anyio
from reference_pages import cell, code, page, table

from roundtable import AgentConfig, DebateResult, Roundtable
from roundtable.agents import BaseAgent
from roundtable.modes import BUILTIN_MODES, BaseModeStrategy, oxford_swing
from roundtable.prompts import load_mode_prompt
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import AnyTurn, ChatRequest, JsonObject

TOPIC = "Should a five-person startup adopt microservices?"
SPEAKERS = ("Ada", "Bo", "Cy", "Dee")
SAID = {
    "Ada": (
        "No: one team can run one service well.",
        "No, but cut the code along lines that could become services.",
    ),
    "Bo": (
        "Yes: release parts of the product without waiting for the rest.",
        "Start with one service and split what hurts.",
    ),
    "Cy": ("It depends on who is on call at night.", "Start with one service and split what hurts."),
    "Dee": ("Start with one service and split what hurts.", "Start with one service and split what hurts."),
}
QUESTIONS = {
    "Ada": ("What would a second service let us do that we cannot do now?", "Which pain would tell us to split?"),
    "Bo": ("How often does one part wait for another to be released?", "Who decides that a part hurts?"),
    "Cy": ("Who gets up when the network between two services fails?", "What does a night on call cost five people?"),
    "Dee": ("What do we take for granted about growth?", "Which answer would we regret in a year?"),
}


def _answer(request: ChatRequest, mode: str) -> JsonObject:
    """Say what the sample debate has an agent say; the same for every mode but for questions, sides and votes."""
    name = request.metadata["agent"].title()
    later = int(request.metadata["round"]) > 1
    system, user = request.messages[0].content, request.messages[-1].content
    labels = re.findall(r"^\| (Answer \d+)$", user, re.MULTILINE)
    against = "take the stance NO" in system or "for the opposition" in system
    said = (QUESTIONS if mode == "socratic" else SAID)[name][later]
    if mode in {"oxford", "devils-advocate"}:
        said = SIDES["NO" if against else "NEUTRAL" if "stance NEUTRAL" in system else "YES"][later]
    stance = "NO" if against else "NEUTRAL" if "stance NEUTRAL" in system else "YES"
    return {
        "position": said,
        "reasoning": "The team has five people and no operators.",
        "confidence": 0.8 if later else 0.6,
        "stance": stance,
        "choice": ("Against" if "answer of" in user or name == "Cy" else "For") if "You vote" in system else None,
        "ranking": list(dict.fromkeys(labels)),
    }


SIDES = {
    "YES": ("Yes: independent releases are worth their price.", "Yes: the price falls with managed platforms."),
    "NO": ("No: five people cannot run a fleet.", "No: a platform does not answer the phone at night."),
    "NEUTRAL": ("Independent releases weigh little before there are teams.", "The case against holds for now."),
}


async def _hold(mode: BaseModeStrategy) -> DebateResult:
    model = ScriptedModel(lambda request: _answer(request, mode.name))
    agents = [
        BaseAgent(AgentConfig(id=name.lower(), name=name, provider="scripted", model="sample"), model)
        for name in SPEAKERS
    ]
    async with Roundtable(agents, storage="memory://") as round_table:
        return await round_table.debate(TOPIC, mode=mode.name, rounds=2)


def _words(turn: AnyTurn) -> str:
    if turn.outcome == "failed":
        return turn.error.message
    answer = turn.answer
    match answer.kind:
        case "position":
            return answer.position
        case "ballot":
            return f"votes {answer.choice}"
        case "ranking":
            return " > ".join(" = ".join(group) for group in answer.ranking)
        case _:
            return answer.to_json()


def _transcript(result: DebateResult) -> str:
    rows = [
        (str(turn.round), turn.stage, cell(turn.agent_name), turn.role, cell(_words(turn)))
        for held in result.rounds
        for turn in held.turns
    ]
    return table(("Round", "Stage", "Speaker", "Role", "What it says"), rows)


def _outcome(result: DebateResult) -> str:
    decision = result.decision.why if result.decision else ""
    level = result.consensus.agreement_level if result.consensus else 0.0
    independent = result.independent_agreement
    alone = f"{independent:.2f}" if independent is not None else f"none, since {result.independent_agreement_reason}"
    answer = result.answer or "none"
    moved = oxford_swing([turn for held in result.rounds for turn in held.turns])
    won = f"\n- Swing: {', '.join(f'{side} {votes:+d}' for side, votes in moved.swing.items())}" if moved.swing else ""
    return (
        f"- Answer: {answer}\n- Decision: {result.decision.rule if result.decision else ''}, {decision}\n"
        f"- Agreement after the last round: {level:.2f} ({result.consensus.method if result.consensus else ''})\n"
        f"- Agreement of independent answers: {alone}{won}"
    )


def _facts(mode: BaseModeStrategy) -> str:
    roles = load_mode_prompt(mode.name).roles
    options = ", ".join(code(option) for option in mode.options) or "none"
    rows = [
        ("Use it when", mode.use_when[0].lower() + mode.use_when[1:]),
        ("Rounds", f"from {mode.rounds.start}"),
        ("Agents", f"from {mode.agent_counts.start}"),
        ("Roles", ", ".join(f"{code(name)} ({texts.title})" for name, texts in roles.items())),
        ("Sides are assigned", "yes" if mode.assigns_stances else "no"),
        ("Easy agreement is looked into", "yes" if mode.needs_groupthink_detection else "no"),
        ("Options in the name", options),
    ]
    return table(("", ""), rows)


def mode_page(mode: BaseModeStrategy) -> str:
    """Give the page of one mode."""
    about = inspect.cleandoc(type(mode).__doc__ or "").partition("\n\nExample")[0]
    body, _, given = about.partition("\n\nArgs:\n")
    arguments = _arguments(given)
    held = anyio.run(_hold, mode)
    return page(
        mode.name,
        f"{mode.summary}\n\n{body}",
        _facts(mode),
        *([f"## Options\n\n{arguments}"] if arguments else []),
        f"## Who speaks when, and sees whom\n\n{DRAWN}\n\n```mermaid\n{mode.diagram()}```",
        f"## A debate\n\nFour scripted agents on “{TOPIC}”, two rounds: "
        f'`table.debate(topic, mode="{mode.name}", rounds=2)`.\n\n{_transcript(held)}\n\n{_outcome(held)}',
    )


def _arguments(text: str) -> str:
    """Turn the `Args` of a docstring into a list; what every mode takes is left out."""
    found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", text.partition("\n\nRaises")[0], re.MULTILINE)
    return "\n".join(f"- `{name}`: {' '.join(words.split())}" for name, words in found if name != "prompts")


DRAWN = """\
Turns within one box are taken at once; an arrow leads from a turn to each that sees it.
`mode.diagram(agents=3, rounds=2)` gives this text for [Mermaid](https://mermaid.js.org)."""


def modes_page() -> str:
    """Give the list of the modes."""
    rows = [
        (f"[`{name}`](modes/{name}.md)", cell(about), cell(kind().use_when), f"{kind.agent_counts.start}+")
        for name, kind, about in BUILTIN_MODES
    ]
    text = """\
A mode decides who speaks when and who sees what. `roundtable modes` lists those of an installation, and says when to
use which. [Write a mode](../how-to/write-a-mode.md) tells how to add your own."""
    notes = """\
- What is said in a round is measured after it. Modes that assign sides mark the agreement as saying nothing about
  belief.
- The first round of `collaborative`, `expert-panel`, `delphi`, `free-mad`, `self-consistency` and `independent-vote`
  is answered before anybody has seen anything, so that `independent_agreement` is measured on it.
- Some modes can be set: write the option behind the name, as in `mode="adversarial:visibility=predecessor"`. The name
  is stored as written, so that a resumed debate goes on the same way.
- Instructions are data with a version, and each turn records which it had, such as
  `2 delphi/participant/first@1-en`.
- In a mode in which one speaks after another, quorum is judged at the end of the round: whoever fails is missing, and
  the others go on."""
    return page("Modes", text, table(("Mode", "What happens", "Use it when", "Agents"), rows), notes)


def pages() -> dict[str, str]:
    """Give every page of the modes by its path below `docs/reference`."""
    made = {f"modes/{name}.md": mode_page(kind()) for name, kind, _ in BUILTIN_MODES}
    return {"modes.md": modes_page(), **made}
