"""Conformance tests for debate modes, to inherit in the tests of a mode, and the transcripts that the tests use."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.mode.base import vote_options_of
from roundtable.core.mode.rounds import RoundPlanner, check_plan
from roundtable.core.mode.simulate import first_turn_findings, rehearse
from roundtable.core.stages import restrict_view
from roundtable.core.types.answers import (
    AgentResponse,
    ApprovalAnswer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    Stance,
    TextAnswer,
    TurnKey,
)
from roundtable.core.types.debate import DebateContext, ErrorInfo, FailedTurn, Seat, Turn, TurnResult
from roundtable.core.types.plan import EXTERNAL, Stage
from roundtable.modes import ModeRegistry, WrappedMode
from roundtable.testing.clocks import same_at_any_time
from roundtable.testing.plan_process import plans_by_hash_seed
from roundtable.testing.suite import LIMIT_S, Suite, at_once, drawn_law, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from roundtable.core.mode.simulate import Planned
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.answers import Answer, AnswerKind
    from roundtable.core.types.debate import AnyTurn
    from roundtable.core.types.plan import Plan, TurnSpec

__all__ = ["LATER", "MARK", "ModeSuite", "SimulatedDebate", "debates", "fewest_agents", "opening_views"]

_VOTES: Final = frozenset({"ballot", "ranking", "approval", "scores"})
"""Answers that are votes."""
MARK = "\u2042untrusted\u2042"
"""Mark that the topic and all texts of agents contain; no instruction of a mode may contain it."""
LATER = datetime(2031, 5, 17, 13, tzinfo=UTC)
"""An hour after all other times."""
_NOON = datetime(2031, 5, 17, 12, tzinfo=UTC)

# Created once, because drawing takes most of the time of a long debate.
_SEVERAL_OPTIONS = st.none() | st.just((f"{MARK} one", f"{MARK} two"))
_FOCUS = st.none() | st.just(f"{MARK}, really?")
_POSITIONS = st.sampled_from(tuple(product("abc", (0.0, 0.5, 1.0), (None, *get_args(Stance)))))


# A mode has no state, so one fixture may serve all drawn debates.
_LAW = drawn_law(30)

_TABLE: Final = ("ada", "bo", "cy", "di", "eve", "fay", "gus", "hal")
"""Agents whose ids have a different order in the sets of each process."""


_ALIKE: Final = ("ada", "Ada", "aDa", "adA", "ADa", "AdA", "aDA", "ADA")
"""Ids of different agents, which a mode must not take for one."""


@dataclass(slots=True)
class SimulatedDebate:
    """A simulated debate: each view that the mode got, and the plan that the mode returned."""

    steps: list[tuple[DebateContext, Plan]] = field(default_factory=list)
    """View and plan, in order."""

    @property
    def stages(self) -> list[tuple[DebateContext, Stage]]:
        """The steps whose plan is a stage."""
        return [(view, plan) for view, plan in self.steps if isinstance(plan, Stage)]


def fewest_agents(mode: DebateModeStrategy) -> int:
    """Return the smallest number of agents that a mode needs; 1 if the mode does not state it."""
    counts = getattr(mode, "agent_counts", None)
    return counts.start if isinstance(counts, range) else 1


@st.composite
def opening_views(
    draw: st.DrawFn, most_agents: int = 9, most_rounds: int = 10, *, fewest_agents: int = 1
) -> DebateContext:
    """Draw the view of a mode before the first turn."""
    count = draw(st.integers(fewest_agents, max(fewest_agents, most_agents)))
    options = draw(_SEVERAL_OPTIONS)
    return DebateContext(
        session_id="s",
        topic=f"{MARK}?",
        mode="sample",
        total_rounds=draw(st.integers(1, most_rounds)),
        options=options,
        focus_question=draw(_FOCUS),
        agents=tuple(Seat(id=f"a{number}", name=f"Agent {number}") for number in range(count)),
        seed=draw(st.integers(0, 9)),
    )


def debates(
    mode: DebateModeStrategy, *, most_agents: int = 9, most_rounds: int = 10, failing: bool = True
) -> st.SearchStrategy[SimulatedDebate]:
    """Draw whole debates: each turn is answered or fails, and sometimes a position comes from outside.

    Args:
        mode: The mode that plans them.
        most_agents: Maximum number of seats at the table.
        most_rounds: Maximum number of rounds; a mode may allow fewer.
        failing: Whether turns may fail.
    """

    @st.composite
    def draw_debate(draw: st.DrawFn) -> SimulatedDebate:
        view = draw(opening_views(most_agents, most_rounds, fewest_agents=fewest_agents(mode)))
        allowed = [number for number in range(1, view.total_rounds + 1) if number in mode.rounds] or [mode.rounds.start]
        view = view.model_copy(update={"total_rounds": allowed[-1]})
        played = SimulatedDebate()
        for number in range(1, view.total_rounds + 1):
            view = view.model_copy(update={"current_round": number})
            view = _play_round(draw, mode, view, played, failing=failing)
            if played.steps[-1][1].kind == "end_debate":
                break
        return played

    return draw_debate()


def _play_round(
    draw: st.DrawFn, mode: DebateModeStrategy, view: DebateContext, played: SimulatedDebate, *, failing: bool
) -> DebateContext:
    planner = RoundPlanner(mode)
    while True:
        if draw(st.integers(0, 5)) == 0:
            view = _with_turns(view, _external_turn(view))
        plan = planner.next_plan(view)
        played.steps.append((view, plan))
        if not isinstance(plan, Stage):
            return view
        turns = [_draw_turn(draw, view, plan.name, spec, failing=failing) for spec in plan.turns]
        view = _with_turns(view, *turns)


def _with_turns(view: DebateContext, *turns: AnyTurn) -> DebateContext:
    return view.model_copy(update={"transcript": (*view.transcript, *turns)})


def _ended_at(turn: AnyTurn, time: datetime, duration_s: float) -> AnyTurn:
    """Return a turn that ended at another time."""
    changes: dict[str, object] = {"timestamp": time, "duration_s": duration_s}
    if isinstance(turn, Turn) and isinstance(turn.answer, AgentResponse):
        answer = turn.answer.model_copy(update={"timestamp": time})
        changes["result"] = turn.result.model_copy(update={"answer": answer})
    return turn.model_copy(update=changes)


def _external_turn(view: DebateContext) -> Turn:
    slot = sum(1 for turn in view.transcript if (turn.round, turn.stage) == (view.current_round, EXTERNAL))
    answer = AgentResponse(agent_id="guest", agent_name="Guest", position=f"{MARK} from outside", timestamp=_NOON)
    return Turn(
        round=view.current_round,
        stage=EXTERNAL,
        slot=slot,
        agent_id="guest",
        agent_name="Guest",
        timestamp=_NOON,
        result=TurnResult(answer=answer),
    )


def _draw_turn(draw: st.DrawFn, view: DebateContext, stage: str, spec: TurnSpec, *, failing: bool) -> AnyTurn:
    name = next((seat.name for seat in view.agents if seat.id == spec.agent), spec.agent)
    if failing and draw(st.integers(0, 3)) == 0:
        return FailedTurn(
            round=view.current_round,
            stage=stage,
            slot=spec.slot,
            agent_id=spec.agent,
            agent_name=name,
            role=spec.role,
            timestamp=_NOON,
            error=ErrorInfo(name="AgentError", message=MARK, code="AGENT_ERROR"),
        )
    return Turn(
        round=view.current_round,
        stage=stage,
        slot=spec.slot,
        agent_id=spec.agent,
        agent_name=name,
        role=spec.role,
        timestamp=_NOON,
        result=TurnResult(answer=_ANSWERS[spec.answer](draw, spec, name)),
        independent=not spec.sees,
    )


def _draw_position(draw: st.DrawFn, spec: TurnSpec, name: str) -> Answer:
    letter, confidence, stance = draw(_POSITIONS)
    return AgentResponse(
        agent_id=spec.agent,
        agent_name=name,
        position=f"{MARK} {letter}",
        reasoning=MARK,
        confidence=confidence,
        stance=stance,
        choice=draw(_sampled(spec.options)) if spec.options else None,
        timestamp=_NOON,
    )


@cache
def _sampled(options: tuple[str | None, ...]) -> st.SearchStrategy[str | None]:
    return st.sampled_from(options)


def _options_of(spec: TurnSpec) -> tuple[str, ...]:
    return spec.options or ("one", "two")


_ANSWERS: dict[AnswerKind, Callable[[st.DrawFn, TurnSpec, str], Answer]] = {
    "position": _draw_position,
    "ballot": lambda draw, spec, _: BallotAnswer(choice=draw(_sampled((None, *_options_of(spec))))),
    "ranking": lambda draw, spec, _: RankingAnswer(
        ranking=tuple((option,) for option in draw(st.permutations(_options_of(spec))))
    ),
    "approval": lambda draw, spec, _: ApprovalAnswer(
        approved=tuple(draw(st.lists(st.sampled_from(_options_of(spec)), unique=True)))
    ),
    "scores": lambda draw, spec, _: ScoresAnswer(
        scores={option: float(draw(st.integers(0, 10))) for option in _options_of(spec)}
    ),
    "plan": lambda _draw, _spec, _name: PlanAnswer(goal=MARK, strategy=MARK),
    "text": lambda _draw, _spec, _name: TextAnswer(text=MARK),
}


class _LimitedMode(WrappedMode):
    """A wrapper that fails if a plan takes too long; `late` then holds the message, and further plans fail at once."""

    def __init__(self, mode: DebateModeStrategy, limit_s: float) -> None:
        super().__init__(mode)
        self.late: str | None = None
        self.agent_counts = getattr(mode, "agent_counts", None)
        self._limit_s = limit_s

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan as the wrapped mode does.

        Raises:
            AssertionError: The plan took too long.
        """
        if self.late is not None:
            raise AssertionError(self.late)
        try:
            return within(partial(self._plan, view), self._limit_s, what=f"a plan of mode {self.name!r}")
        except AssertionError as error:
            self.late = str(error)
            raise

    def _plan(self, view: DebateContext) -> Plan:
        return self.inner.next_stage(view)


class _NoWaiting(_LimitedMode):
    """A wrapper that also fails if the mode waits."""

    def _plan(self, view: DebateContext) -> Plan:
        return at_once(partial(self.inner.next_stage, view))


def _waiting_error(mode: DebateModeStrategy, limit_s: float = LIMIT_S) -> str | None:
    """Simulate a small debate; return an error message if the mode waits or takes too long, otherwise None."""
    try:
        limited = _NoWaiting(mode, limit_s)
        for _ in rehearse(limited, agents=max(3, fewest_agents(mode)), rounds=mode.rounds.start):
            pass
    except Exception as error:  # noqa: BLE001  (the tests report all other errors of the mode)
        return str(error.__cause__) if isinstance(error.__cause__, AssertionError) else None
    return None


def _rehearsed_views(mode: DebateModeStrategy) -> list[DebateContext]:
    """Return the views of small debates of named agents, with and without options."""
    counts = getattr(mode, "agent_counts", None)
    most = counts.stop - 1 if isinstance(counts, range) else len(_TABLE)
    names = _TABLE[: max(fewest_agents(mode), min(most, len(_TABLE)))]
    seats = tuple(Seat(id=name, name=name.title()) for name in names)
    rounds = min(mode.rounds.start + 1, mode.rounds.stop - 1)
    return [
        planned.view
        for options in (None, ("tea", "coffee"))
        for planned in rehearse(mode, agents=seats, rounds=rounds, options=options)
    ]


class _EndedEarly(WrappedMode):
    """A wrapper that asks the mode what follows a round after which a criterion ends the debate, as debates do."""

    def __init__(self, mode: DebateModeStrategy, last_round: int) -> None:
        super().__init__(mode)
        self._last_round = last_round

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan as the wrapped mode does, with `view.ends` once the round has ended."""
        plan = self.inner.next_stage(view)
        if plan.kind == "end_round" and view.current_round == self._last_round:
            return self.inner.next_stage(view.model_copy(update={"ends": True}))
        return plan


def _small_debates(mode: DebateModeStrategy, rounds: int) -> Iterator[list[Planned]]:
    """Yield the stages of small debates with and without options."""
    agents = max(3, fewest_agents(mode))
    counts = getattr(mode, "agent_counts", None)
    if isinstance(counts, range) and agents not in counts:
        agents = counts.start
    choices = getattr(mode, "option_counts", None)
    names = tuple(f"option {number}" for number in range(choices.start if isinstance(choices, range) else 2))
    for options in (None, names):
        yield list(rehearse(mode, agents=agents, rounds=rounds, options=options))


def _stages_of_round(debate: list[Planned], number: int) -> list[str]:
    return [planned.stage.name for planned in debate if planned.view.current_round == number]


def _outline(mode: DebateModeStrategy, ids: Sequence[str]) -> list[tuple[object, ...]]:
    """Return who speaks when in a small debate and how much each turn sees; a table that is too large is shortened."""
    counts = getattr(mode, "agent_counts", None)
    seats = tuple(Seat(id=name, name=f"Agent {number}") for number, name in enumerate(ids))
    if isinstance(counts, range):
        seats = seats[: max(counts.start, min(len(seats), counts.stop - 1))]
    rounds = min(mode.rounds.start + 1, mode.rounds.stop - 1)
    known = {seat.id for seat in seats}
    stages: list[tuple[object, ...]] = []
    for view, stage in rehearse(mode, agents=seats, rounds=rounds):
        strangers = sorted({spec.agent for spec in stage.turns} - known)
        assert not strangers, f"the plan asks {strangers[0]!r}, an agent of another debate; a mode keeps nothing"
        turns = sorted((spec.role, spec.answer, len(spec.sees)) for spec in stage.turns)
        stages.append((view.current_round, stage.name, turns))
    return stages


def _voters_texts(mode: DebateModeStrategy, view: DebateContext) -> tuple[str, list[tuple[object, ...]]] | None:
    """Return the name of the next stage and what its voters read of the mode; `None` if nobody votes in it."""
    plan = mode.next_stage(view)
    if not isinstance(plan, Stage):
        return None
    voters = [spec for spec in plan.turns if spec.answer in _VOTES]
    return (plan.name, [(spec.agent, spec.task, spec.brief, spec.notes) for spec in voters]) if voters else None


def _with_votes(view: DebateContext, votes: Mapping[TurnKey, TurnSpec], *, turned: int) -> DebateContext | None:
    """Return a view in which the voters of a stage vote differently; `None` if they have no common options.

    With another `turned`, the same votes come from other voters.
    """
    keys = [turn.key for turn in view.transcript if turn.key in votes]
    options = {votes[key].options for key in keys}
    if len(keys) < 2 or len(options) != 1 or len(_options_of(votes[keys[0]])) < 2:
        return None
    answers = [_vote_for(votes[key], number) for number, key in enumerate(keys)]
    dealt = dict(zip(keys, answers[turned:] + answers[:turned], strict=True))
    return view.model_copy(
        update={
            "transcript": tuple(
                turn.model_copy(update={"result": turn.result.model_copy(update={"answer": dealt[turn.key]})})
                if isinstance(turn, Turn) and turn.key in dealt
                else turn
                for turn in view.transcript
            )
        }
    )


def _vote_for(spec: TurnSpec, number: int) -> Answer:
    """Return a vote for one of the options; the votes of two numbers in a row differ."""
    options = _options_of(spec)
    first = number % len(options)
    order = options[first:] + options[:first]
    match spec.answer:
        case "ranking":
            return RankingAnswer(ranking=tuple((option,) for option in order))
        case "approval":
            return ApprovalAnswer(approved=order[:1])
        case "scores":
            return ScoresAnswer(scores={option: float(place) for place, option in enumerate(reversed(order))})
        case _:
            return BallotAnswer(choice=order[0])


class ModeSuite(Suite):
    """Tests of the `DebateModeStrategy` protocol: inherit this class, and define the fixture `mode`.

    The tests draw debates in which turns fail and positions come from outside.

    Example:
        ```python
        class TestMine(ModeSuite):
            @pytest.fixture
            def mode(self):
                return MyMode()
        ```
    """

    most_agents: ClassVar[int] = 9
    """Maximum number of seats at the table."""
    most_rounds: ClassVar[int] = 6
    """Maximum rounds."""
    plan_s: ClassVar[float] = LIMIT_S
    """Seconds that one plan may take."""
    _waiting_errors: ClassVar[dict[tuple[type[object], str], str | None]] = {}

    @pytest.fixture
    def mode(self) -> DebateModeStrategy:
        """Return the mode under test."""
        raise NotImplementedError("a mode suite needs a fixture `mode`")

    @pytest.fixture(autouse=True)
    def plans_at_once(self, mode: DebateModeStrategy) -> None:
        """Fail early if the mode waits, because it would wait in each of hundreds of drawn debates."""
        kind = (type(mode), mode.name)
        if kind not in self._waiting_errors:
            self._waiting_errors[kind] = _waiting_error(mode, self.plan_s)
        assert self._waiting_errors[kind] is None, self._waiting_errors[kind]

    def _draw_debate(self, data: st.DataObject, mode: DebateModeStrategy) -> SimulatedDebate:
        kind = (type(mode), mode.name)
        assert self._waiting_errors.get(kind) is None, self._waiting_errors[kind]
        limited = _LimitedMode(mode, self.plan_s)
        try:
            return data.draw(debates(limited, most_agents=self.most_agents, most_rounds=self.most_rounds))
        finally:
            if limited.late is not None:
                # Otherwise, hypothesis would wait again and again while it looks for a smaller example.
                self._waiting_errors[kind] = limited.late

    def test_it_can_be_registered(self, mode: DebateModeStrategy) -> None:
        """The mode has all parts of a mode, a name, and a valid range of rounds."""
        registry = ModeRegistry(builtin=False)
        registry.register_mode(mode.name, mode)
        assert registry.get_mode(mode.name) is mode
        assert isinstance(mode.rounds, range)
        assert len(mode.rounds) > 0
        assert mode.rounds.start >= 1
        assert mode.rounds.step == 1
        assert isinstance(mode.needs_groupthink_detection, bool)
        assert isinstance(mode.assigns_stances, bool)

    @_LAW
    @given(data=st.data())
    def test_every_round_ends(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Even if turns fail, each round ends after finitely many stages; all have turns and a unique name."""
        played = self._draw_debate(data, mode)
        for view, stage in played.stages:
            assert stage.turns, f"the stage {stage.name!r} has no turns"
            earlier_stages = {turn.stage for turn in view.transcript if turn.round == view.current_round}
            assert stage.name not in earlier_stages, f"the stage {stage.name!r} is planned twice in one round"
            assert stage.name != EXTERNAL, f"the name {EXTERNAL!r} is reserved for positions from outside"

    @_LAW
    @given(data=st.data())
    def test_every_round_asks_somebody(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """No round ends without a turn: there would be nothing to measure. End the debate instead."""
        for view, plan in self._draw_debate(data, mode).steps:
            has_turns = any(turn.round == view.current_round for turn in view.transcript)
            assert has_turns or plan.kind != "end_round", (
                f"round {view.current_round} of {view.total_rounds} asks nobody; return EndDebate() to end early"
            )

    @_LAW
    @given(data=st.data())
    def test_somebody_is_asked_in_the_first_round(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """A debate with enough agents for the mode starts with a stage."""
        view = data.draw(opening_views(self.most_agents, fewest_agents=fewest_agents(mode)))
        assert isinstance(mode.next_stage(view), Stage)

    def test_opening_instructions_answer_nobody(self, mode: DebateModeStrategy) -> None:
        """A prompt that shows no earlier answer does not mention other agents' answers."""
        assert first_turn_findings(mode) == []

    @_LAW
    @given(data=st.data())
    def test_the_same_transcript_gives_the_same_plan(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """The mode does not wait. Its plan is the same in any order of calls, and for a stored transcript."""
        played = self._draw_debate(data, mode)
        for view, plan in reversed(played.steps):
            before = view.to_json()
            assert at_once(partial(mode.next_stage, view)) == plan
            assert mode.next_stage(DebateContext.from_json(before)) == plan
            assert view.to_json() == before, "the mode changed the view"

    @_LAW
    @given(data=st.data())
    def test_only_those_at_the_table_are_asked(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """A plan names only agents that have a seat."""
        played = self._draw_debate(data, mode)
        for view, stage in played.stages:
            assert {spec.agent for spec in stage.turns} <= {seat.id for seat in view.agents}

    @_LAW
    @given(data=st.data())
    def test_a_turn_sees_turns_that_were_taken(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Each visible turn is answered and listed once, and the narrowed view shows no other turns."""
        played = self._draw_debate(data, mode)
        for view, stage in played.stages:
            answered = {turn.key for turn in view.transcript if turn.outcome == "answered"}
            for spec in stage.turns:
                visible_turns = [visible.turn for visible in spec.sees]
                assert len(set(visible_turns)) == len(visible_turns)
                assert set(visible_turns) <= answered
                narrowed = restrict_view(view, spec)
                assert {turn.key for turn in narrowed.transcript} == set(visible_turns)
                assert len(narrowed.previous_responses) <= len(visible_turns)

    @_LAW
    @given(data=st.data())
    def test_instructions_hold_nothing_that_others_wrote(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Task, brief and role become part of the system prompt: they must not contain topic, answers or options."""
        played = self._draw_debate(data, mode)
        for view, stage in played.stages:
            for spec in stage.turns:
                texts = (
                    stage.name,
                    spec.task,
                    spec.brief,
                    spec.role,
                    mode.build_agent_prompt(restrict_view(view, spec)),
                )
                assert not any(MARK in text for text in texts)

    @_LAW
    @given(data=st.data())
    def test_a_turn_is_asked_for_something(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Every turn has a task, and offers the options if the debate has any."""
        played = self._draw_debate(data, mode)
        for view, stage in played.stages:
            for spec in stage.turns:
                assert spec.task.strip()
                if view.options and spec.answer != "text":
                    assert spec.options or spec.answer == "plan"

    @_LAW
    @given(data=st.data())
    def test_ballots_say_how_they_count(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """`TurnSpec.counts` says whether a stage of ballots decides; a mode with a deciding stage has its own vote.

        If the mode declares `vote_options`, the ballots that decide a debate without options offer exactly these.
        """
        played = self._draw_debate(data, mode)
        for view, stage in played.stages:
            check_plan(mode, stage, ())
            if any(spec.counts == "decide" for spec in stage.turns):
                assert getattr(mode, "has_own_vote", False) is True, (
                    f"the stage {stage.name!r} decides the debate; set has_own_vote = True to run no other vote"
                )
                declared = () if view.options else vote_options_of(mode)
                assert not declared or all(spec.options == declared for spec in stage.turns), (
                    f"the ballots of the stage {stage.name!r} do not offer the declared vote_options {declared!r}"
                )

    def test_ballots_are_secret(self, mode: DebateModeStrategy) -> None:
        """Nobody who votes sees a vote of the same round, so that each vote is independent of the others.

        This includes votes that the mode tells a voter in a note: who has voted for what may not change it. A ballot
        that decides may see a poll that only informs (`TurnSpec.counts`).
        """
        rounds = min(mode.rounds.start + 1, mode.rounds.stop - 1)
        for debate in _small_debates(mode, rounds):
            votes: dict[TurnKey, TurnSpec] = {}
            for view, stage in debate:
                self._check_that_voters_are_told_no_votes(mode, view, stage, votes)
                for spec in stage.turns:
                    if spec.answer not in _VOTES:
                        continue
                    for visible in spec.sees:
                        seen = votes.get(visible.turn)
                        assert seen is None or visible.turn.round < view.current_round or seen.counts != spec.counts, (
                            f"the {spec.answer} of {spec.agent!r} in the stage {stage.name!r} sees the vote of "
                            f"{seen.agent!r} in the stage {visible.turn.stage!r}; leave the votes of the round out of "
                            "`sees`"
                        )
                    votes[TurnKey(view.current_round, stage.name, spec.slot)] = spec

    def _check_that_voters_are_told_no_votes(
        self, mode: DebateModeStrategy, view: DebateContext, stage: Stage, votes: Mapping[TurnKey, TurnSpec]
    ) -> None:
        purposes = {spec.counts for spec in stage.turns if spec.answer in _VOTES}
        for earlier in {key.stage for key in votes if key.round == view.current_round}:
            cast = {
                key: spec
                for key, spec in votes.items()
                if (key.round, key.stage) == (view.current_round, earlier) and spec.counts in purposes
            }
            views = [_with_votes(view, cast, turned=turned) for turned in (0, 1)]
            told, other = (None if each is None else _voters_texts(mode, each) for each in views)
            assert told is None or other is None or told[0] != other[0] or told == other, (
                f"what the voters in the stage {stage.name!r} read depends on who voted for what in the stage "
                f"{earlier!r} of the same round; leave the votes of the round out of notes and tasks"
            )

    def test_the_ids_of_agents_do_not_matter(self, mode: DebateModeStrategy) -> None:
        """Ids are compared as they are: `ada` and `Ada` are two agents. No debate changes the plans of the next one."""
        outlines = [_outline(mode, ids) for ids in (_TABLE, _ALIKE, _TABLE)]
        assert outlines[0] == outlines[2], "the plan of a debate depends on debates before it; a mode has no state"
        assert outlines[0] == outlines[1], (
            "if the ids of agents differ only in upper and lower case, the mode plans other turns, or turns that see "
            "less; compare ids as they are"
        )

    def test_what_ends_a_debate_also_ends_it_early(self, mode: DebateModeStrategy) -> None:
        """Stages that the last round adds, such as a final vote, follow also if a criterion ends the debate earlier."""
        for number in range(mode.rounds.start, min(mode.rounds.start + 3, mode.rounds.stop - 1)):
            planned = zip(
                _small_debates(mode, number),
                _small_debates(mode, number + 1),
                _small_debates(_EndedEarly(mode, number), number + 1),
                strict=True,
            )
            for debates_of_options in planned:
                last, before, early = (_stages_of_round(debate, number) for debate in debates_of_options)
                if last[: len(before)] == before:
                    assert early == last, (
                        f"as the last round, round {number} ends with {last[len(before) :]}; if a criterion ends the "
                        f"debate after it, only {early[len(before) :]} follow. Look at `view.ends`"
                    )

    def test_the_plan_is_the_same_at_any_time(self, mode: DebateModeStrategy) -> None:
        """The plan does not depend on the wall clock: a debate may be resumed at another hour, day or year."""
        plans = [partial(mode.next_stage, view) for view in _rehearsed_views(mode)]
        same_at_any_time(plans, mode, f"the plan of mode {mode.name!r}")

    @_LAW
    @given(data=st.data())
    def test_it_does_not_matter_in_which_order_the_turns_of_a_stage_ended(
        self, mode: DebateModeStrategy, data: st.DataObject
    ) -> None:
        """The next plan does not depend on the times and durations of the turns, which are all different."""
        played = self._draw_debate(data, mode)
        for view, plan in played.steps:
            count = len(view.transcript)
            for places in (range(count)[::-1], data.draw(st.permutations(range(count)))):
                late = tuple(
                    _ended_at(turn, LATER + timedelta(seconds=index), float(index))
                    for turn, index in zip(view.transcript, places, strict=True)
                )
                assert mode.next_stage(view.model_copy(update={"transcript": late})) == plan

    def test_the_plan_is_the_same_in_every_process(self, mode: DebateModeStrategy) -> None:
        """Another process, in which sets of texts have another order, can resume a debate."""
        first, second = plans_by_hash_seed(mode, _rehearsed_views(mode))
        assert first == second, "the plan depends on the order of a set or on hash(); use sorted() or a tuple"
