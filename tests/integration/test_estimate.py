"""No debate takes more than its estimate, and an estimate calls nobody."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integration.engine_kit import CountingModel, CourtMode, asking, said, seated, table_of
from integration.test_budget_debates import Silent

from roundtable import AgentConfig, BaseAgent, Roundtable
from roundtable.api.estimate import estimate_debate
from roundtable.api.seats import Seated
from roundtable.errors import AgentError, ConfigurationError, ContextTooLong, QuorumLost
from roundtable.gateway import FallbackModel
from roundtable.modes import BaseModeStrategy
from roundtable.providers import ScriptedModel
from roundtable.sync import Roundtable as BlockingRoundtable
from roundtable.testing import scripted_agents
from roundtable.types import (
    AgentTool,
    ChatResponse,
    EndDebate,
    EndRound,
    ModelProfile,
    RetryPolicy,
    Stage,
    ToolPolicy,
    TurnSpec,
    Usage,
)

PRICES = {"scripted:*": {"input": 1, "output": 10}}


def wordy(model, *names, max_tokens):
    return [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted", max_tokens=max_tokens), model)
        for name in names
    ]


class Talker(CountingModel):
    """Answers at length, and sometimes in a way that cannot be read; its usage is what the prompt estimate says."""

    def __init__(self, lengths):
        super().__init__()
        self.lengths = list(lengths)

    async def complete(self, request):
        from roundtable.gateway.budget import prompt_tokens

        self.begun.append(("", ""))
        length = self.lengths.pop() if self.lengths else 0
        most = int(request.max_tokens * 3.5) - 80
        who = request.metadata["agent"]
        answer = {"position": f"Tea for {who}", "choice": "Coffee" if who == "bo" else "Tea", "confidence": 0.5}
        text = json.dumps(answer | {"reasoning": "y" * max(0, most * length // 4 - 60)}) if length else "{"
        usage = Usage(input_tokens=prompt_tokens(request), output_tokens=request.max_tokens * length // 4, calls=1)
        return ChatResponse(text=text, usage=usage)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=12),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([60, 300]),
    st.booleans(),
    st.booleans(),
)
def test_no_debate_takes_more_than_its_estimate(lengths, rounds, seats, max_tokens, with_options, vote):
    names = ["ada", "bo", "cy"][:seats]
    table = BlockingRoundtable(
        wordy(Talker(lengths), *names, max_tokens=max_tokens), storage="memory://", prices=PRICES
    )
    more = {"rounds": rounds, "options": ["Tea", "Coffee"] if with_options else None, "vote": vote}
    worst = table.estimate("Tea or coffee?", **more)
    try:
        result = table.debate("Tea or coffee?", **more)
    except QuorumLost as lost:
        result = lost.partial
    table.close()
    assert result.usage.calls <= worst.calls
    assert result.usage.input_tokens <= worst.input_tokens
    assert result.usage.output_tokens <= worst.output_tokens
    assert result.usage.cost_usd <= worst.cost_usd
    assert worst.planned_calls == worst.turns
    assert rounds * seats <= worst.turns <= (rounds + vote) * seats
    assert sum(one.calls for one in worst.by_agent) == worst.calls
    assert sum(one.total_tokens for one in worst.by_agent) == worst.total_tokens


class Claimer(Talker):
    """Answers as long as it may, with claims that are short or long, and refer to all that its prompt shows."""

    def __init__(self, sizes):
        super().__init__([4] * 100)
        self.sizes = list(sizes)

    async def complete(self, request):
        response = await super().complete(request)
        size = self.sizes.pop() if self.sizes else 1
        labels = re.findall(r"Claim (R[^:]+):", request.messages[-1].content)
        claim = {"text": "x" * size, "supports": labels[:20], "evidence": ["http://a.b"]}
        claims = (
            [f"{number}" for number in range(4)]
            if size == 1
            else [claim | {"text": f"{n}{'x' * size}"} for n in "abcde"]
        )
        most = int(request.max_tokens * 3.5) - 80
        text = json.dumps({"position": "Tea", "confidence": 0.5, "claims": claims}, separators=(",", ":"))
        reasoning = "y" * max(0, most - len(text))
        return response.model_copy(update={"text": text[:-1] + f',"reasoning":"{reasoning}"}}'})


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([1, 20, 250]), max_size=9), st.integers(1, 3), st.sampled_from([300, 900]))
def test_no_debate_with_claims_takes_more_than_its_estimate(sizes, rounds, max_tokens):
    agents = wordy(Claimer(sizes), "ada", "bo", "cy", max_tokens=max_tokens)
    table = BlockingRoundtable(agents, storage="memory://", prices=PRICES)
    more = {"rounds": rounds, "claims": True}
    worst = table.estimate("Tea or coffee?", **more)
    result = table.debate("Tea or coffee?", **more)
    table.close()
    assert result.roster.complete
    assert all(answer.claims for held in result.rounds for answer in held.responses)
    assert result.usage.input_tokens <= worst.input_tokens
    assert result.usage.cost_usd <= worst.cost_usd


@pytest.mark.parametrize("mode", ["collaborative", "socratic", "adversarial", "delphi"])
def test_a_vote_on_options_takes_no_more_than_its_estimate_in_any_mode(mode):
    """Every answer is as long as it may be, is unreadable once, and names another option."""
    options, seats = ["Tea", "Milk", "Rum"], ["ada", "bo", "cy"]

    class Longest(CountingModel):
        async def complete(self, request):
            from roundtable.gateway.budget import prompt_tokens

            most, who = int(request.max_tokens * 3.5) - 80, request.metadata["agent"]
            if not any(message.role == "assistant" for message in request.messages):
                text = "{" + "z" * most
            elif "you vote" in request.messages[0].content:
                text = json.dumps({"ranking": options, "reasoning": "y" * (most - 120)})
            else:
                answer = {"position": f"{who} {'p' * 560}", "choice": options[seats.index(who)], "confidence": 0.5}
                text = json.dumps(answer | {"reasoning": "y" * (most - 760)})
            usage = Usage(input_tokens=prompt_tokens(request), output_tokens=request.max_tokens, calls=1)
            return ChatResponse(text=text, usage=usage)

    with BlockingRoundtable(wordy(Longest(), *seats, max_tokens=2000), storage="memory://", prices=PRICES) as table:
        more = {"mode": mode, "rounds": 1, "options": options, "vote": True}
        worst, result = table.estimate("Which?", **more), table.debate("Which?", **more)
    assert result.decision.vote is not None
    assert result.usage.calls == worst.calls
    assert result.usage.input_tokens <= worst.input_tokens


async def test_an_estimate_calls_nobody_and_stores_nothing():
    model = CountingModel("Tea")
    table = table_of(model, prices=PRICES)
    worst = table.estimate("Tea or coffee?", rounds=2, focus_question="In the morning?")
    assert worst.cost_usd > 0
    assert model.begun == []
    assert await table.sessions() == ()
    assert worst.output_tokens == worst.calls * 4096


async def test_later_rounds_cost_more_since_they_quote_earlier_ones():
    table = table_of(CountingModel("Tea"), prices=PRICES)
    costs = [table.estimate("Tea or coffee?", rounds=rounds).cost_usd for rounds in (1, 2, 3)]
    assert costs[1] > 2 * costs[0]
    assert costs[2] - costs[1] > costs[1] - costs[0]


def test_an_unknown_price_makes_the_estimate_unknown():
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    assert table.estimate("Tea or coffee?").cost_usd is None


def test_every_model_of_a_fallback_may_have_to_be_paid():
    spare = ScriptedModel([], model="spare")
    alone = Roundtable([ScriptedModel([])], storage="memory://", prices=PRICES).estimate("Tea?", rounds=1)
    chain = FallbackModel(ScriptedModel([]), spare)
    both = Roundtable([chain], storage="memory://", prices=PRICES).estimate("Tea?", rounds=1)
    assert (both.calls, both.planned_calls) == (2 * alone.calls, alone.planned_calls)
    assert both.cost_usd == pytest.approx(2 * alone.cost_usd)


ONCE, THRICE = RetryPolicy(max_attempts=1), RetryPolicy(max_attempts=3)


@pytest.mark.parametrize(("retry", "tries"), [(None, 4), (ONCE, 1), (THRICE, 3)])
def test_the_estimate_says_what_retries_may_add(retry, tries):
    config = AgentConfig(id="ada", name="Ada", provider="scripted", retry=retry)
    chain = FallbackModel(ScriptedModel([]), ScriptedModel([], model="spare"))
    worst = Roundtable([BaseAgent(config, chain)], storage="memory://", prices=PRICES).estimate("Tea?", rounds=2)
    assert worst.tries == worst.by_agent[0].tries == tries * worst.calls
    assert worst.cost_with_retries_usd == pytest.approx(tries * worst.cost_usd)


async def test_no_debate_sends_more_requests_than_its_estimate_with_retries():
    """Every second answer of each agent is one of no use, and is paid for."""
    paid = AgentError("empty", retryable=True)
    paid.usage = Usage(input_tokens=9, output_tokens=60, calls=1)
    model = CountingModel(lambda request: paid if len(model.begun) % 2 else said("Tea"))
    retry = RetryPolicy(max_attempts=2, base_delay_ms=0, on=("answer",))
    configs = [AgentConfig(id=name, name=name.title(), provider="scripted", retry=retry) for name in ("ada", "bo")]
    table = Roundtable([BaseAgent(config, model) for config in configs], storage="memory://", prices=PRICES)
    worst = table.estimate("Tea?", rounds=2)
    result = await table.debate("Tea?", rounds=2)
    assert worst.planned_calls < len(model.begun) <= worst.tries
    assert result.usage.cost_usd <= worst.cost_with_retries_usd


def test_agents_without_an_estimate_are_named():
    table = Roundtable([Silent("ada"), ScriptedModel([])], storage="memory://", prices=PRICES)
    worst = table.estimate("Tea or coffee?", rounds=2)
    assert worst.cost_usd is None
    assert worst.by_agent[0].calls == 2
    assert "ada" in worst.notes[-1]


def test_wrong_arguments_are_refused_as_in_a_debate():
    table = table_of(CountingModel("Tea"))
    with pytest.raises(ConfigurationError, match="rounds"):
        table.estimate("Tea?", rounds=0)
    small = ScriptedModel([], profile=ModelProfile(context_tokens=500))
    with pytest.raises(ContextTooLong):
        Roundtable([small], storage="memory://").estimate("Tea?")


class Kinds(BaseModeStrategy):
    """A mode that asks for every kind of answer, then ends the debate."""

    name = "kinds"

    def next_stage(self, view):
        for kind in ("position", "ballot", "ranking", "scores", "plan", "text"):
            if not self.stage_done(view, kind):
                sees = self.earlier_positions(view)
                facts = {"slot": 0, "agent": view.agents[0].id, "sees": sees, "tools": ToolPolicy(max=2)}
                counts = "inform" if kind in {"ballot", "ranking", "scores"} else None
                return Stage(name=kind, turns=(TurnSpec(**facts, answer=kind, counts=counts),))
        return EndRound() if view.current_round < 2 else EndDebate()


class Tools:
    def get_tools(self):
        return (AgentTool(name="search", description="Searches."),)

    async def execute_tool(self, name, tool_input):
        raise NotImplementedError


def on_paper(mode, agents, **more):
    return estimate_debate(asking(agents, **more), [Seated(agent.config, agent) for agent in agents], mode)


def test_an_estimate_covers_every_kind_of_answer_and_several_stages():
    table = table_of(CountingModel("Tea"), "ada", "bo", prices=PRICES)
    agents = [seat.agent for seat in table._wiring.seats(None)]
    assert on_paper(CourtMode(), agents, rounds=3).turns == 6
    assert on_paper(Kinds(), agents, rounds=5, options=("Tea", "Coffee")).turns == 12
    plain = on_paper(Kinds(), agents, rounds=1)
    agents[0].set_toolkit(Tools())
    tooled = on_paper(Kinds(), agents, rounds=1)
    assert (plain.calls, tooled.calls) == (12, 24)


class Endless(BaseModeStrategy):
    name = "endless"

    def __init__(self, agent):
        self.agent = agent

    def next_stage(self, view):
        return Stage(name="again", turns=(TurnSpec(slot=0, agent=self.agent),))


@pytest.mark.parametrize(
    ("agent", "message"), [("ada", "a second time in one round"), ("eve", "not in the debate: eve")]
)
def test_a_mode_that_would_never_end_is_refused(agent, message):
    with pytest.raises(ConfigurationError, match=message):
        on_paper(Endless(agent), seated(CountingModel("Tea"), "ada"))


class Broken(BaseModeStrategy):
    name = "broken"

    def steps(self, view):
        return len(None)


def test_a_mode_that_fails_is_named():
    with pytest.raises(ConfigurationError, match="mode 'broken' failed while planning: TypeError"):
        on_paper(Broken(), seated(CountingModel("Tea"), "ada"))


def test_the_estimate_bounds_a_budget_that_is_enough():
    from roundtable import Budget

    model = CountingModel(lambda _: said("Tea"))
    table = BlockingRoundtable(seated(model, "ada", "bo"), storage="memory://", prices=PRICES)
    worst = table.estimate("Tea or coffee?", rounds=2)
    budget = Budget(max_calls=worst.calls, max_tokens=worst.total_tokens, max_cost_usd=worst.cost_usd)
    assert table.debate("Tea or coffee?", rounds=2, budget=budget).status == "completed"
    table.close()


@pytest.mark.parametrize("mode", ["devils-advocate:reask=true", "oxford:reask=true"])
async def test_the_worst_case_holds_when_every_agent_leaves_its_side_and_is_asked_once_more(mode):
    straying = {"position": "Tea", "reasoning": "y" * 200, "confidence": 0.5, "stance": "NEUTRAL", "choice": "For"}
    model = ScriptedModel({name: ["{", straying] * 10 for name in ("ada", "bo", "cy")})
    table = Roundtable(wordy(model, "ada", "bo", "cy", max_tokens=100), storage="memory://", prices=PRICES)
    worst = table.estimate("Tea?", mode=mode, rounds=2)
    result = await table.debate("Tea?", mode=mode, rounds=2)
    assert result.roster.complete
    assert any(turn.stage == "reask" for held in result.rounds for turn in held.turns)
    assert worst.planned_calls < result.usage.calls <= worst.calls
    assert worst.planned_calls == table.estimate("Tea?", mode=mode.partition(":")[0], rounds=2).planned_calls
    assert result.usage.total_tokens <= worst.total_tokens
    assert result.usage.cost_usd <= worst.cost_usd


async def test_the_worst_case_holds_when_a_facilitator_writes_the_maximum():
    def reply(request):
        if "(number of perspectives)" in request.messages[-1].content:
            return f'["{"z" * 1_400}"]'
        return said("Tea")

    model = ScriptedModel(reply)
    table = Roundtable(wordy(model, "ada", "bo", "cy", max_tokens=400), storage="memory://", prices=PRICES)
    worst = table.estimate("Tea?", rounds=1, mode="expert-panel:facilitated=true")
    result = await table.debate("Tea?", rounds=1, mode="expert-panel:facilitated=true")
    for entry, most in zip(result.roster.agents, worst.by_agent, strict=True):
        assert entry.usage.input_tokens * 2 <= most.input_tokens


def test_a_debate_with_too_many_calls_is_refused_before_they_are_summed() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    assert table.estimate("Tea?", rounds=2, most_calls=4).planned_calls == 4
    with pytest.raises(ConfigurationError, match="needs 4 model calls or more; 3 are allowed"):
        table.estimate("Tea?", rounds=2, most_calls=3)
    with pytest.raises(ConfigurationError, match="needs 1,000 model calls or more; 500 are allowed"):
        table.estimate("Tea?", rounds=10, mode="self-consistency:samples=1000", most_calls=500)
