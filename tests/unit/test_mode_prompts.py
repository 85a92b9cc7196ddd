"""The instructions of every mode, role and form: what they hold, how long they may be, how others replace them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from snapshots.prompt_views import ADA, COMPACT, FULL, NONCE, SKEPTIC, TOPIC, ask, said, view

from roundtable.core.mode.base import role_instructions
from roundtable.core.mode.simulate import first_turn_findings
from roundtable.core.stages import as_shaper, restrict_view
from roundtable.errors import ConfigurationError
from roundtable.modes import BUILTIN_MODES, AdversarialMode, CollaborativeMode, DelphiMode, ModeRegistry, rehearse
from roundtable.prompts import (
    Fence,
    PromptLibrary,
    RolePrompt,
    compose_system,
    estimate_tokens,
    load_mode_prompt,
    neutralise,
    render_layers,
)
from roundtable.types import ContextResult, DebateContext, EndRound, Plan, Stage, ToolPolicy, TurnSpec, Visible

ROLES = [
    pytest.param(mode, role, id=f"{mode}-{role}")
    for mode, _, _ in BUILTIN_MODES
    for role in load_mode_prompt(mode).roles
]
FORMS = pytest.mark.parametrize("opening", [True, False], ids=["first", "later"])
SECTIONS = {
    "collaborative": [
        "MY PERSPECTIVE, AREAS FOR COLLABORATION, INVITATION TO BUILD",
        "POINTS OF AGREEMENT, BUILDING ON IDEAS, SYNTHESIS PROPOSAL, MY CONTRIBUTION",
    ],
    "adversarial": [
        "STRONG POSITION, SUPPORTING ARGUMENTS, ANTICIPATED ATTACKS, CHALLENGE TO OPPONENTS",
        "STEEL-MAN SUMMARY, CRITICAL WEAKNESSES, COUNTER-ARGUMENTS, CHALLENGE TO DEFEND",
    ],
    "socratic": [
        "FRAMING QUESTION, FOUNDATIONAL QUESTIONS, CHALLENGING THE OBVIOUS, INVITATION TO INQUIRY",
        "QUESTIONING THE POSITION, EXAMINING ASSUMPTIONS, EXPLORING IMPLICATIONS, INVITATION TO INQUIRY",
    ],
    "expert-panel/expert": [
        "ANALYTICAL FRAMEWORK, KEY FINDINGS, SUPPORTING EVIDENCE, CONFIDENCE & LIMITATIONS, OPEN QUESTIONS",
        ("EXPERT ASSESSMENT, EVIDENCE & SOURCES, AREAS OF CONSENSUS, POINTS OF DIVERGENCE, CONFIDENCE & LIMITATIONS"),
    ],
    "expert-panel/specialist": [
        "ANALYTICAL FRAMEWORK, UNIQUE INSIGHT, KEY FINDINGS, BLIND SPOTS, CONFIDENCE & LIMITATIONS",
        ("PERSPECTIVE UPDATE, UNIQUE INSIGHT, REVISED FINDINGS, REMAINING BLIND SPOTS, CROSS-PERSPECTIVE SYNTHESIS"),
    ],
    "red-team-blue-team/red": [
        "CRITICAL VULNERABILITIES, ATTACK VECTORS, FAILURE MODES, HIDDEN COSTS, ASSUMPTIONS TO CHALLENGE",
    ],
    "red-team-blue-team/blue": [
        (
            "PROPOSED SOLUTIONS, DEFENSE AGAINST ATTACKS, SAFEGUARDS & MITIGATIONS, RESILIENCE DEMONSTRATION, "
            "POSITIVE OUTCOMES"
        ),
    ],
    "delphi": [
        "MY POSITION, CONFIDENCE LEVEL, REASONING & EVIDENCE, KEY UNCERTAINTIES",
        "MY POSITION, CONFIDENCE LEVEL, RESPONSE TO GROUP, REASONING & EVIDENCE, POSITION CHANGE JUSTIFICATION",
    ],
}


def texts(mode: str, role: str) -> RolePrompt:
    return load_mode_prompt(mode).role(role)


def bullets(text: str, heading: str) -> list[str]:
    """Return the list items under a heading, up to the first other line."""
    after = text.partition(f"{heading}\n")[2].splitlines()
    return [line[2:] for line in itertools.takewhile(lambda line: line.startswith("- "), after)]


@FORMS
@pytest.mark.parametrize(("mode", "role"), ROLES)
def test_every_prompt_has_its_layers_in_full(mode: str, role: str, opening: bool) -> None:
    own = texts(mode, role)
    text = render_layers(own, opening=opening)
    assert len(bullets(text, "You must:")) >= 3
    assert len(bullets(text, "You must not:")) >= 3
    assert len(bullets(text, "STRUCTURE of your reasoning, in this order:")) >= 3
    assert len(bullets(text, "BEFORE YOU ANSWER, check and revise until each holds:")) >= 4
    assert own.failure in text.splitlines()
    assert own.mission in text
    assert text.startswith(f"ROLE: {own.title}\n")
    assert text.count("-" * 40) == 3
    assert own.focus not in text
    assert render_layers(own, opening=opening, focused=True).endswith(f"FOCUS\n{own.focus}")


@FORMS
@pytest.mark.parametrize(("mode", "role"), ROLES)
def test_the_compact_form_has_the_mission_and_one_prohibition(mode: str, role: str, opening: bool) -> None:
    brief = texts(mode, role).compact(opening=opening)
    assert re.search(r"Do not \w.*\.$", brief)
    assert brief.count(".") >= 2
    assert estimate_tokens(brief) <= 60


@pytest.mark.parametrize(("mode", "role"), ROLES)
def test_the_text_of_prompts_is_clean(mode: str, role: str) -> None:
    own = texts(mode, role)
    for opening in (True, False):
        text = render_layers(own, opening=opening, focused=True)
        assert text.isascii()
        assert "  " not in text
        assert not re.search(r"[{}$]|search_web|perplexity|fact_check", text)
        items = [line for line in text.splitlines() if line.startswith("- ")]
        assert len(set(items)) == len(items)


@pytest.mark.parametrize("mode", SECTIONS)
def test_sections_keep_their_names(mode: str) -> None:
    name, _, role = mode.partition("/")
    roles = load_mode_prompt(name).roles
    own = roles[role] if role else next(iter(roles.values()))
    for listed, sections in zip(SECTIONS[mode], (own.first_sections, own.later_sections), strict=False):
        assert [section.partition(":")[0].partition(" (")[0] for section in sections] == listed.split(", ")


@pytest.mark.parametrize("name", [name for name, _, _ in BUILTIN_MODES])
def test_compact_prompts_of_whole_debates_stay_within_their_limit(name: str) -> None:
    mode = ModeRegistry().get_mode(name)
    for planned, stage in rehearse(mode, agents=4, rounds=3, topic=TOPIC):
        shaper = as_shaper(mode)
        assert shaper is not None
        for spec in stage.turns:
            messages = ask(SKEPTIC, COMPACT, shaper.transform_context(restrict_view(planned, spec)))
            assert sum(estimate_tokens(message.content) for message in messages) <= 350 + 110 * (len(messages) > 2)
            assert estimate_tokens(messages[0].content) + estimate_tokens(messages[-1].content) <= 350


@pytest.mark.parametrize("name", [name for name, _, _ in BUILTIN_MODES])
@pytest.mark.parametrize("agents", [2, 3, 5])
def test_no_opening_mentions_a_speaker_who_has_not_spoken(name: str, agents: int) -> None:
    assert first_turn_findings(ModeRegistry().get_mode(name), agents=agents) == []


class Hasty(CollaborativeMode):
    """Answers an opponent who was never there."""

    name = "hasty"

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        task = "Rebut what the other agents said and answer their strongest argument."
        return Stage(name="speech", turns=(TurnSpec(slot=0, agent=view.agents[0].id, task=task, brief="Reply to it."),))


def test_an_opening_that_answers_nobody_is_found() -> None:
    found = first_turn_findings(Hasty())
    assert "speech, participant: 'Rebut'" in found
    assert "speech, participant: 'the other agents said'" in found
    assert "speech, participant: 'answer their strongest'" in found
    assert "speech, participant: 'Reply to'" in found


def test_the_first_speaker_opens_and_the_second_answers() -> None:
    plans = list(rehearse(AdversarialMode(), agents=2, rounds=1))
    first, second = (planned.stage.turns[0] for planned in plans)
    assert "ANTICIPATED ATTACKS" in first.task
    assert "STEEL-MAN" not in first.task
    assert "STEEL-MAN SUMMARY" in second.task
    assert (first.prompt_id, second.prompt_id) == (
        "adversarial/challenger/first@1-en",
        "adversarial/challenger/later@1-en",
    )


# ---------------------------------------------------------------- another language


GERMAN = """
name = "delphi"
version = 7
language = "de"

[headings]
role = "ROLLE"
must = "Du musst:"

[roles.participant]
title = "Teilnehmer"
brief = "Urteile selbst."
brief_not = "Folge nicht der Menge."
mission = "Du urteilst allein."
persistence = "Bleib dabei."
must = ["eins", "zwei", "drei"]
must_not = ["vier", "fünf", "sechs"]
failure = "Ohne Grund ist es misslungen."
first_sections = ["A", "B", "C"]
later_sections = ["D", "E", "F"]
checks = ["G?", "H?", "I?", "J?"]
focus = "Zuerst die engere Frage."
"""


def test_another_language_is_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "delphi.toml").write_text(GERMAN, "utf-8")
    library = PromptLibrary(tmp_path)
    (planned, *_) = rehearse(DelphiMode(prompts=library))
    (spec, *_) = planned.stage.turns
    assert spec.task.startswith("ROLLE: Teilnehmer\nDu urteilst allein.")
    assert "Du musst:\n- eins" in spec.task
    assert "CONTRACT" in spec.task  # headings that are not given keep their words
    assert spec.brief == "Urteile selbst. Folge nicht der Menge."
    assert spec.prompt_id == "delphi/participant/first@7-de"
    assert library.load("socratic") == load_mode_prompt("socratic")
    assert library.load("delphi") is library.load("delphi")


@pytest.mark.parametrize("text", ["name = ", "name = 'delphi'", GERMAN.replace("focus =", "other =")])
def test_texts_that_cannot_be_read_are_refused_with_their_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "delphi.toml").write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=r"texts of mode 'delphi' cannot be read from .*delphi\.toml"):
        PromptLibrary(tmp_path).load("delphi")


@pytest.mark.parametrize("name", ["../delphi", "x/../../delphi", "..\\delphi", "c:\\delphi", "a\0b"])
def test_no_name_of_a_mode_leaves_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "delphi.toml").write_text(GERMAN, "utf-8")
    (tmp_path / "texts" / "x").mkdir(parents=True)
    library = PromptLibrary(tmp_path / "texts")
    assert not library.has(name)
    assert not library.has(str(tmp_path / "delphi"))
    with pytest.raises(ConfigurationError, match="has no file with instructions"):
        library.load(name)


def test_a_role_without_texts_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="have no role 'jester'; they have red, blue"):
        role_instructions(PromptLibrary(), "red-team-blue-team", "jester", opening=True, focused=False)


# ---------------------------------------------------------------- tools


def turn(policy: ToolPolicy, *, seen: bool = False) -> DebateContext:
    sees = (Visible(turn=said("Bo", "No").key, shown_as="Bo"),) if seen else ()
    return restrict_view(view(said("Bo", "No")), TurnSpec(slot=0, agent="ada", task="Speak.", tools=policy, sees=sees))


def test_a_prompt_names_the_available_tools_and_the_real_limits() -> None:
    fence = Fence(NONCE)
    text = compose_system(ADA, turn(ToolPolicy(min=1, max=5)), FULL, fence, tools=("look_up", "weigh"))
    assert "TOOLS: look_up, weigh\n- at most 5 calls in this turn, at least 1 where a fact can be checked" in text
    assert "already found" not in text
    assert re.findall(r"\d+", text.partition("TOOLS")[2].partition("\n\n")[0]) == ["5", "1"]
    later = compose_system(ADA, turn(ToolPolicy(max=1), seen=True), FULL, fence, tools=("look_up",))
    assert "- at most one call in this turn\n" in later
    assert "already found" in later
    assert "TOOLS" not in compose_system(ADA, turn(ToolPolicy()), FULL, fence)


# ---------------------------------------------------------------- topics that look like templates


@pytest.mark.parametrize(
    "topic",
    [
        "{topic} {0} {{x}} %s %(a)s",
        "$& $1 $$ $` $' \\1 \\g<0>",
        "<b>bold</b> & <!-- x --> [a](b) `c`",
        "#### system\n---",
    ],
)
@pytest.mark.parametrize("name", [name for name, _, _ in BUILTIN_MODES])
def test_signs_in_a_topic_change_nothing(name: str, topic: str) -> None:
    mode = ModeRegistry().get_mode(name)
    plain = [planned.stage for planned in rehearse(mode, agents=3, rounds=2, topic="Tea?")]
    signed = list(rehearse(mode, agents=3, rounds=2, topic=topic))
    tasks = [[(spec.task, spec.brief) for spec in stage.turns] for stage in plain]
    assert [[(spec.task, spec.brief) for spec in planned.stage.turns] for planned in signed] == tasks
    first = restrict_view(signed[0].view, signed[0].stage.turns[0])
    user = ask(ADA, FULL, first)[-1].content
    quoted = "\n".join(f"| {line}" for line in neutralise(topic).split("\n"))
    assert f"BEGIN QUOTE {NONCE} (question)\n{quoted}\nEND QUOTE {NONCE}" in user
    known = ContextResult(request_id="r", success=True, result=topic)
    assert quoted in ask(ADA, FULL, first.model_copy(update={"context_results": (known,)}))[-1].content
