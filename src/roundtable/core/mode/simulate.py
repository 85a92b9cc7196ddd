"""Functions that run a mode without models: they check its options and plans, and find flaws in its prompts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.rounds import RoundPlanner
from roundtable.core.stages import as_shaper, restrict_view
from roundtable.core.types.answers import (
    AgentResponse,
    ApprovalAnswer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
)
from roundtable.core.types.debate import DebateContext, Seat, Turn, TurnResult
from roundtable.core.types.plan import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.answers import Answer
    from roundtable.core.types.debate import DebateConfig
    from roundtable.core.types.plan import TurnSpec

__all__ = ["Planned", "check_config", "check_supported", "first_turn_findings", "plan_table", "rehearse", "table_of"]

_NOON: Final = datetime(2031, 5, 17, 12, tzinfo=UTC)

_ROLE_WORDS: Final = "agent|speaker|participant|expert|member"
_SPEAKER_WORDS: Final = (
    rf"(?:(?:the |an)?other(?: \w+)?s?|opponents?|predecessors?|somebody|they|(?:{_ROLE_WORDS})s?|team)"
)
_SPEECH_VERBS: Final = "(?:said|spoken|stated|answered|argued|claimed|raised|proposed|responded|replied|wrote|found)"
_SPEECH_NOUNS: Final = "(?:answer|position|argument|speaker|round|turn|finding)s?"
_PRESUMES_EARLIER_TURN: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_SPEAKER_WORDS} (?:have |has |had )?(?:already |just )?{_SPEECH_VERBS}\b",
        r"\bwhat (?:was|were|has been|have been) (?:said|argued|claimed|found|raised)\b",
        r"\b(?:was|were) (?:said|raised|made) (?:by|in favour|against)\b",
        rf"\b(?:previous|earlier|preceding|last|above) {_SPEECH_NOUNS}\b",
        r"\b(?:steel-?man|rebut(?:tal)?|reply to|respond to|response to)\b",
        r"\banswer (?:the|their|his|her) (?:strongest|best|gravest|last)\b",
        r"\bthe (?:opposing|other) (?:view|side's (?:best|last) argument)\b",
        r"\byou have (?:heard|seen|read)\b",
    )
)


class Planned(NamedTuple):
    """A planned stage, and the view from which the mode planned it."""

    view: DebateContext
    stage: Stage


def check_supported(
    mode: DebateModeStrategy,
    name: str,
    *,
    agents: int | None,
    rounds: int,
    options: int | None = None,
    perspectives: int = 0,
) -> None:
    """Raise an error if a mode does not support a debate.

    Args:
        mode: The mode.
        name: Name of the mode as the caller wrote it.
        agents: Number of agents; `None` skips this check.
        rounds: Number of rounds.
        options: Number of options; `None` if agents word their own positions.
        perspectives: Number of perspectives.

    Raises:
        ConfigurationError: The mode does not support this number of rounds, agents or options, or it does not use
            perspectives.
    """
    if rounds not in mode.rounds:
        msg = f"mode {name!r} takes {_span(mode.rounds, 'round')}, not {rounds}"
        raise ConfigurationError(msg, hint="Use another number of rounds, or another mode.")
    counts = getattr(mode, "agent_counts", None)
    if agents is not None and isinstance(counts, range) and agents not in counts:
        msg = f"mode {name!r} needs {_span(counts, 'agent')}, not {agents}"
        raise ConfigurationError(msg, hint="Use another number of agents, or another mode.")
    choices = getattr(mode, "option_counts", None)
    if options is not None and isinstance(choices, range) and options not in choices:
        msg = f"mode {name!r} takes {_span(choices, 'option')}, not {options}"
        raise ConfigurationError(msg, hint="Use another number of options, or another mode.")
    if perspectives and not getattr(mode, "takes_perspectives", True):
        msg = f"mode {name!r} does not use perspectives"
        raise ConfigurationError(msg, hint="Leave perspectives out, or use a mode that has them.")


def check_config(mode: DebateModeStrategy, config: DebateConfig) -> None:
    """Raise an error if a mode does not support the debate of a configuration.

    Raises:
        ConfigurationError: The reasons are those of `check_supported`.
    """
    check_supported(
        mode,
        config.mode,
        agents=len(config.agents) or None,
        rounds=config.rounds,
        options=None if config.options is None else len(config.options),
        perspectives=len(config.perspectives),
    )


def _span(numbers: range, noun: str) -> str:
    first, last = numbers.start, numbers.stop - 1
    return counted(first, noun) if first == last else f"{first} to {counted(last, noun)}"


def table_of(agents: int) -> tuple[Seat, ...]:
    """Create a number of seats with placeholder names."""
    return tuple(Seat(id=f"agent-{number}", name=f"Agent {number}") for number in range(1, agents + 1))


def rehearse(
    mode: DebateModeStrategy,
    *,
    agents: int | Sequence[Seat] = 3,
    rounds: int = 2,
    topic: str = "Should we?",
    options: tuple[str, ...] | None = None,
    seed: int = 0,
) -> Iterator[Planned]:
    """Run a mode on placeholder answers, and yield each stage as it is planned.

    Raises:
        ConfigurationError: The mode raised an error, or it plans a stage that is not valid, or too many stages.

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
        planner = RoundPlanner(mode)
        while isinstance(plan := planner.next_plan(view), Stage):
            yield Planned(view, plan)
            turns = tuple(_placeholder_turn(view, plan.name, spec) for spec in plan.turns)
            view = view.model_copy(update={"transcript": (*view.transcript, *turns)})
        if plan.kind == "end_debate":
            return


def plan_table(
    mode: DebateModeStrategy, *, agents: int | Sequence[Seat] = 4, rounds: int = 2, topic: str = "Should we?"
) -> str:
    """Return a mode's plan as a table: one line per turn, with the answers that its prompt shows and their names.

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
                    ", ".join(_shown_answers(mode, view, spec)) or "-",
                )
            )
            for spec in stage.turns
        )
    return "\n".join(lines) + "\n"


def _shown_answers(mode: DebateModeStrategy, view: DebateContext, spec: TurnSpec) -> list[str]:
    """List the key and the shown name of each answer in a prompt; an agent's own answers are listed as `you`."""
    context, shaper = restrict_view(view, spec), as_shaper(mode)
    if shaper is not None:
        context = shaper.transform_context(context)
    names = ["you" if answer.agent_id == spec.agent else answer.agent_name for answer in context.previous_responses]
    keys = (visible.turn for visible in spec.sees)
    return [f"{key.round}/{key.stage}/{key.slot} as {name}" for key, name in zip(keys, names, strict=True)]


def _placeholder_turn(view: DebateContext, stage: str, spec: TurnSpec) -> Turn:
    name = next((seat.name for seat in view.agents if seat.id == spec.agent), spec.agent)
    return Turn(
        round=view.current_round,
        stage=stage,
        slot=spec.slot,
        agent_id=spec.agent,
        agent_name=name,
        role=spec.role,
        timestamp=_NOON,
        result=TurnResult(answer=_placeholder_answer(spec, name)),
        independent=not spec.sees,
    )


def _placeholder_answer(spec: TurnSpec, name: str) -> Answer:
    options = spec.options or ("one", "two")
    by_kind: dict[str, Answer] = {
        "ballot": BallotAnswer(choice=options[0]),
        "ranking": RankingAnswer(ranking=tuple((option,) for option in options)),
        "approval": ApprovalAnswer(approved=options[:1]),
        "scores": ScoresAnswer(scores=dict.fromkeys(options, 1.0)),
        "plan": PlanAnswer(goal="A goal."),
        "text": TextAnswer(text="Some text."),
    }
    if spec.answer in by_kind:
        return by_kind[spec.answer]
    choice = options[0] if spec.options else None
    return AgentResponse(
        agent_id=spec.agent,
        agent_name=name,
        position="A position.",
        stance=spec.stance,
        choice=choice,
        timestamp=_NOON,
    )


def first_turn_findings(mode: DebateModeStrategy, *, agents: int = 4) -> list[str]:
    """Find instructions that mention earlier speakers, although their turn does not see any earlier turn.

    The check only recognises English phrases.

    Args:
        mode: The mode. At least two of its rounds run on placeholder answers.
        agents: Number of agents.

    Returns:
        One line per finding: the stage, the role, and the words that were found.

    Example:
        >>> from roundtable.modes import AdversarialMode
        >>> first_turn_findings(AdversarialMode())
        []
    """
    rounds = max(2, mode.rounds.start)
    findings: dict[str, None] = {}
    for _, stage in rehearse(mode, agents=agents, rounds=rounds):
        for spec in stage.turns:
            if spec.sees:
                continue
            for pattern in _PRESUMES_EARLIER_TURN:
                for match in pattern.finditer(f"{spec.task}\n{spec.brief}"):
                    findings[f"{stage.name}, {spec.role}: {match[0]!r}"] = None
    return list(findings)
