"""Playing a mode without any agent: every turn is answered by a placeholder. Shows what a mode plans."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.errors import ConfigurationError
from roundtable.stages import narrow, shaper_of
from roundtable.types import (
    AgentResponse,
    BallotAnswer,
    DebateContext,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    Seat,
    Stage,
    TextAnswer,
    Turn,
    TurnResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import Answer, DebateConfig, TurnSpec

__all__ = ["MAX_STAGES", "Planned", "check_config", "check_fits", "plan_table", "rehearse", "table_of"]

MAX_STAGES: Final = 100
"""Stages after which a round counts as endless."""
_NOON: Final = datetime(2031, 5, 17, 12, tzinfo=UTC)


class Planned(NamedTuple):
    """A stage as it was planned, and what the mode saw when it planned it."""

    view: DebateContext
    stage: Stage


def check_fits(
    mode: DebateModeStrategy,
    name: str,
    *,
    agents: int | None,
    rounds: int,
    options: int | None = None,
    perspectives: int = 0,
) -> None:
    """Refuse a debate that makes no sense in a mode.

    Args:
        mode: The mode.
        name: What it was asked for as.
        agents: Seats at the table; `None` leaves them out.
        rounds: Rounds asked for.
        options: Options to choose from; `None` where agents find their own positions.
        perspectives: Perspectives given.

    Raises:
        ConfigurationError: It cannot be held for so many rounds, by so many agents or over so many options, or it
            has no use for perspectives.
    """
    if rounds not in mode.rounds:
        msg = f"mode {name!r} holds {_span(mode.rounds)} rounds, not {rounds}"
        raise ConfigurationError(msg, hint="Ask for another number of rounds, or use another mode.")
    counts = getattr(mode, "agent_counts", None)
    if agents is not None and isinstance(counts, range) and agents not in counts:
        msg = f"mode {name!r} needs {_span(counts)} agents, not {agents}"
        raise ConfigurationError(msg, hint="Seat another number of agents, or use another mode.")
    choices = getattr(mode, "option_counts", None)
    if options is not None and isinstance(choices, range) and options not in choices:
        msg = f"mode {name!r} takes {_span(choices)} options, not {options}"
        raise ConfigurationError(msg, hint="Give another number of options, or use another mode.")
    if perspectives and not getattr(mode, "takes_perspectives", True):
        msg = f"mode {name!r} does not look at perspectives"
        raise ConfigurationError(msg, hint="Use the mode 'expert-panel', or leave perspectives out.")


def check_config(mode: DebateModeStrategy, config: DebateConfig) -> None:
    """Refuse a debate that makes no sense in a mode.

    Raises:
        ConfigurationError: As for `check_fits`.
    """
    check_fits(
        mode,
        config.mode,
        agents=len(config.agents) or None,
        rounds=config.rounds,
        options=None if config.options is None else len(config.options),
        perspectives=len(config.perspectives),
    )


def _span(numbers: range) -> str:
    first, last = numbers.start, numbers.stop - 1
    return str(first) if first == last else f"{first} to {last}"


def table_of(agents: int) -> tuple[Seat, ...]:
    """Seat so many nameless agents."""
    return tuple(Seat(id=f"agent-{place}", name=f"Agent {place}") for place in range(1, agents + 1))


def rehearse(
    mode: DebateModeStrategy,
    *,
    agents: int | Sequence[Seat] = 3,
    rounds: int = 2,
    topic: str = "Should we?",
    options: tuple[str, ...] | None = None,
    seed: int = 0,
) -> Iterator[Planned]:
    """Play a mode on placeholders and give each stage as it is planned.

    Raises:
        ConfigurationError: The mode does not end a round, or ends it before anybody was asked.

    Example:
        >>> from roundtable.modes import AdversarialMode
        >>> [planned.stage.name for planned in rehearse(AdversarialMode(), agents=2, rounds=1)]
        ['speaker-1', 'speaker-2']
    """
    seats = table_of(agents) if isinstance(agents, int) else tuple(agents)
    view = DebateContext(
        session_id="rehearsal",
        topic=topic,
        mode=mode.name,
        agents=seats,
        total_rounds=rounds,
        options=options,
        seed=seed,
    )
    for number in range(1, rounds + 1):
        view = view.model_copy(update={"current_round": number})
        for _ in range(MAX_STAGES):
            plan = mode.next_stage(view)
            if not isinstance(plan, Stage):
                break
            yield Planned(view, plan)
            turns = tuple(_answered(view, plan.name, spec) for spec in plan.turns)
            view = view.model_copy(update={"transcript": (*view.transcript, *turns)})
        else:
            msg = f"mode {mode.name!r} does not end round {number}: {MAX_STAGES} stages were planned"
            raise ConfigurationError(msg)
        if plan.kind == "end_debate":
            return


def plan_table(
    mode: DebateModeStrategy, *, agents: int | Sequence[Seat] = 4, rounds: int = 2, topic: str = "Should we?"
) -> str:
    """Write a mode's plan as a table: one line a turn, with what its prompt shows and under which names.

    Example:
        >>> from roundtable.modes import FreeformMode
        >>> print(plan_table(FreeformMode(), agents=2, rounds=1), end="")
        round | stage | slot | agent | role | answer | sees
        1 | speaker-1 | 0 | agent-1 | speaker | position | -
        1 | speaker-2 | 0 | agent-2 | speaker | position | 1/speaker-1/0 as Agent 1
    """
    lines = ["round | stage | slot | agent | role | answer | sees"]
    for view, stage in rehearse(mode, agents=agents, rounds=rounds, topic=topic):
        lines.extend(
            " | ".join(
                (
                    str(view.current_round),
                    stage.name,
                    str(spec.slot),
                    spec.agent,
                    spec.role,
                    spec.answer,
                    ", ".join(_shown(mode, view, spec)) or "-",
                )
            )
            for spec in stage.turns
        )
    return "\n".join(lines) + "\n"


def _shown(mode: DebateModeStrategy, view: DebateContext, spec: TurnSpec) -> list[str]:
    """Say where each answer in the prompt stands, and under which name; an agent's own answer is shown as `you`."""
    context, shaper = narrow(view, spec), shaper_of(mode)
    if shaper is not None:
        context = shaper.transform_context(context)
    names = ["you" if said.agent_id == spec.agent else said.agent_name for said in context.previous_responses]
    places = (seen.turn for seen in spec.sees)
    return [f"{at.round}/{at.stage}/{at.slot} as {name}" for at, name in zip(places, names, strict=True)]


def _answered(view: DebateContext, stage: str, spec: TurnSpec) -> Turn:
    name = next((seat.name for seat in view.agents if seat.id == spec.agent), spec.agent)
    return Turn(
        round=view.current_round,
        stage=stage,
        slot=spec.slot,
        agent_id=spec.agent,
        agent_name=name,
        role=spec.role,
        timestamp=_NOON,
        result=TurnResult(answer=_placeholder(spec, name)),
        independent=not spec.sees,
    )


def _placeholder(spec: TurnSpec, name: str) -> Answer:
    options = spec.options or ("one", "two")
    made: dict[str, Answer] = {
        "ballot": BallotAnswer(choice=options[0]),
        "ranking": RankingAnswer(ranking=tuple((option,) for option in options)),
        "scores": ScoresAnswer(scores=dict.fromkeys(options, 1.0)),
        "plan": PlanAnswer(goal="A goal."),
        "text": TextAnswer(text="Some text."),
    }
    if spec.answer in made:
        return made[spec.answer]
    choice = options[0] if spec.options else None
    return AgentResponse(
        agent_id=spec.agent,
        agent_name=name,
        position="A position.",
        stance=spec.stance,
        choice=choice,
        timestamp=_NOON,
    )
