"""The worst case of a debate: a simulation plans all its stages, with answers as long as possible."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import anyio

from roundtable.api.roles import agents_of
from roundtable.core.base.eventloop import PerLoop, on_thread
from roundtable.core.base.words import counted
from roundtable.core.capabilities import HasFirstRequest
from roundtable.core.chat_models import meters_of
from roundtable.core.engine.plan_limits import BoundedMode
from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.rounds import RoundPlanner
from roundtable.core.mode.simulate import check_config
from roundtable.core.prompts.claims import claim_id
from roundtable.core.record.fold import Fold
from roundtable.core.stages import restrict_view
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.answers import (
    MOST_CLAIMS,
    AgentResponse,
    ApprovalAnswer,
    BallotAnswer,
    Claim,
    PlanAnswer,
    RankingAnswer,
    RoleViolation,
    ScoresAnswer,
    TextAnswer,
    TurnKey,
)
from roundtable.core.types.attachments import stored_contents
from roundtable.core.types.base import utc_now
from roundtable.core.types.budget import AgentEstimate, Estimate
from roundtable.core.types.debate import SessionRecord, Turn, TurnResult
from roundtable.core.types.events import AgentComplete, RoundComplete, RoundStart
from roundtable.core.types.plan import EndDebate, Stage
from roundtable.gateway.budget import SEARCH_TOKENS, prompt_tokens, search_tokens
from roundtable.gateway.prices import to_usd
from roundtable.modes.prepare import prepare_mode
from roundtable.tools import AskingToolkit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from roundtable.agents import BaseAgent
    from roundtable.api.seats import Seated
    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import Agent, AgentToolkit, ChatModel, DebateModeStrategy
    from roundtable.core.record.transitions import HeldRound
    from roundtable.core.types.answers import Answer
    from roundtable.core.types.attachments import Attachment
    from roundtable.core.types.chat import ChatRequest
    from roundtable.core.types.debate import DebateConfig, DebateContext, DebateRecord
    from roundtable.core.types.plan import TurnSpec
    from roundtable.scoring import Rule
    from roundtable.tools import ModelCall

__all__ = ["Extra", "estimate_debate", "simulate_aside"]

ESTIMATE_S: Final = 10.0
"""Seconds that the simulation of a debate may take on a thread beside an event loop."""

_simulations: Final[PerLoop[anyio.CapacityLimiter]] = PerLoop(partial(anyio.CapacityLimiter, 2))
"""Limits the simulations that run beside an event loop. More would slow each other down until all exceed the time."""


async def simulate_aside(simulation: Callable[[], Estimate]) -> Estimate:
    """Run a simulation on a thread beside the event loop.

    Raises:
        ConfigurationError: It took longer than `ESTIMATE_S` seconds; retryable.
    """
    limiter, borrower = _simulations.get(), object()
    await limiter.acquire_on_behalf_of(borrower)
    with anyio.move_on_after(ESTIMATE_S):
        ended = partial(limiter.release_on_behalf_of, borrower)
        return await on_thread(simulation, name="roundtable estimate", ended=ended)
    msg = f"the rounds of this debate could not be planned within {ESTIMATE_S:g} s"
    raise ConfigurationError(msg, retryable=True, hint="Use fewer rounds or agents, or another mode.")


CHARS_PER_TOKEN: Final = 3.5
"""Characters per token of the longest text, according to the estimate that is used to cut prompts."""
REPAIR_TOKENS: Final = 120
"""Tokens that a repair message adds to a prompt, in addition to the answer that could not be parsed."""
TOOL_RESULT_TOKENS: Final = 6_000
"""Maximum tokens that one tool result adds to a prompt."""
_LONGEST_MOTION: Final = 600
_MOST_TOOL_ROUNDS: Final[int] = AgentConfig.model_fields["max_tool_rounds"].default
"""Rounds of tools in a turn of an agent without an `AgentConfig`."""
_CLAIM_TOKENS: Final = 60
"""Tokens of a typical claim in an answer, with labels and a source."""


@dataclass(slots=True)
class _AgentTotals:
    """The most that one agent may consume, added up turn by turn."""

    agent: Agent
    leaves_side: bool = False
    votes: bool = False
    place: int = 0
    turns: int = 0
    calls: int = 0
    planned_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0
    cost: Decimal | None = Decimal(0)
    tries: int = 0
    cost_with_retries: Decimal | None = Decimal(0)

    def without_totals(self) -> _AgentTotals:
        """Return the same agent with all totals reset to zero."""
        return _AgentTotals(self.agent, leaves_side=self.leaves_side, votes=self.votes, place=self.place)

    def add(self, view: DebateContext, spec: TurnSpec) -> int | None:
        """Add a turn; return the maximum number of tokens of its answer, or `None` if it is unknown."""
        self.turns += 1
        self.planned_calls += 1
        agent = self.agent
        if not isinstance(agent, HasFirstRequest):
            self.calls += 1
            self.tries += 1
            self.cost = self.cost_with_retries = None
            return None
        request = agent.first_request(restrict_view(view, spec))
        answer_tokens = request.max_tokens
        results_per_round, prompt_size = _results_per_tool_round(agent, spec), prompt_tokens(request)
        if request.search and results_per_round and agent.chat_model.profile.search_alone:
            # The search is a separate call, before the calls that may ask for tools.
            search_model = agent.chat_model.profile.search_model or request.model
            self.planned_calls += 1
            self._call(agent.chat_model, request.model_copy(update={"model": search_model}), prompt_size)
            request, prompt_size = request.model_copy(update={"search": None}), prompt_size + TOOL_RESULT_TOKENS
        meters = meters_of(agent.chat_model)
        pages_tokens = max((search_tokens(request, meter.provider_info) for meter, _ in meters), default=0)
        *prompts, repair_size = _prompt_sizes(prompt_size, answer_tokens + pages_tokens, results_per_round)
        for size in prompts:
            self._call(agent.chat_model, request, size)
        self._call(agent.chat_model, request.model_copy(update={"search": None}), repair_size)
        # The text that the agent writes for a tool is part of its answer, so it is not longer than the answer.
        for call in _most_expensive_call(agent, spec, answer_tokens):
            for _ in range(sum(results_per_round)):
                self._call(call.model, call.request, prompt_tokens(call.request) + answer_tokens)
        return answer_tokens

    def add_calls(self, request: ChatRequest, most: int) -> None:
        """Add a call outside of turns that is made up to `most` times."""
        self.planned_calls += 1
        model = getattr(self.agent, "chat_model", None)
        for _ in range(most):
            self._call(model, request, prompt_tokens(request))
        if next(meters_of(model), None) is None:
            # The own model of an analyzer: this table does not meter it, so its price is unknown.
            self.calls += most
            self.tries += most
            self.input_tokens += prompt_tokens(request) * most
            self.output_tokens += request.max_tokens * most
            self.cost = self.cost_with_retries = None

    def _call(self, model: object, request: ChatRequest, prompt_size: int) -> None:
        is_first = True
        for meter, tries in meters_of(model):
            model_id = request.model if is_first and request.model else meter.model
            provider = meter.provider_info
            pages_tokens = search_tokens(request, provider)
            size = (prompt_size + pages_tokens, request.max_tokens) if provider.counts_tokens else (0, 0)
            searches = request.search.max_uses if request.search else 0
            price = meter.worst_cost(model_id, *size, searches=searches)
            self.cost = _add_price(self.cost, price)
            self.cost_with_retries = _add_price(self.cost_with_retries, price, tries)
            self.calls += 1
            self.tries += tries
            self.input_tokens += size[0]
            self.output_tokens += size[1]
            self.searches += searches
            is_first = False

    def longest_answer(self, spec: TurnSpec, view: DebateContext, tokens: int) -> Answer:
        """Return the longest answer of the kind that a turn requires."""
        text = "x" * int(tokens * CHARS_PER_TOKEN)
        options = spec.options or view.options or ()
        match spec.answer:
            case "position":
                # A vote shows all different answers again, so these answers must differ and be long.
                shown = _LONGEST_MOTION if self.votes else 0
                longest = choice = max(options, key=len, default=None)
                if self.votes and longest is not None:  # a vote quotes one answer for every chosen option
                    choice = options[(self.place + self.turns) % len(options)]
                    text += "x" * (len(longest) - len(choice))
                return AgentResponse(
                    agent_id=self.agent.id,
                    agent_name=self.agent.name,
                    position=f"{self.agent.id} {text[:shown]}" if self.votes else "x",
                    reasoning=text[shown:],
                    confidence=1.0,
                    choice=choice,
                    claims=self._labels(view),
                    role_violation=RoleViolation(expected=spec.stance) if self.leaves_side and spec.stance else None,
                )
            case "ballot":
                return BallotAnswer(choice=max(options, key=len, default=None), reasoning=text)
            case "ranking":
                return RankingAnswer(ranking=tuple((option,) for option in options), reasoning=text)
            case "approval":
                return ApprovalAnswer(approved=options, reasoning=text)
            case "scores":
                return ScoresAnswer(scores=dict.fromkeys(options, 1.0), reasoning=text)
            case "plan":
                return PlanAnswer(goal="x", strategy=text)
            case "text":
                # Some modes parse a list from a text, such as perspectives; the longest list has one long entry.
                return TextAnswer(text=f'["{text}"]')
            case _:
                assert_never(spec.answer)

    def _labels(self, view: DebateContext) -> tuple[Claim, ...]:
        """Return claims that have only labels, because a prompt adds the labels to the agent's own text."""
        if not view.claims:
            return ()
        turn = TurnKey(view.current_round, f"turn-{self.turns}", self.place)
        ids = (claim_id(view.topic, view.seed, turn, number) for number in range(1, MOST_CLAIMS + 1))
        return tuple(Claim(id=label, text="x") for label in ids)

    def to_estimate(self) -> AgentEstimate:
        return AgentEstimate(
            agent_id=self.agent.id,
            turns=self.turns,
            calls=self.calls,
            planned_calls=self.planned_calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            searches=self.searches,
            cost_usd=to_usd(self.cost),
            tries=self.tries,
            cost_with_retries_usd=to_usd(self.cost_with_retries),
        )


def _add_price(sum_so_far: Decimal | None, price: Decimal | None, times: int = 1) -> Decimal | None:
    """Add a price `times` times to a sum; an unknown price makes the sum unknown."""
    return None if sum_so_far is None or price is None else sum_so_far + price * times


def _results_per_tool_round(agent: HasFirstRequest, spec: TurnSpec) -> list[int]:
    """Return how many results each round of tools adds; most are in the first round, which is the worst case."""
    toolkit: AgentToolkit | None = getattr(agent, "toolkit", None)
    if toolkit is None or not agent.chat_model.profile.calls_tools or not toolkit.get_tools():
        return []
    config: object = getattr(agent, "config", None)
    most_rounds = config.max_tool_rounds if isinstance(config, AgentConfig) else _MOST_TOOL_ROUNDS
    rounds = min(spec.tools.max, (spec.max_steps or most_rounds + 1) - 1)
    return [spec.tools.max - rounds + 1, *[1] * (rounds - 1)] if rounds > 0 else []


def _most_expensive_call(agent: HasFirstRequest, spec: TurnSpec, answer_tokens: int) -> Sequence[ModelCall]:
    """Return the model calls of the tool whose calls cost most; an empty sequence if no tool calls a model."""
    toolkit: object = getattr(agent, "toolkit", None)
    if not isinstance(toolkit, AskingToolkit):
        return ()
    return max(toolkit.asks(spec.tools.allow), key=lambda asks: _worst_price(asks, answer_tokens), default=())


def _worst_price(calls: Iterable[ModelCall], answer_tokens: int) -> tuple[bool, Decimal, int]:
    """Return the most that calls consume, as a sort key: unknown price, then dollars, then tokens."""
    cost: Decimal | None = Decimal(0)
    tokens = 0
    for call in calls:
        size = prompt_tokens(call.request) + answer_tokens, call.request.max_tokens
        tokens += sum(size)
        for meter, _ in meters_of(call.model):
            cost = _add_price(cost, meter.worst_cost(meter.model, *size))
    return cost is None, cost or Decimal(0), tokens


def _prompt_sizes(size: int, answer_tokens: int, results_per_round: Sequence[int]) -> Iterator[int]:
    """Yield the tokens of each prompt of a turn: the first, one after each round of tools, and the repeated one.

    An answer that cannot be parsed, or that cannot be read with certainty, is asked for once more. So a turn has at
    most one such prompt: the repair prompt or the closed question, which adds about as much.
    """
    yield size
    for results in results_per_round:
        size += answer_tokens + results * TOOL_RESULT_TOKENS
        yield size
    yield size + answer_tokens + REPAIR_TOKENS


@dataclass(frozen=True, slots=True)
class Extra:
    """Model calls outside of turns: analysis and synthesis."""

    role: str
    """What the calls are for, such as `analyzer`: the id of the agent in the estimate, numbered for several models."""
    calls: Callable[[DebateRecord], Sequence[ModelCall]]
    """Returns the calls, given the record of the simulated debate."""
    tries: int = 1
    """Maximum number of times that each call is made."""
    note: str = ""
    """When the calls are made, if they may be left out; `{calls}` stands for their number."""

    def by_agent(self, record: DebateRecord) -> Iterator[tuple[BaseAgent, list[ChatRequest]]]:
        """Yield an agent for each model that is called, with the requests to it."""
        models: dict[int, ChatModel] = {}
        requests: dict[int, list[ChatRequest]] = {}
        for call in self.calls(record):
            models[id(call.model)] = call.model
            requests.setdefault(id(call.model), []).append(call.request)
        return zip(agents_of(self.role, list(models.values())), requests.values(), strict=True)


def estimate_debate(
    config: DebateConfig,
    seats: Sequence[Seated],
    mode: DebateModeStrategy,
    *,
    auxiliary_agents: Mapping[str, Agent] | None = None,
    extras: Sequence[Extra] = (),
    most_calls: int | None = None,
    only: HeldRound | None = None,
    rules: Registry[Rule] | None = None,
    attachments: Sequence[Attachment] = (),
) -> Estimate:
    """Simulate a debate without calls, and add up the most that it may consume.

    Args:
        config: Configuration of the debate.
        seats: The agents that take part.
        mode: The mode, which plans the stages.
        auxiliary_agents: Auxiliary agents such as judges, by id.
        extras: Calls outside of turns.
        most_calls: Maximum number of planned calls; a debate is refused as soon as its plan exceeds this number.
        only: The only round whose turns count; turns of earlier rounds appear only in the prompts.
        rules: Registry to look up the decision rule; `None` means the built-in rules.
        attachments: Files that are attached to the question.

    Raises:
        ConfigurationError: The debate does not fit the mode; or the mode's plan never ends, has unknown agents, or has
            too many calls.
        ContextTooLong: A prompt does not fit a model's context window.
    """
    check_config(mode, config)
    auxiliary_agents = auxiliary_agents or {}
    totals_by_agent, fold = _simulate(
        config,
        seats,
        mode,
        auxiliary_agents,
        leaves_side=mode.assigns_stances,
        most_calls=most_calls,
        only=only,
        rules=rules,
        attachments=attachments,
    )
    if mode.assigns_stances:
        # In the best case, all agents keep their assigned side, and no agent is asked again.
        for agent_id, best_case in _simulate(
            config,
            seats,
            mode,
            auxiliary_agents,
            leaves_side=False,
            only=only,
            rules=rules,
            attachments=attachments,
        )[0].items():
            totals = totals_by_agent[agent_id]
            totals.turns, totals.planned_calls = best_case.turns, best_case.planned_calls
    notes = _add_extras(extras, fold.to_record(), totals_by_agent)
    _check_calls(totals_by_agent, 0, most_calls)
    whole = _total_estimate(tuple(totals.to_estimate() for totals in totals_by_agent.values()), totals_by_agent)
    whole = whole.model_copy(update={"notes": (*whole.notes, *notes)})
    if not config.claims:
        return whole
    without = estimate_debate(
        config.model_copy(update={"claims": False}),
        seats,
        mode,
        auxiliary_agents=auxiliary_agents,
        extras=extras,
        most_calls=most_calls,
        only=only,
        rules=rules,
        attachments=attachments,
    )
    return whole.model_copy(update={"notes": (*whole.notes, _claims_note(whole, without))})


def _add_extras(
    extras: Sequence[Extra], record: DebateRecord, totals_by_agent: dict[str, _AgentTotals]
) -> tuple[str, ...]:
    """Add the calls outside of turns; return notes on calls that may be left out."""
    calls_by_note: dict[str, int] = {}
    for extra in extras:
        for agent, requests in extra.by_agent(record):
            totals_by_agent[agent.id] = totals = _AgentTotals(agent)
            for request in requests:
                totals.add_calls(request, extra.tries)
            if extra.note:
                calls_by_note[extra.note] = calls_by_note.get(extra.note, 0) + len(requests)
    return tuple(note.format(calls=counted(calls, "call")) for note, calls in calls_by_note.items())


def _claims_note(whole: Estimate, without: Estimate) -> str:
    """Return a sentence about what claims add to a debate."""
    tokens = whole.input_tokens - without.input_tokens, whole.output_tokens - without.output_tokens
    cost = ""
    if whole.cost_usd is not None and without.cost_usd is not None:
        cost = f", {max(whole.cost_usd - without.cost_usd, 0):.4f} USD"
    return (
        f"claims are included: they add at most {tokens[0]:,} input tokens and {tokens[1]:,} output tokens{cost}; each "
        f"of up to {MOST_CLAIMS} claims makes an answer about {_CLAIM_TOKENS} tokens longer, within the answer's limit"
    )


def _simulate(
    config: DebateConfig,
    seats: Sequence[Seated],
    mode: DebateModeStrategy,
    auxiliary_agents: Mapping[str, Agent],
    *,
    leaves_side: bool,
    most_calls: int | None = None,
    only: HeldRound | None = None,
    rules: Registry[Rule] | None = None,
    attachments: Sequence[Attachment] = (),
) -> tuple[dict[str, _AgentTotals], Fold]:
    """Simulate all rounds. With `leaves_side`, agents leave their assigned side, so they may be asked again."""
    mode = prepare_mode(mode, config, rules)
    votes = bool(config.vote)
    totals_by_agent = {
        seat.config.id: _AgentTotals(seat.agent, leaves_side=leaves_side, votes=votes, place=index)
        for index, seat in enumerate(seats)
        if seat.agent is not None
    }
    totals_by_agent |= {agent_id: _AgentTotals(agent) for agent_id, agent in auxiliary_agents.items()}
    agents = tuple(seat.config for seat in seats)
    fold = Fold(SessionRecord(id="estimate", config=config, agents=agents, contents=stored_contents(attachments)))
    for number in range(1, (config.rounds if only is None else only.number) + 1):
        if only is not None and number == only.number:
            totals_by_agent = {agent_id: totals.without_totals() for agent_id, totals in totals_by_agent.items()}
        start = RoundStart(session_id="estimate", timestamp=utc_now(), round=number, agents=config.agents)
        fold.apply(start.model_copy(update={"focus_question": config.focus_question}))
        ends = only is not None and only.ended and number == only.number
        if not _simulate_round(fold, mode, totals_by_agent, number, most_calls, ends=ends):
            break
        fold.apply(
            RoundComplete(session_id="estimate", timestamp=utc_now(), round=number, answered=len(seats), failed=0)
        )
    return totals_by_agent, fold


def _check_calls(totals_by_agent: Mapping[str, _AgentTotals], added: int, most: int | None) -> None:
    planned = sum(totals.planned_calls for totals in totals_by_agent.values()) + added
    if most is not None and planned > most:
        msg = f"this debate needs {planned:,} model calls or more; {most:,} are allowed"
        raise ConfigurationError(msg, hint="Use fewer rounds, agents or samples.")


def _simulate_round(
    fold: Fold,
    mode: DebateModeStrategy,
    totals_by_agent: dict[str, _AgentTotals],
    number: int,
    most_calls: int | None,
    *,
    ends: bool,
) -> bool:
    """Simulate the stages of one round; return whether the debate continues.

    With `ends`, an exit criterion ends the debate after this round, so the final vote of the debate follows, if any.
    """
    planner = RoundPlanner(BoundedMode(mode))
    while isinstance(plan := planner.next_plan(view := fold.view()), Stage) or (
        ends and isinstance(plan := planner.next_plan(view := fold.view(ends=True)), Stage)
    ):
        missing = sorted({spec.agent for spec in plan.turns} - totals_by_agent.keys())
        if missing:
            stage_label = f"mode {mode.name!r}: stage {plan.name!r}"
            raise ConfigurationError(f"{stage_label} names agents that are not in the debate: {', '.join(missing)}")
        _check_calls(totals_by_agent, len(plan.turns), most_calls)
        for spec in plan.turns:
            totals = totals_by_agent[spec.agent]
            answer_tokens = totals.add(view, spec)
            turn = Turn(
                round=number,
                stage=plan.name,
                slot=spec.slot,
                agent_id=totals.agent.id,
                agent_name=totals.agent.name,
                role=spec.role,
                timestamp=utc_now(),
                result=TurnResult(answer=totals.longest_answer(spec, view, answer_tokens or 0)),
                independent=not spec.sees,
            )
            fold.apply(
                AgentComplete(
                    session_id="estimate", timestamp=utc_now(), turn=turn, agent=totals.agent.id, round=number
                )
            )
    return not isinstance(plan, EndDebate)


def _total_cost(costs: Iterable[Decimal | None]) -> float | None:
    total: Decimal | None = Decimal(0)
    for cost in costs:
        total = _add_price(total, cost)
    return to_usd(total)


def _total_estimate(by_agent: tuple[AgentEstimate, ...], totals_by_agent: dict[str, _AgentTotals]) -> Estimate:
    foreign = [
        estimate.agent.id for estimate in totals_by_agent.values() if not isinstance(estimate.agent, HasFirstRequest)
    ]
    notes = [
        "calls, tokens and cost exclude retries; a refused try costs nothing, but a try that breaks off may be billed"
    ]
    searches = sum(estimate.searches for estimate in by_agent)
    if searches:
        notes.append(
            f"at most {searches:,} web searches by providers are included, each at its list price and with "
            f"{SEARCH_TOKENS:,} tokens of pages; Google accepts no limit, so its agents may search more often"
        )
    if foreign:
        notes.append(f"how much {', '.join(foreign)} may use is unknown, because they do not say what they ask a model")
    return Estimate(
        turns=sum(estimate.turns for estimate in by_agent),
        calls=sum(estimate.calls for estimate in by_agent),
        planned_calls=sum(estimate.planned_calls for estimate in by_agent),
        input_tokens=sum(estimate.input_tokens for estimate in by_agent),
        output_tokens=sum(estimate.output_tokens for estimate in by_agent),
        searches=searches,
        cost_usd=_total_cost(estimate.cost for estimate in totals_by_agent.values()),
        tries=sum(estimate.tries for estimate in by_agent),
        cost_with_retries_usd=_total_cost(estimate.cost_with_retries for estimate in totals_by_agent.values()),
        by_agent=by_agent,
        notes=tuple(notes),
    )
