"""The worst case of a debate: its stages planned as they would be, with answers as long as they may be."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, assert_never

from roundtable.agents import BaseAgent
from roundtable.agents.tool_loop import MOST_TOOL_ROUNDS
from roundtable.engine.plans import check_plan, plan_of, whole_mode
from roundtable.errors import ConfigurationError
from roundtable.gateway import FallbackModel, GuardedModel, MeteredModel
from roundtable.gateway.metering import prompt_tokens
from roundtable.gateway.prices import to_usd
from roundtable.gateway.usage import TOKENLESS
from roundtable.modes import check_config
from roundtable.record import Fold
from roundtable.stages import narrow
from roundtable.tools import DefaultAgentToolkit
from roundtable.types import (
    AgentComplete,
    AgentEstimate,
    AgentResponse,
    BallotAnswer,
    EndDebate,
    Estimate,
    PlanAnswer,
    RankingAnswer,
    RoleViolation,
    RoundComplete,
    RoundStart,
    ScoresAnswer,
    SessionRecord,
    Stage,
    TextAnswer,
    Turn,
    TurnResult,
    utc_now,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from roundtable.api.seats import Seated
    from roundtable.protocols import Agent, DebateModeStrategy
    from roundtable.tools import ModelAsk
    from roundtable.types import Answer, ChatRequest, DebateConfig, DebateContext, DebateRecord, TurnSpec

__all__ = ["Extra", "estimated", "meters_of"]

CHARS_PER_TOKEN: Final = 3.5
"""The longest text of so many tokens, by the estimate that prompts are cut by."""
REPAIR_TOKENS: Final = 120
"""What asking once more adds to a prompt, besides the answer that could not be read."""
TOOL_RESULT_TOKENS: Final = 6_000
"""What one tool's result adds to a prompt at most."""
TOOL_STEPS: Final = MOST_TOOL_ROUNDS + 1
"""Model calls of a turn that states no limit."""


def meters_of(model: object) -> Iterator[MeteredModel]:
    """Find the meters of a model, through what stands round them."""
    return (meter for meter, _ in _tried(model))


def _tried(model: object, tries: int = 1) -> Iterator[tuple[MeteredModel, int]]:
    """Find the meters of a model, each with how often a call of it may be tried."""
    if isinstance(model, MeteredModel):
        yield model, tries
    elif isinstance(model, FallbackModel):
        for one in model.models:
            yield from _tried(one, tries)
    elif isinstance(model, GuardedModel):
        yield from _tried(model.inner, model.guard.rule.most_tries)


@dataclass(slots=True)
class _Sum:
    """What one agent may take, grown turn by turn."""

    agent: Agent
    strays: bool = False
    turns: int = 0
    calls: int = 0
    planned_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    tries: int = 0
    cost_with_retries: Decimal | None = Decimal(0)

    def add(self, view: DebateContext, spec: TurnSpec) -> int | None:
        """Add a turn; give the tokens of its answer, `None` where they cannot be known."""
        self.turns += 1
        self.planned_calls += 1
        agent = self.agent
        if not isinstance(agent, BaseAgent):
            self.calls += 1
            self.tries += 1
            self.cost = self.cost_with_retries = None
            return None
        request = agent.first_request(narrow(view, spec))
        longest = request.max_tokens
        results = _tool_results(agent, spec)
        for sent in _prompts(prompt_tokens(request), longest, results):
            self._call(agent.chat_model, request, sent)
        # What the agent writes for a tool is part of its own answer, and so no longer than that.
        for ask in _dearest(agent, spec, longest) * sum(results):
            self._call(ask.model, ask.request, prompt_tokens(ask.request) + longest)
        return longest

    def ask(self, request: ChatRequest, most: int) -> None:
        """Add a call that no turn makes, made so often at most."""
        self.planned_calls += 1
        for _ in range(most):
            self._call(getattr(self.agent, "chat_model", None), request, prompt_tokens(request))

    def _call(self, model: object, request: ChatRequest, sent: int) -> None:
        first = True
        for meter, tries in _tried(model):
            name = request.model if first and request.model else meter.model
            most = (0, 0) if meter.provider in TOKENLESS else (sent, request.max_tokens)
            price = meter.prices.worst(meter.provider, name, *most, endpoint=meter.endpoint)
            self.cost = _plus(self.cost, price)
            self.cost_with_retries = _plus(self.cost_with_retries, price, tries)
            self.calls += 1
            self.tries += tries
            self.input_tokens += most[0]
            self.output_tokens += most[1]
            first = False

    def longest_answer(self, spec: TurnSpec, view: DebateContext, tokens: int) -> Answer:
        """Give an answer of the kind asked for that fills its tokens."""
        text = "x" * int(tokens * CHARS_PER_TOKEN)
        options = spec.options or view.options or ()
        match spec.answer:
            case "position":
                return AgentResponse(
                    agent_id=self.agent.id,
                    agent_name=self.agent.name,
                    position="x",
                    reasoning=text,
                    confidence=1.0,
                    choice=max(options, key=len, default=None),
                    role_violation=RoleViolation(expected=spec.stance) if self.strays and spec.stance else None,
                )
            case "ballot":
                return BallotAnswer(choice=max(options, key=len, default=None), reasoning=text)
            case "ranking":
                return RankingAnswer(ranking=tuple((option,) for option in options), reasoning=text)
            case "scores":
                return ScoresAnswer(scores=dict.fromkeys(options, 1.0), reasoning=text)
            case "plan":
                return PlanAnswer(goal="x", strategy=text)
            case "text":
                # Some modes read a list out of a text, such as perspectives; the longest list has one long entry.
                return TextAnswer(text=f'["{text}"]')
            case _:
                assert_never(spec.answer)

    def to_estimate(self) -> AgentEstimate:
        return AgentEstimate(
            agent_id=self.agent.id,
            turns=self.turns,
            calls=self.calls,
            planned_calls=self.planned_calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=to_usd(self.cost),
            tries=self.tries,
            cost_with_retries_usd=to_usd(self.cost_with_retries),
        )


def _plus(sum_so_far: Decimal | None, price: Decimal | None, times: int = 1) -> Decimal | None:
    """Add a price some times; what is unknown makes the sum unknown."""
    return None if sum_so_far is None or price is None else sum_so_far + price * times


def _tool_results(agent: BaseAgent, spec: TurnSpec) -> list[int]:
    """Give how many results each round of tools adds; it costs most to have most of them at once, first."""
    if agent.toolkit is None or not agent.chat_model.profile.calls_tools or not agent.toolkit.get_tools():
        return []
    rounds = min(spec.tools.max, (spec.max_steps or TOOL_STEPS) - 1)
    return [spec.tools.max - rounds + 1, *[1] * (rounds - 1)] if rounds > 0 else []


def _dearest(agent: BaseAgent, spec: TurnSpec, longest: int) -> tuple[ModelAsk, ...]:
    """Give what one call of the tool that costs most asks models; nothing where no tool says that it asks any."""
    if not isinstance(agent.toolkit, DefaultAgentToolkit):
        return ()
    return max(agent.toolkit.asks(spec.tools.allow), key=lambda asks: _price(asks, longest), default=())


def _price(asks: Iterable[ModelAsk], longest: int) -> tuple[bool, Decimal, int]:
    """Give what calls take at most, for comparing: an unknown price first, then dollars, then tokens."""
    cost: Decimal | None = Decimal(0)
    tokens = 0
    for ask in asks:
        size = prompt_tokens(ask.request) + longest, ask.request.max_tokens
        tokens += sum(size)
        for meter in meters_of(ask.model):
            cost = _plus(cost, meter.prices.worst(meter.provider, meter.model, *size, endpoint=meter.endpoint))
    return cost is None, cost or Decimal(0), tokens


def _prompts(sent: int, longest: int, tool_results: Sequence[int]) -> Iterator[int]:
    """Give the tokens of each prompt of a turn: the first, one after each round of tools, one that asks again."""
    yield sent
    for results in tool_results:
        sent += longest + results * TOOL_RESULT_TOKENS
        yield sent
    yield sent + longest + REPAIR_TOKENS


@dataclass(frozen=True, slots=True)
class Extra:
    """Calls that no turn makes: analysis and synthesis."""

    agent: BaseAgent
    """Stands for who makes them."""
    requests: Callable[[DebateRecord], Sequence[ChatRequest]]
    """Gives them, once the debate is held on paper."""
    tries: int = 1
    """How often each is made at most."""


def estimated(
    config: DebateConfig,
    seats: Sequence[Seated],
    mode: DebateModeStrategy,
    *,
    beside: Mapping[str, Agent] | None = None,
    extras: Sequence[Extra] = (),
    most_calls: int | None = None,
) -> Estimate:
    """Hold a debate on paper and add up what it may take at most.

    Args:
        config: What to debate and how.
        seats: Who takes part.
        mode: Says what happens next.
        beside: Who sits beside the table, by id.
        extras: Calls that no turn makes.
        most_calls: Planned calls above which it is refused, as soon as the plan comes to them.

    Raises:
        ConfigurationError: The debate makes no sense in the mode, or the mode plans what would never end, or agents
            that are not there, or too many calls.
        ContextTooLong: A prompt does not fit a model's window.
    """
    check_config(mode, config)
    beside = beside or {}
    sums, fold = _held(config, seats, mode, beside, strays=mode.assigns_stances, most_calls=most_calls)
    if mode.assigns_stances:
        # At best nobody leaves the side it was given, and nobody is asked for it once more.
        for agent_id, kept in _held(config, seats, mode, beside, strays=False)[0].items():
            sums[agent_id].turns, sums[agent_id].planned_calls = kept.turns, kept.planned_calls
    record = fold.to_record()
    for extra in extras:
        sums[extra.agent.id] = one = _Sum(extra.agent)
        for request in extra.requests(record):
            one.ask(request, extra.tries)
    _check_calls(sums, 0, most_calls)
    return _total(tuple(one.to_estimate() for one in sums.values()), sums)


def _held(
    config: DebateConfig,
    seats: Sequence[Seated],
    mode: DebateModeStrategy,
    beside: Mapping[str, Agent],
    *,
    strays: bool,
    most_calls: int | None = None,
) -> tuple[dict[str, _Sum], Fold]:
    """Take all rounds; with `strays`, everybody leaves the side it was given, and so may be asked once more."""
    mode = whole_mode(mode, config)
    sums = {seat.config.id: _Sum(seat.agent, strays=strays) for seat in seats if seat.agent is not None}
    sums |= {agent_id: _Sum(agent) for agent_id, agent in beside.items()}
    fold = Fold(SessionRecord(id="estimate", config=config, agents=tuple(seat.config for seat in seats)))
    for number in range(1, config.rounds + 1):
        start = RoundStart(session_id="estimate", timestamp=utc_now(), round=number, agents=config.agents)
        fold.apply(start.model_copy(update={"focus_question": config.focus_question}))
        if not _hold_round(fold, mode, sums, number, most_calls):
            break
        fold.apply(
            RoundComplete(session_id="estimate", timestamp=utc_now(), round=number, answered=len(seats), failed=0)
        )
    return sums, fold


def _check_calls(sums: Mapping[str, _Sum], more: int, most: int | None) -> None:
    planned = sum(one.planned_calls for one in sums.values()) + more
    if most is not None and planned > most:
        msg = f"this debate takes {planned:,} model calls or more; {most:,} are allowed"
        raise ConfigurationError(msg, hint="Ask for fewer rounds, agents or samples.")


def _hold_round(
    fold: Fold, mode: DebateModeStrategy, sums: dict[str, _Sum], number: int, most_calls: int | None
) -> bool:
    """Take the stages of one round; tell whether the debate goes on."""
    held: set[str] = set()
    while True:
        view = fold.view()
        plan = plan_of(mode, view)
        check_plan(mode, plan, held)
        if not isinstance(plan, Stage):
            return not isinstance(plan, EndDebate)
        missing = sorted({spec.agent for spec in plan.turns} - sums.keys())
        if missing:
            where = f"mode {mode.name!r}: stage {plan.name!r}"
            raise ConfigurationError(f"{where} asks for agents that are not at the table: {', '.join(missing)}")
        held.add(plan.name)
        _check_calls(sums, len(plan.turns), most_calls)
        for spec in plan.turns:
            longest = sums[spec.agent].add(view, spec)
            agent = sums[spec.agent].agent
            turn = Turn(
                round=number,
                stage=plan.name,
                slot=spec.slot,
                agent_id=agent.id,
                agent_name=agent.name,
                role=spec.role,
                timestamp=utc_now(),
                result=TurnResult(answer=sums[spec.agent].longest_answer(spec, view, longest or 0)),
                independent=not spec.sees,
            )
            fold.apply(
                AgentComplete(session_id="estimate", timestamp=utc_now(), turn=turn, agent=agent.id, round=number)
            )


def _sum(costs: Iterable[Decimal | None]) -> float | None:
    total: Decimal | None = Decimal(0)
    for cost in costs:
        total = _plus(total, cost)
    return to_usd(total)


def _total(agents: tuple[AgentEstimate, ...], sums: dict[str, _Sum]) -> Estimate:
    foreign = [one.agent.id for one in sums.values() if not isinstance(one.agent, BaseAgent)]
    notes = [
        "calls, tokens and cost leave retries out; a try that a provider refuses costs nothing, one that broke off may"
    ]
    if foreign:
        notes.append(f"what {', '.join(foreign)} may take is unknown: no BaseAgent, so its prompts cannot be seen")
    return Estimate(
        turns=sum(one.turns for one in agents),
        calls=sum(one.calls for one in agents),
        planned_calls=sum(one.planned_calls for one in agents),
        input_tokens=sum(one.input_tokens for one in agents),
        output_tokens=sum(one.output_tokens for one in agents),
        cost_usd=_sum(one.cost for one in sums.values()),
        tries=sum(one.tries for one in agents),
        cost_with_retries_usd=_sum(one.cost_with_retries for one in sums.values()),
        by_agent=agents,
        notes=tuple(notes),
    )
