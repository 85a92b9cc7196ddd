"""Flaws of the first implementation, each as a test that its behaviour would fail."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from integration.engine_kit import said
from integration.mode_kit import MODES, NAMES, TOPIC, answer, hold, seats, text_of
from snapshots.prompt_views import COMPACT, FULL

from roundtable import Roundtable
from roundtable.agents import BaseAgent, seat_personas
from roundtable.analysis import ConsensusAnalyzer
from roundtable.core.stages import restrict_view
from roundtable.errors import AgentError
from roundtable.modes import (
    DelphiMode,
    DevilsAdvocateMode,
    ModeRegistry,
    RedTeamBlueTeamMode,
    calculate_stats,
    rehearse,
    role_counts,
)
from roundtable.providers.scripted import Reply, ScriptedModel
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    AgentTool,
    ChatRequest,
    ChatResponse,
    ContextResult,
    DebateContext,
    JsonObject,
    ModelProfile,
    ToolCall,
    ToolResult,
)

pytestmark = pytest.mark.slow

PROVIDERS = ("anthropic", "openai", "google", "perplexity")


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """One backend: nothing here depends on it."""
    return request.param


def position(agent: str, text: str, **more: Any) -> AgentResponse:
    return AgentResponse(agent_id=agent, agent_name=agent.title(), position=text, **more)


# ---------------------------------------------------------------- teams and roles


@pytest.mark.parametrize("count", [2, 3, 5, 10])
async def test_teams_stay_the_same_after_an_odd_number_of_answers(count: int) -> None:
    """The original guessed teams by the parity of the list of all answers, which an odd table or a failure shifts."""
    names = [f"s{place}" for place in range(count)]

    def reply(request: ChatRequest) -> Reply:
        broken = request.metadata["agent"] == "s0" and request.metadata["round"] == "1"
        return AgentError("down") if broken else answer(request)

    held = await hold("red-team-blue-team", names=names, rounds=3, reply=reply)
    team = {name: place % 2 for place, name in enumerate(names)}
    for turn in held.turns():
        assert turn.role == ("red", "blue")[team[turn.agent_id]]
        if turn.outcome == "answered":
            shown = re.findall(r"answer of (\w+)\)", held.request_of(turn).messages[1].content)
            seen = {turn.agent_id if name == "you" else name.lower() for name in shown}
            own = {name for name in names if team[name] == team[turn.agent_id]}
            silent = {"s0"} if turn.round == 2 else set()
            assert seen == (set() if turn.round == 1 else own - silent)


@pytest.mark.parametrize("mode", ["devils-advocate", "red-team-blue-team", "adversarial", "oxford"])
@pytest.mark.parametrize("count", range(2, 11))
def test_personas_never_contradict_roles(mode: str, count: int) -> None:
    """The original dealt personas round robin: of five devil's advocates four had a persona against their role."""
    strategy = ModeRegistry().get_mode(mode)
    personas = seat_personas([("local", None)] * count, mode=mode)
    allowed = {
        "primary": {"Advocate"},
        "opposition": {"Challenger", "Opponent"},
        "evaluator": {"Evaluator"},
        "red": {"Red Team"},
        "blue": {"Blue Team"},
        "proposition": {"Proponent"},
        "challenger": {"Proponent", "Opponent"},
    }
    for index, config in enumerate(personas):
        role = strategy.get_agent_role(object(), index, view_of(count))  # type: ignore[attr-defined]
        assert config.persona is not None
        assert config.persona.name in allowed[role]
    assert len({config.id for config in personas}) == count


def view_of(count: int) -> DebateContext:
    (first, *_) = rehearse(RedTeamBlueTeamMode(), agents=count, rounds=1)
    return first.view


@pytest.mark.parametrize(
    ("total", "counts"),
    [
        (1, (1, 0, 0)),
        (2, (1, 1, 0)),
        (3, (1, 1, 1)),
        (4, (1, 1, 2)),
        (5, (2, 2, 1)),
        (6, (2, 2, 2)),
        (7, (3, 3, 1)),
        (8, (3, 3, 2)),
    ],
)
def test_both_sides_of_a_devils_advocate_have_the_same_size(total: int, counts: tuple[int, int, int]) -> None:
    assert role_counts(total) == counts
    roles = [DevilsAdvocateMode().get_role_for_index(index, total) for index in range(total)]
    assert roles == ["primary"] * counts[0] + ["opposition"] * counts[1] + ["evaluator"] * counts[2]


async def test_roles_are_bound_to_agents_also_when_the_first_speaker_fails() -> None:
    def reply(request: ChatRequest) -> Reply:
        return AgentError("down") if request.metadata["agent"] == "ada" else answer(request)

    held = await hold("devils-advocate", rounds=3, reply=reply)
    roles = {(turn.agent_id, turn.role) for turn in held.turns()}
    assert roles == {("ada", "primary"), ("bo", "opposition"), ("cy", "evaluator"), ("dee", "evaluator")}


# ---------------------------------------------------------------- Delphi


def leaky(request: ChatRequest) -> Reply:
    """Answer with the speaker's name, in every way a model may."""
    who = request.metadata["agent"]
    number = NAMES.index(who)
    text = f"I, {who.title()} ({who}) on {PROVIDERS[number]} model m-{number}x, say {'yes' if number else 'no'}."
    return said(
        text, reasoning=f"As {who.upper()} said: trust {PROVIDERS[number].title()}'s m-{number}x.", stance="YES"
    )


def panel() -> list[BaseAgent]:
    return [
        BaseAgent(
            AgentConfig(id=name, name=name.title(), provider=provider, model=f"m-{place}x", persona=f"{name}-persona"),
            ScriptedModel(leaky, provider=provider, model=f"m-{place}x"),
        )
        for place, (name, provider) in enumerate(zip(NAMES, PROVIDERS, strict=True))
    ]


@pytest.mark.parametrize("profile", [FULL, COMPACT], ids=["full", "compact"])
async def test_delphi_prompts_hold_no_name_no_id_and_no_provider(profile: ModelProfile) -> None:
    agents = panel()
    for agent in agents:
        agent.chat_model.profile = profile  # type: ignore[misc]
    async with Roundtable(agents, storage="memory://") as table:
        result = await table.debate(TOPIC, mode="delphi", rounds=3)
    assert result.roster.complete
    secrets = [*NAMES, *PROVIDERS, *(f"m-{place}x" for place in range(4))]
    for agent in agents:
        for request in agent.chat_model.requests:  # type: ignore[attr-defined]
            prompt = text_of(request).lower()
            assert [word for word in secrets if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", prompt)] == []


async def test_participants_keep_their_number_and_it_says_nothing_about_their_seat() -> None:
    """The original numbered answers by their place in the list, so that a number was new in every round."""
    held = await hold("delphi", rounds=3)
    numbers: dict[str, set[str]] = {}
    for turn in held.turns():
        (own,) = re.findall(r"You are (Participant \d)", held.request_of(turn).messages[0].content)
        numbers.setdefault(turn.agent_id, set()).add(own)
    assert all(len(found) == 1 for found in numbers.values())
    assert len(set.union(*numbers.values())) == 4
    seats_of = view_of(4).agents
    orders = set()
    for seed in range(20):
        *_, last = rehearse(DelphiMode(), agents=seats_of, rounds=2, seed=seed)
        seen = last.stage.turns[0].sees
        assert [one.shown_as for one in seen] == [f"Participant {number}" for number in range(1, 5)]
        orders.add(tuple(one.turn.slot for one in seen))
    assert len(orders) > 5


async def test_statistics_are_those_of_the_last_round_alone() -> None:
    """The original counted eight participants of four in the third round."""
    held = await hold("delphi", rounds=3)
    last = [held.request_of(turn).messages[1].content for turn in held.turns() if turn.round == 3]
    before = [turn.answer for turn in held.turns() if turn.round == 2 and turn.outcome == "answered"]
    stats = calculate_stats(before)  # type: ignore[arg-type]
    for prompt in last:
        assert prompt.count("| Participants: 4\n") == 1
        assert f"mean {stats.average_confidence:.1f} %, median {stats.median_confidence:.1f} %" in prompt
        assert f"interquartile range {stats.confidence_iqr:.1f} points" in prompt
        assert "| Stances: YES 4\n" in prompt
        assert "Change since the round before: 4 of 4 participants answer in other words" in prompt
    second = [held.request_of(turn).messages[1].content for turn in held.turns() if turn.round == 2]
    assert not any("Change since" in prompt for prompt in second)


async def test_tools_of_a_delphi_turn_reveal_no_names() -> None:
    seen: list[DebateContext] = []

    class Watching(BaseAgent):
        async def take_turn(self, context: DebateContext, listener: Any = None) -> Any:
            seen.append(context)
            return await super().take_turn(context, listener)

    agents = [Watching(agent.config, agent.chat_model) for agent in panel()]
    async with Roundtable(agents, storage="memory://") as table:
        await table.debate(TOPIC, mode="delphi", rounds=2)
    for context in seen:
        assert context.turn is not None
        own = context.turn.agent
        told = json.dumps([turn.to_json() for turn in context.transcript]) + repr(context.previous_responses)
        others = [name for name in NAMES if name != own]
        assert not [name for name in (*others, *PROVIDERS) if re.search(rf"(?<!\w){name}(?!\w)", told.lower())]
        assert context.agents == ()
        assert {turn.duration_s for turn in context.transcript} <= {0.0}


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I agree", "I disagree"),
        ("No", "Know"),
        ("동의합니다", "반대합니다"),
        ("应该", "不应该"),
        ("はい", "いいえ"),
        ("Да", "Нет"),
    ],
)
def test_answers_are_distinguished_as_wholes_in_every_script(one: str, other: str) -> None:
    """The original looked for parts of words, and dropped every letter that is not Latin."""
    answers = [position("ada", one), position("bo", other)]
    assert calculate_stats(answers).position_distribution == {one: 1, other: 1}
    assert calculate_stats(answers).consensus_level == 50
    assert len(ConsensusAnalyzer().analyze(answers).clusters) == 2
    assert calculate_stats([answers[0], position("cy", f"{one}.")]).consensus_level == 100


@pytest.mark.slow
@pytest.mark.parametrize("topic", ["{topic} $& $1 {previousResponses}", "%s {0} $$ ${agentName}"])
async def test_a_topic_that_looks_like_a_template_stays_unchanged(topic: str) -> None:
    """The original filled in templates by replacing strings, so that a topic could be replaced as well."""
    for mode in MODES:
        held = await hold(mode, topic=topic)
        for request in held.requests:
            assert f"(question)\n| {topic}\nEND QUOTE" in request.messages[-1].content
            assert topic not in request.messages[0].content


# ---------------------------------------------------------------- tools and prompts


class Kit:
    def get_tools(self) -> tuple[AgentTool, ...]:
        return (AgentTool(name="look_up", description="Looks up."),)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data="found")


async def tooled(mode: str, reply: Any) -> tuple[list[ChatRequest], Any]:
    model = ScriptedModel(reply)
    agents = seats(model)
    for agent in agents:
        agent.set_toolkit(Kit())
    async with Roundtable(agents, storage="memory://") as table:
        return model.requests, await table.debate(TOPIC, mode=mode, rounds=2)


@pytest.mark.parametrize("mode", MODES)
async def test_no_agent_calls_tools_for_ever_and_bad_arguments_do_not_end_its_turn(mode: str) -> None:
    """The original had a provider without a limit, and two that fell over malformed arguments."""

    def restless(request: ChatRequest) -> Any:
        if request.tools:
            return ChatResponse(text="", tool_calls=(ToolCall(id="", name="look_up", arguments={"": [None]}),))
        return answer(request)

    _, result = await tooled(mode, restless)
    assert result.roster.complete
    for held in result.rounds:
        for turn in held.turns:
            if turn.answer.kind == "position":
                assert 0 < len(turn.answer.tool_calls) <= 10


@pytest.mark.parametrize("mode", MODES)
async def test_prompts_name_the_available_tools_and_state_one_limit(mode: str) -> None:
    """The original demanded a search that no longer existed, and stated two limits that contradicted each other."""
    requests, _ = await tooled(mode, answer)
    for request in requests:
        system = request.messages[0].content
        limits = re.findall(r"at most (\d+|one) calls? in this turn", system)
        assert len(limits) == bool(request.tools)
        assert ("TOOLS: look_up\n" in system) is bool(request.tools)
        assert not re.search(r"search|perplexity|fact_check", system)
    plain = await hold(mode)
    assert not any("TOOLS" in request.messages[0].content for request in plain.requests)


@pytest.mark.parametrize("profile", [FULL, COMPACT], ids=["full", "compact"])
def test_every_prompt_has_the_supplied_information_and_asks_for_an_assigned_stance(profile: ModelProfile) -> None:
    """The original forgot both in one provider's prompt."""
    known = ContextResult(request_id="r", success=True, result="The team has two operators.")
    config = AgentConfig(id="agent-1", name="Ada", provider="scripted")
    for mode in MODES:
        for view, stage in rehearse(ModeRegistry().get_mode(mode), agents=4, rounds=2):
            for spec in stage.turns:
                context = restrict_view(view.model_copy(update={"context_results": (known,)}), spec)
                agent = BaseAgent(config, ScriptedModel([], profile=profile))
                user = agent.build_user_message(context)
                assert "The team has two operators." in user
                if spec.stance is not None and profile is FULL:
                    assert '"stance" (required)' in user


async def test_a_later_speaker_of_a_round_sees_the_earlier_answers_and_knows_its_own() -> None:
    """The original's evidence lacked the round under way and left out the wrong agent's answers."""
    seen: list[DebateContext] = []

    class Watching(BaseAgent):
        async def take_turn(self, context: DebateContext, listener: Any = None) -> Any:
            seen.append(context)
            return await super().take_turn(context, listener)

    model = ScriptedModel(answer)
    agents = [Watching(agent.config, model) for agent in seats(model)]
    async with Roundtable(agents, storage="memory://") as table:
        await table.debate(TOPIC, mode="adversarial", rounds=2)
    last = seen[-1]
    assert [(turn.round, turn.agent_id) for turn in last.transcript] == [
        (number, name) for number in (1, 2) for name in NAMES if (number, name) != (2, "dee")
    ]
    assert [one.agent_id for one in last.previous_responses].count("dee") == 1
